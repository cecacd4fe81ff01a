#pragma once

// Which edges of a graph matter: a spanning tree of strong edges, and how much weaker the rest is.
//
// An edge whose exponent exceeds the largest exponent on a path between its ends by g carries a
// share of about exp(-g) of the current. All labelled points act as one node, the ground, which has
// the number n behind the nodes 0, ..., n - 1.

#include <vector>

#include "graph/graph.h"
#include "stop_token.h"

namespace certune::graph {

// Minimum spanning tree grown from the ground.
struct SpanningTree {
    std::vector<Index> order;   // nodes that reach the ground, as the tree has grown
    std::vector<Index> parent;  // -1: the node does not reach the ground
    std::vector<Index> via;     // labelled point that leads to the ground; -1: the parent is a node
    std::vector<Index> depth;   // of the nodes and of the ground

    std::size_t n_nodes() const { return parent.size(); }
    Index ground() const { return static_cast<Index>(parent.size()); }
    bool reaches_all() const { return order.size() == parent.size(); }
};

SpanningTree spanning_tree(const Exponents& exponents, const Joined& joined, StopToken& stop);

// For every node that reaches the ground the first one that all ways from there pass: the node
// itself if no other separates it from the ground.
std::vector<Index> gates(const Joined& joined, StopToken& stop);

// Exponent of the tree edge from each node to its parent, for a tree that reaches all.
std::vector<double> tree_exponents(const Exponents& exponents, const SpanningTree& tree);

// Largest exponent (n + 1, n + 1) on the tree path of every two nodes, the ground included;
// -infinity where there is no path.
std::vector<double> path_maxima(const Exponents& exponents, const SpanningTree& tree,
                                StopToken& stop);

// A tree that reaches all, with its edges, known by their lower nodes, in the order of their
// exponents.
struct RankedTree {
    RankedTree(SpanningTree tree, const Exponents& exponents, StopToken& stop);

    SpanningTree tree;
    std::vector<double> lengths;   // exponent of the edge above each node
    std::vector<Index> rank_of;    // its rank
    std::vector<Index> path_rank;  // (n + 1, n + 1): largest rank on the path of two nodes, or -1

    Index rank_between(std::size_t i, std::size_t j) const {
        return path_rank[i * (lengths.size() + 1) + j];
    }
};

}  // namespace certune::graph
