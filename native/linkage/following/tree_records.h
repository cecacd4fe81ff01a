#pragma once

// Records of pairs of nodes of a tree, each once: filled from those of their parts when needed.

#include <array>
#include <cstdint>
#include <vector>

#include "linkage/following/followed_tree.h"
#include "linkage/following/panel.h"
#include "linkage/models/averages.h"
#include "numeric/buffer.h"

namespace certune::linkage {

class TreeRecords {
   public:
    TreeRecords(int width, bool averages, bool ordered);

    double* at(int a, int b) { return flat_.data() + degree * pair_place(a, b); }
    double* all() { return flat_.data(); }
    std::uint8_t* known() { return known_.data(); }
    bool knows(int a, int b) const { return known_[pair_place(a, b)] != 0; }
    void set_known(int a, int b) { known_[pair_place(a, b)] = 1; }

    // Marks the records of the first clusters as known, and no others.
    void begin(int n_first);
    // Record of two disjoint nodes.
    const double* ensure(const Panel& panel, const FollowedTree& tree, int a, int b);
    // Record of a union with a third cluster, from those of its parts x and y.
    void combine(const Panel& panel, const FollowedTree& tree, int node, int x, int y, int other);
    // The records of a node are those of other members from now on.
    void forget(int node, bool dense);

   private:
    struct Pair {
        int a, b;
    };
    static constexpr int few = 128;        // pairs of members whose records are added up at once
    static constexpr int n_partners = 64;  // of a node that are remembered

    void ensure_dense(const Panel& panel, const FollowedTree& tree, int a, int b);
    void sum_up(const FollowedTree& tree, int a, int b);
    void set_partners(int a, int b);

    int width_;
    bool ordered_;
    Buffer<double> flat_;
    std::vector<std::uint8_t> known_;
    // In dense panels: nodes with which a node has filled records, as far as there is room.
    std::vector<std::array<int, n_partners>> partners_;
    std::vector<int> count_;
    std::vector<Pair> stack_;
};

}  // namespace certune::linkage
