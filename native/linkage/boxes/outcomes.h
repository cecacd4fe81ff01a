#pragma once

// Every cluster tree that a box of parameters can have, as a tree of open comparisons.
//
// Merges that are certain on the whole box are carried out once. Where the order of two cluster
// pairs is open, both outcomes are followed: at any parameter of the box one of them is true, so
// its cluster tree is at one of the leaves. A part of the box only has to evaluate the polynomials
// of the comparisons.

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "linkage/boxes/cutting.h"
#include "linkage/boxes/forest.h"
#include "linkage/boxes/judging.h"
#include "linkage/boxes/models.h"
#include "stop_token.h"

namespace certune::linkage::boxes {

// Limits of what is followed; a box with more outcomes is better cut.
struct Limits {
    std::size_t n_leaves = 64;
    std::size_t n_open = 16;  // clusters whose nearest one is open at the same time
    // Branches whose assumptions contradict each other end in no leaf, and there can be
    // exponentially many of them: comparisons are limited, too.
    std::size_t n_comparisons() const { return 4 * n_leaves; }
};

// What the outcomes on a part of the box are worth.
struct Outlook {
    std::int64_t least = 0, most = 0;  // values of leaves that can be reached
    std::size_t n_leaves = 0;          // and their number
    std::int64_t root = 0;             // where to begin on parts of this part
    bool coarse = false;  // some comparison is open because of its remainder: make new records
    std::vector<double> openness;  // how far open comparisons move along each coordinate or edge
};

// The decision tree on a part, with every comparison as a linear function and an error: a row of
// `numbers` has its value at the middle of the part, its slopes, and the error. Children are
// further rows (>= 0), leaves with a value (~child), or nothing.
struct LinearTree {
    std::int64_t root = 0;
    std::vector<double> numbers;
    std::vector<std::int64_t> children;
};

class DecisionTree {
   public:
    explicit DecisionTree(PolynomialSpace space) : space_(std::move(space)) {}

    // A child of a comparison: another comparison (>= 0), a leaf (~child), or nothing.
    static constexpr std::int64_t nothing = INT64_MIN;
    struct Comparison {
        std::int64_t first;   // where the difference is positive, or zero and a tie goes that way
        std::int64_t second;  // where it is negative, or zero
    };

    const PolynomialSpace& space() const { return space_; }
    bool complete = false;
    std::int64_t root = nothing;
    std::vector<Forest> leaves;
    std::vector<std::vector<std::int64_t>> labels;  // of the leaves, if they are plain cuts
    std::vector<std::pair<std::int64_t, std::int64_t>> common;  // merges on the whole box
    std::vector<double> movements;

    std::size_t n_comparisons() const { return comparisons_.size(); }
    std::size_t add_comparison(const double* difference);
    void set_child(std::int64_t parent, bool first, std::int64_t child);
    // Gives every leaf its value, and drops comparisons that do not matter.
    void set_values(std::span<const std::int64_t> values);
    Outlook look(std::int64_t from, const Part& part) const;
    LinearTree linear(std::int64_t from, const Part& part) const;
    // Is this the root of a part of the tree?
    bool holds(std::int64_t place) const {
        return place == nothing ||
               (place >= 0 ? static_cast<std::size_t>(place) < comparisons_.size()
                           : static_cast<std::size_t>(~place) < values_.size());
    }

   private:
    struct View;

    std::int64_t simplified(std::int64_t place);
    std::int64_t visit(std::int64_t place, View& view) const;
    enum class Outcome { first, second, by_conditions_first, by_conditions_second, open };
    Outcome outcome(std::int64_t place, const View& view, Range& found) const;
    std::int64_t linearise(std::int64_t place, View& view, LinearTree& result) const;
    const double* difference(std::int64_t place) const {
        return differences_.data() + static_cast<std::size_t>(place) * space_.width();
    }
    void add_openness(const double* difference, const Part& part, std::span<double> result) const;

    PolynomialSpace space_;
    std::vector<Comparison> comparisons_;
    std::vector<double> differences_;
    std::vector<std::int64_t> values_;
};

// Merges that hold already, as pairs of nodes in order.
using Merges = std::span<const std::pair<std::int64_t, std::int64_t>>;

// What to follow: from which merges on, how far, and whether leaves are plain cuts or trees.
struct Task {
    Merges merges;
    Limits limits;
    Cut cut;
};

DecisionTree follow(const Box& box, const Ties& ties, const Task& task, StopToken& stop);

}  // namespace certune::linkage::boxes
