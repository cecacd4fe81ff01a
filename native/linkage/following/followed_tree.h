#pragma once

#include <vector>

#include "linkage/tree/tree.h"

namespace certune::linkage {

inline constexpr int spare_nodes = 32;  // that a repair may make beyond those of a tree
inline constexpr int key_block = 16;    // keys that are looked at together

// Nodes of a tree of so many first clusters, with spare ones, in full blocks.
inline int followed_width(int count) {
    return (2 * count - 1 + spare_nodes + key_block - 1) / key_block * key_block;
}

// A tree and the order in which its nodes are made.
struct FollowedTree : Tree {
    std::vector<int> order;     // nodes in the order in which they are made; -1: there is no tree
    std::vector<int> stage;     // place of a node in it, -1 for the first clusters
    std::vector<int> until;     // stage at which the node is merged
    std::vector<int> version;   // changes when a node gets other members
    std::vector<int> spare;     // nodes not in use
    std::vector<int> first_of;  // first cluster of a point

    explicit FollowedTree(const FirstMerges& first)
        : Tree(first, followed_width(first.n_clusters())),
          order(static_cast<std::size_t>(n_first - 1), -1),
          stage(static_cast<std::size_t>(width), -1),
          until(static_cast<std::size_t>(width), 0),
          version(static_cast<std::size_t>(width), 0),
          first_of(first.labels.begin(), first.labels.end()) {
        forget();
    }

    bool is_there() const { return order[0] >= 0; }
    int n_merges() const { return n_first - 1; }
    int root() const { return order.back(); }
    // Forgets the tree; first clusters stay.
    void forget() {
        order[0] = -1;
        for (int x = 0; x < n_first; ++x) stage[static_cast<std::size_t>(x)] = -1;
        spare.clear();
        for (int node = width - 1; node >= n_first; --node) spare.push_back(node);
    }
};

}  // namespace certune::linkage
