#include "linkage/boxes/outcomes.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "linkage/boxes/cutting.h"

namespace certune::linkage::boxes {

namespace {

enum class Growth { finished, open, contradiction };

constexpr std::size_t none = SIZE_MAX;

// Carries out the certain merges of one branch.
class Grower {
   public:
    Grower(const Box& box, const PolynomialSpace& space, const Ties& ties, Branch& branch,
           bool with_heights, StopToken& stop)
        : space_(space),
          ties_(ties),
          branch_(branch),
          judge_(box, space, ties, branch),
          with_heights_(with_heights),
          stop_(stop) {
        const std::size_t slots = branch.nodes.size();
        for (std::size_t x = 0; x < slots; ++x) active_.push_back(x);
        nearest_.assign(slots, none);
        rival_.assign(slots, none);
        asked_.assign(slots, {none, none});
        resolved_.assign(slots, false);
    }

    Growth grow();

    const std::vector<std::size_t>& active() const { return active_; }
    // After Growth::open: the open order with the smallest value, the second pair less the first,
    // and how many rows are open.
    NodePair near() const { return nodes(chosen_, nearest_[chosen_]); }
    NodePair far() const { return nodes(chosen_, rival_[chosen_]); }
    const double* difference() {
        const std::size_t x = chosen_, y = nearest_[x], z = rival_[x];
        return judge_.difference(pair(x, y), pair(x, z), shared(x, y, z));
    }
    std::size_t n_open() const { return n_open_; }

   private:
    const double* pair(std::size_t x, std::size_t y) const { return branch_.table(x, y); }
    NodePair nodes(std::size_t x, std::size_t y) const {
        return {branch_.nodes[x], branch_.nodes[y]};
    }
    double size(std::size_t x) const { return branch_.forest.size[branch_.nodes[x]]; }
    Candidate candidate(std::size_t x, std::size_t y) const;
    Shared shared(std::size_t x, std::size_t y, std::size_t z) const;
    std::size_t guess(std::size_t x) const;
    Order order(std::size_t x, std::size_t y, std::size_t z);
    enum class Sure { yes, no, contradiction };
    Sure make_sure(std::size_t x, bool& progress);
    Sure is_reciprocal(std::size_t x, bool& progress);
    bool merge_some(bool thorough, bool& progress);
    void merge(std::size_t x, std::size_t y);
    void unite_within(std::size_t x, std::size_t y, double share_x, double share_y);
    void merge_pair(std::size_t x, std::size_t y, std::size_t z, double share_x, double share_y);

    const PolynomialSpace& space_;
    const Ties& ties_;
    Branch& branch_;
    Judge judge_;
    bool with_heights_;
    StopToken& stop_;
    std::vector<std::size_t> active_, nearest_;
    // The rival that keeps a row open, and the two nodes that were compared then.
    std::vector<std::size_t> rival_;
    std::vector<std::array<std::size_t, 2>> asked_;
    std::vector<bool> resolved_;
    std::size_t chosen_ = none, n_open_ = 0;
};

Candidate Grower::candidate(std::size_t x, std::size_t y) const {
    const auto& extremes = branch_.table.extremes;
    return {nodes(x, y), pair(x, y), extremes.empty() ? nullptr : &extremes[triangle(x, y)]};
}

Shared Grower::shared(std::size_t x, std::size_t y, std::size_t z) const {
    if (branch_.table.kind != Kind::energy) return {};
    const double own = size(x);
    const auto factor = [&](double other) { return own * other / (own + other); };
    return {branch_.table.within_slot(x), std::min(factor(size(y)), factor(size(z)))};
}

std::size_t Grower::guess(std::size_t x) const {
    std::size_t best = none;
    double least = std::numeric_limits<double>::infinity();
    for (const std::size_t z : active_) {
        if (z == x) continue;
        const double value = pair(x, z)[0];
        if (best == none || value < least) {
            best = z;
            least = value;
        }
    }
    return best;
}

// Order of (x, y) against (x, z) on the whole box, as far as this branch follows it.
Order Grower::order(std::size_t x, std::size_t y, std::size_t z) {
    if (judge_.far_behind(pair(x, y), pair(x, z))) return Order::nearer;
    return judge_.order(candidate(x, y), candidate(x, z), shared(x, y, z));
}

// Finds the nearest slot of x for sure; else `rival_` is what stands in the way.
Grower::Sure Grower::make_sure(std::size_t x, bool& progress) {
    if (nearest_[x] == none) nearest_[x] = guess(x);
    const std::size_t before = nearest_[x];
    std::size_t switches = 0;
    for (std::size_t i = 0; i < active_.size();) {
        const std::size_t z = active_[i++], y = nearest_[x];
        if (z == x || z == y) continue;
        const Order found = order(x, y, z);
        if (found == Order::nearer) continue;
        if (found == Order::open) {
            progress = progress || nearest_[x] != before;
            rival_[x] = z;
            asked_[x] = {branch_.nodes[nearest_[x]], branch_.nodes[z]};
            return Sure::no;
        }
        nearest_[x] = z;
        // Assumed orders that go round in a circle hold nowhere.
        if (++switches > active_.size()) return Sure::contradiction;
        i = 0;
    }
    progress = progress || nearest_[x] != before;
    resolved_[x] = true;
    return Sure::yes;
}

// Are x and its nearest slot each other's nearest, for sure?
Grower::Sure Grower::is_reciprocal(std::size_t x, bool& progress) {
    for (int turn = 0; turn < 2; ++turn) {
        const std::size_t row = turn == 0 ? x : nearest_[x];
        if (resolved_[row]) continue;
        if (rival_[row] != none) {
            const auto& nodes = branch_.nodes;
            const bool unchanged = nearest_[row] != none &&
                                   asked_[row][0] == nodes[nearest_[row]] &&
                                   asked_[row][1] == nodes[rival_[row]];
            if (unchanged) return Sure::no;
            rival_[row] = none;
        }
        const Sure found = make_sure(row, progress);
        if (found != Sure::yes) return found;
    }
    return nearest_[nearest_[x]] == x ? Sure::yes : Sure::no;
}

// One pass over the slots; false if the assumptions contradict each other.
bool Grower::merge_some(bool thorough, bool& progress) {
    for (std::size_t i = 0; i < active_.size() && active_.size() > 1; ++i) {
        const std::size_t x = active_[i];
        if (nearest_[x] == none) nearest_[x] = guess(x);
        const std::size_t y = nearest_[x];
        if (nearest_[y] == none) nearest_[y] = guess(y);
        if (nearest_[y] != x && !thorough) continue;
        const Sure found = is_reciprocal(x, progress);
        if (found == Sure::contradiction) return false;
        if (found == Sure::no) continue;
        progress = true;
        merge(x, nearest_[x]);
    }
    return true;
}

Growth Grower::grow() {
    bool thorough = false;
    while (active_.size() > 1) {
        if (stop_.stop_requested()) return Growth::contradiction;
        bool progress = false;
        if (!merge_some(thorough, progress)) return Growth::contradiction;
        if (!progress && thorough) break;
        thorough = !progress;
    }
    if (active_.size() == 1) return Growth::finished;
    for (const std::size_t x : active_) {
        if (rival_[x] == none || resolved_[x]) continue;
        ++n_open_;
        if (chosen_ == none || pair(x, nearest_[x])[0] < pair(chosen_, nearest_[chosen_])[0]) {
            chosen_ = x;
        }
    }
    // Nearest slots for sure, but no two of them each other's: a circle, which no order has.
    return chosen_ == none ? Growth::contradiction : Growth::open;
}

void Grower::merge(std::size_t x, std::size_t y) {
    Forest& forest = branch_.forest;
    if (with_heights_) {
        Heights& heights = branch_.heights;
        heights.numbers.insert(heights.numbers.end(), pair(x, y), pair(x, y) + space_.width());
        const auto& extremes = branch_.table.extremes;
        if (!extremes.empty()) heights.extremes.push_back(extremes[triangle(x, y)]);
    }
    const double total = size(x) + size(y);
    const double share_x = size(x) / total, share_y = size(y) / total;
    if (branch_.table.kind == Kind::energy) unite_within(x, y, share_x, share_y);
    branch_.nodes[x] = forest.join(branch_.nodes[x], branch_.nodes[y]);
    active_.erase(std::find(active_.begin(), active_.end(), y));
    nearest_[x] = none;
    resolved_[x] = false;
    rival_[x] = none;
    for (const std::size_t z : active_) {
        if (nearest_[z] == x || nearest_[z] == y) {
            nearest_[z] = none;
            resolved_[z] = false;
        }
        if (rival_[z] == y) rival_[z] = none;
        if (z != x) merge_pair(x, y, z, share_x, share_y);
    }
}

// The mean within the union of x and y.
void Grower::unite_within(std::size_t x, std::size_t y, double share_x, double share_y) {
    double* own = branch_.table.within_slot(x);
    const double* other = branch_.table.within_slot(y);
    const double* between = pair(x, y) + space_.width();
    for (std::size_t c = 0; c < space_.width(); ++c) {
        own[c] = share_x * share_x * own[c] + share_y * share_y * other[c] +
                 2.0 * share_x * share_y * between[c];
    }
}

void Grower::merge_pair(std::size_t x, std::size_t y, std::size_t z, double share_x,
                        double share_y) {
    double* here = branch_.table(x, z);
    const double* there = branch_.table(y, z);
    const std::size_t width = space_.width();
    if (branch_.table.kind == Kind::mean) {
        for (std::size_t c = 0; c < width; ++c) here[c] = share_x * here[c] + share_y * there[c];
        space_.set_spread(here);
        return;
    }
    if (branch_.table.kind == Kind::energy) {
        for (std::size_t c = width; c < 2 * width; ++c) {
            here[c] = share_x * here[c] + share_y * there[c];
        }
        set_energy(space_, branch_.table, x, z, size(x), size(z));
        return;
    }
    for (std::size_t larger = 0; larger < 2; ++larger) {
        std::int64_t& extreme = branch_.table.extremes[triangle(x, z)][larger];
        const std::size_t start = (1 + larger) * width;
        extreme = take_extreme(space_, ties_, larger == 1, here + start, extreme, there + start,
                               branch_.table.extremes[triangle(y, z)][larger]);
    }
    for (std::size_t c = 0; c < width; ++c) here[c] = here[width + c] + here[2 * width + c];
    space_.set_spread(here);
}

// The slots that are left, and what is known of them.
Table remaining(const Table& table, const std::vector<std::size_t>& active) {
    Table result(table.kind, active.size(), table.width);
    for (std::size_t i = 0; i < active.size(); ++i) {
        if (!table.within.empty()) {
            const double* within = table.within_slot(active[i]);
            std::copy(within, within + table.width, result.within_slot(i));
        }
        for (std::size_t j = 0; j < i; ++j) {
            const double* numbers = table(active[i], active[j]);
            std::copy(numbers, numbers + table.stride, result(i, j));
            if (!table.extremes.empty()) {
                result.extremes[triangle(i, j)] = table.extremes[triangle(active[i], active[j])];
            }
        }
    }
    return result;
}

// An order that stayed open, and its place in the decision tree.
struct OpenOrder {
    NodePair near, far;
    std::vector<double> difference;
    std::int64_t place = DecisionTree::nothing;
};

// A branch under one outcome of an open order, with the slots that are left.
Branch continued(const Branch& branch, const std::vector<std::size_t>& active,
                 const OpenOrder& open, bool first, const PolynomialSpace& space) {
    Branch result{remaining(branch.table, active),
                  {},
                  branch.forest,
                  branch.heights,
                  branch.assumed,
                  open.place,
                  first};
    for (const std::size_t slot : active) result.nodes.push_back(branch.nodes[slot]);
    Assumption assumption{open.near, open.far, open.difference};
    if (!first) {
        std::swap(assumption.near, assumption.far);
        for (std::size_t c = 0; c < space.remainder(); ++c) assumption.difference[c] *= -1.0;
    }
    result.assumed.push_back(std::move(assumption));
    return result;
}

// Slot of every point after some merges, and the top node of every slot.
Start start_of(const Forest& forest) {
    std::vector<bool> is_top(forest.n_nodes, true);
    for (std::size_t node = forest.n_points; node < forest.n_nodes; ++node) {
        is_top[static_cast<std::size_t>(forest.left[node])] = false;
        is_top[static_cast<std::size_t>(forest.right[node])] = false;
    }
    Start start{forest, std::vector<std::int64_t>(forest.n_points), {}};
    for (std::size_t node = 0; node < forest.n_nodes; ++node) {
        if (!is_top[node]) continue;
        for (const std::size_t point : forest.members(node)) {
            start.slots[point] = static_cast<std::int64_t>(start.nodes.size());
        }
        start.nodes.push_back(node);
    }
    return start;
}

// Follows branches, last one first.
class Follower {
   public:
    Follower(const Box& box, const Ties& ties, const Task& task, StopToken& stop)
        : box_(box),
          ties_(ties),
          task_(task),
          stop_(stop),
          tree_(PolynomialSpace(box.coordinates())) {}

    DecisionTree run();

   private:
    bool begin();
    bool advance(Branch branch);
    bool split(const Branch& branch, const std::vector<std::size_t>& active, OpenOrder open);
    bool cut(Branch branch, const std::vector<std::size_t>& active);
    void set_common(const Forest& forest);

    const Box& box_;
    const Ties& ties_;
    const Task& task_;
    StopToken& stop_;
    DecisionTree tree_;
    std::vector<Branch> open_;
    bool begun_ = false;
};

// False if there are no records.
bool Follower::begin() {
    Forest forest(box_.n_points);
    for (const auto& [a, b] : task_.merges) {
        forest.join(static_cast<std::size_t>(a), static_cast<std::size_t>(b));
    }
    tree_.common.assign(task_.merges.begin(), task_.merges.end());
    const Start start = start_of(forest);
    Models models = make_models(box_, tree_.space(), ties_, start, task_.cut.is_wanted(), stop_);
    tree_.movements = std::move(models.movements);
    if (!models.complete) return false;
    open_.push_back({std::move(models.table), start.nodes, forest, std::move(models.heights), {}});
    return true;
}

DecisionTree Follower::run() {
    if (!begin()) return std::move(tree_);
    while (!open_.empty()) {
        if (stop_.stop_requested()) return std::move(tree_);
        Branch branch = std::move(open_.back());
        open_.pop_back();
        if (!advance(std::move(branch))) return std::move(tree_);
    }
    tree_.complete = true;
    return std::move(tree_);
}

void Follower::set_common(const Forest& forest) {
    tree_.common.clear();
    for (std::size_t node = box_.n_points; node < forest.n_nodes; ++node) {
        tree_.common.emplace_back(forest.left[node], forest.right[node]);
    }
    begun_ = true;
}

// Each of these returns false if there are more outcomes than the limits allow.
bool Follower::advance(Branch branch) {
    Grower grower(box_, tree_.space(), ties_, branch, task_.cut.is_wanted(), stop_);
    const Growth growth = grower.grow();
    if (!begun_) set_common(branch.forest);
    switch (growth) {
        case Growth::contradiction:
            return true;
        case Growth::open: {
            if (grower.n_open() > task_.limits.n_open) return false;
            const double* difference = grower.difference();
            return split(
                branch, grower.active(),
                {grower.near(), grower.far(), {difference, difference + tree_.space().width()}});
        }
        case Growth::finished:
            break;
    }
    if (task_.cut.is_wanted()) return cut(std::move(branch), grower.active());
    tree_.set_child(branch.parent, branch.first, ~static_cast<std::int64_t>(tree_.leaves.size()));
    tree_.leaves.push_back(std::move(branch.forest));
    return true;
}

bool Follower::cut(Branch branch, const std::vector<std::size_t>& active) {
    Cutter cutter(box_, tree_.space(), ties_, branch, task_.cut);
    switch (cutter.run()) {
        case Cutter::Result::contradiction:
            return true;
        case Cutter::Result::open: {
            const double* difference = cutter.difference();
            return split(
                branch, active,
                {cutter.lower(), cutter.upper(), {difference, difference + tree_.space().width()}});
        }
        case Cutter::Result::finished:
            break;
    }
    tree_.set_child(branch.parent, branch.first, ~static_cast<std::int64_t>(tree_.leaves.size()));
    tree_.labels.push_back(cutter.labels());
    tree_.leaves.push_back(std::move(branch.forest));
    return true;
}

bool Follower::split(const Branch& branch, const std::vector<std::size_t>& active, OpenOrder open) {
    if (tree_.leaves.size() + open_.size() + 2 > task_.limits.n_leaves) return false;
    if (tree_.n_comparisons() >= task_.limits.n_comparisons()) return false;
    open.place = static_cast<std::int64_t>(tree_.add_comparison(open.difference.data()));
    tree_.set_child(branch.parent, branch.first, open.place);
    for (const bool first : {false, true}) {
        open_.push_back(continued(branch, active, open, first, tree_.space()));
    }
    return true;
}

}  // namespace

DecisionTree follow(const Box& box, const Ties& ties, const Task& task, StopToken& stop) {
    return Follower(box, ties, task, stop).run();
}

}  // namespace certune::linkage::boxes
