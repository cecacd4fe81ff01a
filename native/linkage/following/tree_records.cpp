#include "linkage/following/tree_records.h"

#include <algorithm>

#include "linkage/models/fixed_extremes.h"
#include "numeric/simd8.h"

namespace certune::linkage {

namespace {

std::size_t to_index(int place) { return static_cast<std::size_t>(place); }

}  // namespace

TreeRecords::TreeRecords(int width, bool averages, bool ordered)
    : width_(width),
      ordered_(ordered),
      flat_(degree * pair_place(width, 0)),
      known_(pair_place(width, 0), 0),
      partners_(averages ? to_index(width) : 0),
      count_(to_index(width), 0) {}

void TreeRecords::begin(int n_first) {
    const auto first = static_cast<std::ptrdiff_t>(pair_place(n_first, 0));
    std::fill(known_.begin(), known_.begin() + first, std::uint8_t{1});
    std::fill(known_.begin() + first, known_.end(), std::uint8_t{0});
    std::fill(count_.begin(), count_.end(), 0);
}

void TreeRecords::combine(const Panel& panel, const FollowedTree& tree, int node, int x, int y,
                          int other) {
    double* target = at(node, other);
    if (panel.reading.form == Form::average) {
        const double total = tree.size[to_index(node)];
        simd8::blend(at(x, other), tree.size[to_index(x)] / total, at(y, other),
                     tree.size[to_index(y)] / total, target, target);
    } else {
        unite_extremes(at(x, other), at(y, other), ordered_, panel.reading.error, target, target);
    }
}

void TreeRecords::sum_up(const FollowedTree& tree, int a, int b) {
    std::array<double, degree> sums{};
    int count = 0;
    for (const int x : tree.members(a)) {
        for (const int z : tree.members(b)) {
            simd8::add(at(tree.first_of[to_index(x)], tree.first_of[to_index(z)]), sums.data());
            ++count;
        }
    }
    simd8::scale(sums.data(), 1.0 / count, at(a, b), at(a, b));
}

void TreeRecords::set_partners(int a, int b) {
    set_known(a, b);
    for (const auto& [node, other] : {Pair{a, b}, Pair{b, a}}) {
        const int count = count_[to_index(node)]++;
        if (count < n_partners) partners_[to_index(node)][to_index(count)] = other;
    }
}

// From those of large parts that are known, and of few members at the end. What lies between is
// kept: parts last longer than the clusters that they make up.
void TreeRecords::ensure_dense(const Panel& panel, const FollowedTree& tree, int a, int b) {
    stack_.assign(1, {a, b});
    while (!stack_.empty()) {
        auto [node, other] = stack_.back();
        const int size = tree.size[to_index(node)], other_size = tree.size[to_index(other)];
        if (size * other_size <= few) {
            sum_up(tree, node, other);
            set_partners(node, other);
            stack_.pop_back();
            continue;
        }
        if (node < tree.n_first || (other >= tree.n_first && size < other_size)) {
            std::swap(node, other);
        }
        const int x = tree.left[to_index(node)], y = tree.right[to_index(node)];
        if (knows(x, other) && knows(y, other)) {
            combine(panel, tree, node, x, y, other);
            set_partners(node, other);
            stack_.pop_back();
            continue;
        }
        stack_.push_back({knows(x, other) ? y : x, other});
    }
}

const double* TreeRecords::ensure(const Panel& panel, const FollowedTree& tree, int a, int b) {
    if (knows(a, b)) return at(a, b);
    if (panel.dense) {
        ensure_dense(panel, tree, a, b);
        return at(a, b);
    }
    stack_.assign(1, {a, b});
    while (!stack_.empty()) {
        auto [node, other] = stack_.back();
        if (tree.stage[to_index(node)] < tree.stage[to_index(other)]) std::swap(node, other);
        const int x = tree.left[to_index(node)], y = tree.right[to_index(node)];
        if (!knows(x, other)) {
            stack_.push_back({x, other});
        } else if (!knows(y, other)) {
            stack_.push_back({y, other});
        } else {
            stack_.pop_back();
            combine(panel, tree, node, x, y, other);
            set_known(node, other);
        }
    }
    return at(a, b);
}

void TreeRecords::forget(int node, bool dense) {
    const int count = count_[to_index(node)];
    if (dense && count <= n_partners) {
        for (int i = 0; i < count; ++i) {
            known_[pair_place(partners_[to_index(node)][to_index(i)], node)] = 0;
        }
    } else {
        for (int other = 0; other < width_; ++other) {
            if (other != node) known_[pair_place(node, other)] = 0;
        }
    }
    count_[to_index(node)] = 0;
}

}  // namespace certune::linkage
