#pragma once

// Clusters merged so far: nodes 0 to n - 1 are the points, then one for every merge.

#include <cstdint>
#include <utility>
#include <vector>

namespace certune::linkage::boxes {

struct Forest {
    std::vector<std::int64_t> left, right;
    std::vector<std::int32_t> head, tail, next;  // members of a node, as a list
    std::vector<std::int32_t> size, highest;     // number of members, the highest one
    std::size_t n_points = 0;
    std::size_t n_nodes = 0;

    explicit Forest(std::size_t n)
        : left(2 * n - 1, 0),
          right(2 * n - 1, 0),
          head(2 * n - 1),
          tail(2 * n - 1),
          next(n, -1),
          size(2 * n - 1, 1),
          highest(2 * n - 1),
          n_points(n),
          n_nodes(n) {
        for (std::size_t p = 0; p < n; ++p) {
            head[p] = tail[p] = highest[p] = static_cast<std::int32_t>(p);
        }
    }

    // Joins two nodes and returns the new one; the child with the lower highest member is left.
    std::size_t join(std::size_t a, std::size_t b) {
        if (highest[a] > highest[b]) std::swap(a, b);
        const std::size_t node = n_nodes++;
        left[node] = static_cast<std::int64_t>(a);
        right[node] = static_cast<std::int64_t>(b);
        highest[node] = highest[b];
        head[node] = head[a];
        tail[node] = tail[b];
        next[static_cast<std::size_t>(tail[a])] = head[b];
        size[node] = size[a] + size[b];
        return node;
    }
};

// Among tied pairs (x, y) and (x, z) the lexicographically smaller sorted pair of highest members
// wins: a rule under which the greedy tree and nearest-neighbour chains agree.
inline bool wins_tie(std::int32_t x, std::int32_t y, std::int32_t z) {
    const std::int32_t low_y = x < y ? x : y, low_z = x < z ? x : z;
    if (low_y != low_z) return low_y < low_z;
    return (x < y ? y : x) < (x < z ? z : x);
}

}  // namespace certune::linkage::boxes
