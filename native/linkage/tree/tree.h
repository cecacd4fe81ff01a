#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "matrix_view.h"
#include "numeric/buffer.h"

namespace certune::linkage {

// Merges that hold for every parameter and were carried out before: node n + i has the children
// left[n + i] and right[n + i], points are nodes 0..n-1; labels are the clusters that are left.
struct FirstMerges {
    std::span<const std::int64_t> labels;
    std::span<const std::int64_t> left;
    std::span<const std::int64_t> right;
    int n_made = 0;

    int n_points() const { return static_cast<int>(labels.size()); }
    int n_clusters() const { return n_points() - n_made; }
};

// A tree of clusters under construction.
//
// Nodes 0..n_first-1 are the clusters it starts from, those up to `width` are made by merges, and
// behind them come the points and the first merges, at width + their own number, so that prunings
// can be followed down to single points. The members of a node are a contiguous list: those of its
// left child, then those of its right child.
struct Tree {
    int n_points = 0;
    int n_first = 0;
    int width = 0;
    std::vector<int> left, right, size;
    std::vector<int> highest;         // highest member index, for the tie rule
    std::vector<std::uint64_t> hash;  // sum of the hashes of the members, modulo 2**64
    Buffer<int> member_room;          // (nodes, points)
    std::vector<int> tops;            // numbers that the first clusters have among the first merges

    Tree(const FirstMerges& first, int width);

    std::span<const int> members(int node) const {
        return member_room.part(place(node), static_cast<std::size_t>(size[at(node)]));
    }
    // Makes `node` the union of two others; the child with the lower highest member is the left
    // one.
    void unite(int node, int a, int b);
    // Gives a node other children with the same members, in the same order.
    void set_children(int node, int a, int b);
    // Copies everything of a node that does not depend on its number.
    void copy_node(int from, int to);

   private:
    static std::size_t at(int node) { return static_cast<std::size_t>(node); }
    std::size_t place(int node) const { return at(node) * static_cast<std::size_t>(n_points); }
};

// The node below a root at which the points 0 and 1 come together.
int ruler_of(const Tree& tree, int root);

// Hash of every point, positive and the same on any machine.
std::vector<std::uint64_t> point_hashes(int n);

}  // namespace certune::linkage
