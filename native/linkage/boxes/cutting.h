#pragma once

// Plain cuts on a box: which clusters a finished tree has before its last k - 1 merges, or before
// the merge of its ruler, the points 0 and 1.
//
// The height of a node exceeds those below it, so the last merges are an upper part of the tree. A
// guess of it is proved by comparing its lowest nodes with the highest ones below it.

#include <cstdint>
#include <vector>

#include "linkage/boxes/judging.h"

namespace certune::linkage::boxes {

// Which merges of a tree are undone: none, the last ones down to so many clusters, or those from
// the ruler's on.
struct Cut {
    std::size_t n_clusters = 0;
    bool by_ruler = false;

    bool is_wanted() const { return by_ruler || n_clusters > 0; }
};

class Cutter {
   public:
    Cutter(const Box& box, const PolynomialSpace& space, const Ties& ties, const Branch& branch,
           const Cut& cut);

    enum class Result { finished, open, contradiction };
    Result run();

    // After Result::finished: clusters numbered by their lowest members.
    std::vector<std::int64_t> labels() const;
    // After Result::open: two merges whose order is open, and the second one less the first.
    NodePair lower() const { return branch_.forest.children(lower_); }
    NodePair upper() const { return branch_.forest.children(upper_); }
    const double* difference() { return judge_.difference(height(lower_), height(upper_)); }

   private:
    bool is_merge(std::size_t node) const { return node >= branch_.forest.n_points; }
    const double* height(std::size_t node) const;
    Candidate candidate(std::size_t node) const;
    bool seems_below(std::size_t node, std::size_t other) const;
    Order order(std::size_t node, std::size_t other);
    void choose();
    void find_open();
    bool has_chosen_enough() const;
    bool is_lowest_chosen(std::size_t node) const;
    enum class Change { none, made, unclear };
    Change improve_last();
    Change improve_by_ruler();

    const PolynomialSpace& space_;
    const Branch& branch_;
    Judge judge_;
    Cut cut_;
    std::size_t ruler_ = 0;
    std::vector<bool> one_place_;  // nodes that hold identical points only
    std::vector<bool> is_chosen_;
    std::vector<std::size_t> chosen_;  // the last merges
    std::vector<std::size_t> open_;    // the highest ones below them
    std::size_t lower_ = 0, upper_ = 0;
};

}  // namespace certune::linkage::boxes
