#include "linkage/tree/tree.h"

#include <algorithm>

namespace certune::linkage {

std::vector<std::uint64_t> point_hashes(int n) {
    std::vector<std::uint64_t> hashes(static_cast<std::size_t>(n));
    std::uint64_t state = 0x9E3779B97F4A7C15u;
    for (auto& hash : hashes) {
        state += 0x9E3779B97F4A7C15u;
        std::uint64_t x = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9u;
        x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
        hash = x ^ (x >> 31);
    }
    return hashes;
}

Tree::Tree(const FirstMerges& first, int tree_width)
    : n_points(first.n_points()),
      n_first(first.n_clusters()),
      width(tree_width),
      left(at(width + n_points + first.n_made), 0),
      right(left.size(), 0),
      size(left.size(), 1),
      highest(left.size(), 0),
      hash(left.size(), 0),
      member_room(left.size() * at(n_points)),
      tops(at(n_first), -1) {
    const auto hashes = point_hashes(n_points);
    for (int node = 0; node < n_points + first.n_made; ++node) {
        const int here = width + node;
        if (node < n_points) {
            member_room[place(here)] = node;
            highest[at(here)] = node;
            hash[at(here)] = hashes[at(node)];
        } else {
            unite(here, width + static_cast<int>(first.left[at(node)]),
                  width + static_cast<int>(first.right[at(node)]));
        }
        tops[at(static_cast<int>(first.labels[at(members(here)[0])]))] = node;
    }
    for (int x = 0; x < n_first; ++x) copy_node(width + tops[at(x)], x);
}

void Tree::set_children(int node, int a, int b) {
    if (highest[at(a)] > highest[at(b)]) std::swap(a, b);
    left[at(node)] = a;
    right[at(node)] = b;
    highest[at(node)] = highest[at(b)];
}

void Tree::unite(int node, int a, int b) {
    if (highest[at(a)] > highest[at(b)]) std::swap(a, b);
    set_children(node, a, b);
    hash[at(node)] = hash[at(a)] + hash[at(b)];
    int* out = member_room.data() + place(node);
    for (const int part : {a, b}) {
        const auto own = members(part);
        out = std::copy(own.begin(), own.end(), out);
    }
    size[at(node)] = size[at(a)] + size[at(b)];
}

int ruler_of(const Tree& tree, int root) {
    const auto at = [](int node) { return static_cast<std::size_t>(node); };
    const auto has_both = [&](int node) {
        const auto members = tree.members(node);
        return std::count_if(members.begin(), members.end(), [](int p) { return p < 2; }) == 2;
    };
    int node = root;
    while (true) {
        const int left = tree.left[at(node)], right = tree.right[at(node)];
        if (tree.size[at(left)] > 1 && has_both(left)) {
            node = left;
        } else if (tree.size[at(right)] > 1 && has_both(right)) {
            node = right;
        } else {
            return node;
        }
    }
}

void Tree::copy_node(int from, int to) {
    left[at(to)] = left[at(from)];
    right[at(to)] = right[at(from)];
    size[at(to)] = size[at(from)];
    highest[at(to)] = highest[at(from)];
    hash[at(to)] = hash[at(from)];
    const auto own = members(from);
    std::copy(own.begin(), own.end(), member_room.data() + place(to));
}

}  // namespace certune::linkage
