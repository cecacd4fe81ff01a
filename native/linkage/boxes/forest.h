#pragma once

// Clusters merged so far: nodes 0 to n - 1 are the points, then one for every merge.

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace certune::linkage::boxes {

// A pair of clusters, by their nodes.
struct NodePair {
    std::size_t a = 0, b = 0;

    bool operator==(const NodePair& other) const {
        return (a == other.a && b == other.b) || (a == other.b && b == other.a);
    }
};

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

    std::vector<std::size_t> members(std::size_t node) const {
        std::vector<std::size_t> result;
        for (std::int32_t p = head[node];; p = next[static_cast<std::size_t>(p)]) {
            result.push_back(static_cast<std::size_t>(p));
            if (p == tail[node]) return result;
        }
    }
    NodePair children(std::size_t node) const {
        return {static_cast<std::size_t>(left[node]), static_cast<std::size_t>(right[node])};
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

// Of two tied pairs the lexicographically smaller sorted pair of highest members wins: a rule under
// which the greedy tree and nearest-neighbour chains agree.
inline bool wins_tie(const Forest& forest, const NodePair& pair, const NodePair& other) {
    const auto key = [&](const NodePair& nodes) {
        return std::minmax({forest.highest[nodes.a], forest.highest[nodes.b]});
    };
    return key(pair) < key(other);
}

}  // namespace certune::linkage::boxes
