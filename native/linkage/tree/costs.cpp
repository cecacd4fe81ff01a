#include "linkage/tree/costs.h"

#include <algorithm>
#include <numeric>

#include "numeric/simd8.h"

namespace certune::linkage {

namespace {

CERTUNE_HOT void add_all(const std::int64_t* first, const std::int64_t* second, int count,
                         std::int64_t* out) {
    for (int i = 0; i < count; ++i) out[i] = first[i] + second[i];
}

CERTUNE_HOT void larger_of_all(const std::int64_t* first, const std::int64_t* second, int count,
                               std::int64_t* out) {
    for (int i = 0; i < count; ++i) out[i] = std::max(first[i], second[i]);
}

}  // namespace

void number_by_first_member(std::span<std::int64_t> labels, std::int64_t count) {
    std::vector<std::int64_t> number_of(static_cast<std::size_t>(count), -1);
    std::int64_t n_seen = 0;
    for (auto& label : labels) {
        auto& number = number_of[static_cast<std::size_t>(label)];
        if (number < 0) number = n_seen++;
        label = number;
    }
}

Costs::Costs(const Pruning& pruning, const Tree& tree)
    : pruning_(pruning),
      n_points_(tree.n_points),
      cost_(tree.left.size(), 0),
      pair_sum_(tree.left.size(), 0),
      sums_(tree.left.size() * at(n_points_)),
      best_(tree.left.size() * at(pruning.k + 1)),
      to_left_(tree.left.size() * at(pruning.k + 1)) {
    if (is_plain_cut(pruning.objective)) return;
    // Points that are first clusters by themselves have their costs there only.
    std::vector<bool> is_alone(at(n_points_), false);
    for (int x = 0; x < tree.n_first; ++x) {
        if (tree.size[at(x)] == 1) {
            is_alone[at(tree.members(x)[0])] = true;
            set_point(x, tree.members(x)[0]);
        }
    }
    const int n_nodes = static_cast<int>(tree.left.size());
    for (int node = tree.width; node < n_nodes; ++node) {
        if (node >= tree.width + n_points_) {
            unite(tree, node);
        } else if (!is_alone[at(node - tree.width)]) {
            set_point(node, node - tree.width);
        }
    }
    for (int x = 0; x < tree.n_first; ++x) {
        if (tree.size[at(x)] > 1) copy_node(tree.width + tree.tops[at(x)], x);
    }
}

void Costs::set_point(int node, int point) {
    const auto row = pruning_.reference.row(at(point));
    std::copy(row.begin(), row.end(), sums(node));
    best(node, 1) = 0;
}

void Costs::copy_node(int from, int to) {
    cost_[at(to)] = cost_[at(from)];
    pair_sum_[at(to)] = pair_sum_[at(from)];
    std::copy_n(sums(from), n_points_, sums(to));
    std::copy_n(&best(from, 0), pruning_.k + 1, &best(to, 0));
    std::copy_n(&to_left(from, 0), pruning_.k + 1, &to_left(to, 0));
}

void Costs::unite(const Tree& tree, int node) {
    if (is_plain_cut(pruning_.objective)) return;
    set_cost(tree, node);
    set_prunings(tree, node);
}

void Costs::set_cost(const Tree& tree, int node) {
    const int a = tree.left[at(node)], b = tree.right[at(node)];
    std::int64_t* own = sums(node);
    if (pruning_.objective == Objective::k_center) {
        larger_of_all(sums(a), sums(b), n_points_, own);
    } else {
        add_all(sums(a), sums(b), n_points_, own);
    }
    if (pruning_.objective == Objective::k_means) {
        std::int64_t total = pair_sum_[at(a)] + pair_sum_[at(b)];
        for (const int point : tree.members(b)) total += sums(a)[point];
        pair_sum_[at(node)] = total;
        // Not negative, so that the division rounds down.
        cost_[at(node)] = total / tree.size[at(node)];
        return;
    }
    const auto members = tree.members(node);
    std::int64_t least = own[members[0]];
    for (const int point : members) least = std::min(least, own[point]);
    cost_[at(node)] = least;
}

std::int64_t Costs::together(std::int64_t first, std::int64_t second) const {
    return pruning_.objective == Objective::k_center ? std::max(first, second) : first + second;
}

void Costs::set_prunings(const Tree& tree, int node) {
    const int a = tree.left[at(node)], b = tree.right[at(node)];
    const int size_a = tree.size[at(a)], size_b = tree.size[at(b)];
    best(node, 1) = cost_[at(node)];
    for (int clusters = 2; clusters <= std::min(pruning_.k, size_a + size_b); ++clusters) {
        const int first = std::max(1, clusters - size_b);
        std::int64_t lowest = together(best(a, first), best(b, clusters - first));
        int chosen = first;
        for (int share = first + 1; share <= std::min(clusters - 1, size_a); ++share) {
            const std::int64_t value = together(best(a, share), best(b, clusters - share));
            if (value < lowest) {
                lowest = value;
                chosen = share;
            }
        }
        best(node, clusters) = lowest;
        to_left(node, clusters) = chosen;
    }
}

void Costs::cut(const Tree& tree, int root, std::span<std::int64_t> labels) {
    pending_.clear();
    pending_.push_back({root, pruning_.k});
    std::int64_t cluster = 0;
    while (!pending_.empty()) {
        const auto [node, clusters] = pending_.back();
        pending_.pop_back();
        if (clusters == 1) {
            for (const int point : tree.members(node)) labels[at(point)] = cluster;
            ++cluster;
            continue;
        }
        const int share = to_left(node, clusters);
        pending_.push_back({tree.left[at(node)], share});
        pending_.push_back({tree.right[at(node)], clusters - share});
    }
    number_by_first_member(labels, cluster);
}

std::vector<std::int64_t> prune(const Pruning& pruning, MatrixView<const std::int64_t> left,
                                MatrixView<const std::int64_t> right, StopToken& stop) {
    const std::size_t n = pruning.reference.rows, n_trees = left.rows;
    std::vector<std::int64_t> result(n_trees * n), alone(n);
    std::iota(alone.begin(), alone.end(), 0);
    const std::size_t n_nodes = 2 * n - 1;
    Tree tree({alone, {}, {}, 0}, static_cast<int>(n_nodes));
    Costs costs(pruning, tree);
    for (std::size_t t = 0; t < n_trees; ++t) {
        std::size_t node = n;
        // A node depends on those below it alone: the first merges that this tree has in common
        // with the last one are there already.
        while (t > 0 && node < n_nodes && left(t, node) == left(t - 1, node) &&
               right(t, node) == right(t - 1, node)) {
            ++node;
        }
        for (; node < n_nodes; ++node) {
            if (stop.stop_requested()) return result;
            const int here = static_cast<int>(node);
            const int a = static_cast<int>(left(t, node)), b = static_cast<int>(right(t, node));
            tree.unite(here, a, b);
            // Ties between prunings are told apart by the side of a child: it is the one given.
            tree.left[node] = a;
            tree.right[node] = b;
            costs.unite(tree, here);
        }
        costs.cut(tree, static_cast<int>(n_nodes) - 1, std::span(result).subspan(t * n, n));
    }
    return result;
}

}  // namespace certune::linkage
