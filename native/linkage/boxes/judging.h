#pragma once

// Orders of cluster pairs on a box, as far as one branch of outcomes knows them.

#include <cstdint>
#include <span>
#include <vector>

#include "linkage/boxes/forest.h"
#include "linkage/boxes/models.h"

namespace certune::linkage::boxes {

enum class Order { nearer, farther, open };

// An order that a branch follows.
struct Assumption {
    NodePair near, far;
    std::vector<double> difference;  // far less near, which is not negative here
};

// One way in which the open orders of a box can turn out, so far.
struct Branch {
    Table table;
    std::vector<std::size_t> nodes;  // of the slots
    Forest forest;
    Heights heights;  // if wanted
    std::vector<Assumption> assumed;
    std::int64_t parent = INT64_MIN;  // the comparison whose outcome this is
    bool first = true;
};

// A cluster pair with its record and, for min-max linkage, its extremes.
struct Candidate {
    NodePair nodes;
    const double* record = nullptr;
    const Extremes* extremes = nullptr;
};

// What the energies of two pairs with a common cluster share: its mean within, and how often at
// least.
struct Shared {
    const double* within = nullptr;
    double times = 0.0;
};

class Judge {
   public:
    Judge(const Box& box, const PolynomialSpace& space, const Ties& ties, const Branch& branch)
        : box_(box), space_(space), ties_(ties), branch_(branch), difference_(space.width()) {}

    // Is the one nearer by so much that single bounds prove it?
    bool far_behind(const double* near, const double* far) const {
        return far[0] - near[0] > near[space_.spread()] + far[space_.spread()];
    }
    // Far less near.
    const double* difference(const double* near, const double* far, const Shared& shared = {});
    // Order of the first against the second on the whole box, as far as this branch follows it.
    Order order(const Candidate& near, const Candidate& far, const Shared& shared = {});

   private:
    Order assumed_order(const NodePair& near, const NodePair& far) const;
    Order order_by_ties(const Candidate& near, const Candidate& far) const;
    Order conditional_order() const;
    bool same_value(const Candidate& near, const Candidate& far,
                    std::span<const std::uint64_t> codes) const;

    const Box& box_;
    const PolynomialSpace& space_;
    const Ties& ties_;
    const Branch& branch_;
    std::vector<double> difference_;
};

// Lower bound of `wanted` on a part where `given` is not negative, from wanted - m * given for the
// m >= 0 that cancels most of the linear part.
double conditional_lower(const PolynomialSpace& space, const double* wanted, const double* given,
                         const Part& part);

}  // namespace certune::linkage::boxes
