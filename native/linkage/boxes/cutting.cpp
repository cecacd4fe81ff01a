#include "linkage/boxes/cutting.h"

#include <algorithm>

namespace certune::linkage::boxes {

Cutter::Cutter(const Box& box, const PolynomialSpace& space, const Ties& ties, const Branch& branch,
               const Cut& cut)
    : space_(space),
      branch_(branch),
      judge_(box, space, ties, branch),
      cut_(cut),
      one_place_(branch.forest.n_nodes, true) {
    const Forest& forest = branch.forest;
    for (std::size_t node = forest.n_points; node < forest.n_nodes; ++node) {
        const auto [a, b] = forest.children(node);
        one_place_[node] = one_place_[a] && one_place_[b] &&
                           box.identical(static_cast<std::size_t>(forest.head[a]),
                                         static_cast<std::size_t>(forest.head[b]));
    }
    if (!cut.by_ruler) return;
    // The first node that holds both points.
    std::vector<bool> holds_first(forest.n_nodes, false), holds_second(forest.n_nodes, false);
    holds_first[0] = holds_second[1] = true;
    for (std::size_t node = forest.n_points; node < forest.n_nodes; ++node) {
        const auto [a, b] = forest.children(node);
        holds_first[node] = holds_first[a] || holds_first[b];
        holds_second[node] = holds_second[a] || holds_second[b];
        if (ruler_ == 0 && holds_first[node] && holds_second[node]) ruler_ = node;
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

bool Cutter::has_chosen_enough() const {
    if (cut_.by_ruler) return !chosen_.empty() && chosen_.back() == ruler_;
    return chosen_.size() + 1 >= cut_.n_clusters;
}

bool Cutter::is_lowest_chosen(std::size_t node) const {
    const auto [a, b] = branch_.forest.children(node);
    return !is_chosen_[a] && !is_chosen_[b];
}

void Cutter::choose() {
    const Forest& forest = branch_.forest;
    is_chosen_.assign(forest.n_nodes, false);
    std::vector<std::size_t> below;
    if (is_merge(forest.n_nodes - 1)) below.push_back(forest.n_nodes - 1);
    while (!has_chosen_enough() && !below.empty()) {
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

// Exchanges a chosen node that is merged before an open one for that.
Cutter::Change Cutter::improve_last() {
    Change change = Change::none;
    for (std::size_t& upper : chosen_) {
        if (!is_lowest_chosen(upper)) continue;
        const auto [a, b] = branch_.forest.children(upper);
        for (const std::size_t lower : open_) {
            if (lower == a || lower == b) continue;
            const Order found = order(lower, upper);
            if (found == Order::nearer) continue;
            if (found == Order::open) {
                // The lowest of the open ones, so that all branches ask for the same.
                if (change == Change::none) lower_ = lower, upper_ = upper;
                change = Change::unclear;
                continue;
            }
            is_chosen_[upper] = false;
            is_chosen_[lower] = true;
            upper = lower;
            return Change::made;
        }
    }
    return change;
}

// Chooses an open node that is merged after the ruler, or leaves a chosen one that is not.
Cutter::Change Cutter::improve_by_ruler() {
    Change change = Change::none;
    const auto is_in_order = [&](std::size_t lower, std::size_t upper) {
        const Order found = order(lower, upper);
        if (found == Order::open) {
            if (change == Change::none) lower_ = lower, upper_ = upper;
            change = Change::unclear;
        }
        return found != Order::farther;
    };
    for (const std::size_t lower : open_) {
        if (is_in_order(lower, ruler_)) continue;
        is_chosen_[lower] = true;
        chosen_.push_back(lower);
        return Change::made;
    }
    for (const std::size_t upper : chosen_) {
        if (upper == ruler_ || !is_lowest_chosen(upper) || is_in_order(ruler_, upper)) continue;
        is_chosen_[upper] = false;
        chosen_.erase(std::ranges::find(chosen_, upper));
        return Change::made;
    }
    return change;
}

Cutter::Result Cutter::run() {
    choose();
    // A strict order of all nodes is reached by fewer exchanges; without end the assumptions of
    // this branch contradict each other.
    const std::size_t n_nodes = branch_.forest.n_nodes;
    const std::size_t most = (cut_.by_ruler ? n_nodes : cut_.n_clusters) * n_nodes;
    for (std::size_t round = 0; round <= most; ++round) {
        find_open();
        const Change change = cut_.by_ruler ? improve_by_ruler() : improve_last();
        if (change == Change::none) return Result::finished;
        if (change == Change::unclear) return Result::open;
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
