#include "linkage/boxes/cutting.h"

#include <algorithm>

namespace certune::linkage::boxes {

Cutter::Cutter(const Box& box, const PolynomialSpace& space, const Ties& ties, const Branch& branch,
               std::size_t n_clusters)
    : space_(space),
      branch_(branch),
      judge_(box, space, ties, branch),
      n_clusters_(n_clusters),
      one_place_(branch.forest.n_nodes, true) {
    const Forest& forest = branch.forest;
    for (std::size_t node = forest.n_points; node < forest.n_nodes; ++node) {
        const auto [a, b] = forest.children(node);
        one_place_[node] = one_place_[a] && one_place_[b] &&
                           box.identical(static_cast<std::size_t>(forest.head[a]),
                                         static_cast<std::size_t>(forest.head[b]));
    }
}

const double* Cutter::height(std::size_t node) const {
    return branch_.heights.of(node - branch_.forest.n_points, space_.width());
}

Candidate Cutter::candidate(std::size_t node) const {
    const auto& extremes = branch_.heights.extremes;
    return {branch_.forest.children(node), height(node),
            extremes.empty() ? nullptr : &extremes[node - branch_.forest.n_points]};
}

// Identical points are joined at height 0, before all others.
bool Cutter::seems_below(std::size_t node, std::size_t other) const {
    if (one_place_[node] != one_place_[other]) return one_place_[node];
    if (!one_place_[node] && height(node)[0] != height(other)[0]) {
        return height(node)[0] < height(other)[0];
    }
    const Forest& forest = branch_.forest;
    return wins_tie(forest, forest.children(node), forest.children(other));
}

// Is a node merged before another one, neither of them above the other?
Order Cutter::order(std::size_t node, std::size_t other) {
    if (one_place_[node] || one_place_[other]) {
        return seems_below(node, other) ? Order::nearer : Order::farther;
    }
    if (judge_.far_behind(height(node), height(other))) return Order::nearer;
    return judge_.order(candidate(node), candidate(other));
}

void Cutter::choose() {
    const Forest& forest = branch_.forest;
    is_chosen_.assign(forest.n_nodes, false);
    std::vector<std::size_t> below;
    if (is_merge(forest.n_nodes - 1)) below.push_back(forest.n_nodes - 1);
    while (chosen_.size() + 1 < n_clusters_ && !below.empty()) {
        const auto highest =
            std::max_element(below.begin(), below.end(),
                             [&](std::size_t a, std::size_t b) { return seems_below(a, b); });
        const std::size_t node = *highest;
        below.erase(highest);
        chosen_.push_back(node);
        is_chosen_[node] = true;
        const auto [a, b] = forest.children(node);
        for (const std::size_t child : {a, b}) {
            if (is_merge(child)) below.push_back(child);
        }
    }
}

void Cutter::find_open() {
    open_.clear();
    for (const std::size_t node : chosen_) {
        const auto [a, b] = branch_.forest.children(node);
        for (const std::size_t child : {a, b}) {
            if (is_merge(child) && !is_chosen_[child]) open_.push_back(child);
        }
    }
}

Cutter::Result Cutter::run() {
    choose();
    // A strict order of all nodes is reached by fewer exchanges; without end the assumptions of
    // this branch contradict each other.
    const std::size_t most = n_clusters_ * branch_.forest.n_nodes;
    for (std::size_t round = 0; round <= most; ++round) {
        find_open();
        bool exchanged = false, is_open = false;
        for (std::size_t& upper : chosen_) {
            const auto [a, b] = branch_.forest.children(upper);
            if (is_chosen_[a] || is_chosen_[b]) continue;
            for (const std::size_t lower : open_) {
                if (lower == a || lower == b) continue;
                const Order found = order(lower, upper);
                if (found == Order::nearer) continue;
                if (found == Order::open) {
                    // The lowest of the open ones, so that all branches ask for the same.
                    if (!is_open) lower_ = lower, upper_ = upper;
                    is_open = true;
                    continue;
                }
                is_chosen_[upper] = false;
                is_chosen_[lower] = true;
                upper = lower;
                exchanged = true;
                break;
            }
            if (exchanged) break;
        }
        if (!exchanged) return is_open ? Result::open : Result::finished;
    }
    return Result::contradiction;
}

std::vector<std::int64_t> Cutter::labels() const {
    const Forest& forest = branch_.forest;
    std::vector<std::size_t> tops;
    if (chosen_.empty()) tops.push_back(forest.n_nodes - 1);
    for (const std::size_t node : chosen_) {
        const auto [a, b] = forest.children(node);
        for (const std::size_t child : {a, b}) {
            if (!is_chosen_[child]) tops.push_back(child);
        }
    }
    std::vector<std::size_t> lowest(forest.n_points);
    for (const std::size_t top : tops) {
        const auto members = forest.members(top);
        const std::size_t least = *std::min_element(members.begin(), members.end());
        for (const std::size_t point : members) lowest[point] = least;
    }
    std::vector<std::int64_t> result(forest.n_points);
    std::int64_t count = 0;
    for (std::size_t point = 0; point < forest.n_points; ++point) {
        result[point] = lowest[point] == point ? count++ : result[lowest[point]];
    }
    return result;
}

}  // namespace certune::linkage::boxes
