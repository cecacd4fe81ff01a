#include "linkage/boxes/outcomes.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace certune::linkage::boxes {

namespace {

enum class Order { nearer, farther, open };
enum class Growth { finished, open, contradiction };

constexpr std::size_t none = SIZE_MAX;
// Values that differ by more than this share are not the same function.
constexpr double close = 1e-9;

// An order that a branch follows: (x, y) nearer than (x, z), nodes of the forest.
struct Assumption {
    std::size_t x, y, z;
    std::vector<double> difference;  // (x, z) less (x, y), which is not negative here
};

struct Branch {
    Table table;
    std::vector<std::size_t> nodes;  // of the slots
    Forest forest;
    std::vector<Assumption> assumed;
    std::int64_t parent = DecisionTree::nothing;  // the comparison whose outcome this is
    bool first = true;
};

std::vector<std::uint64_t> gathered_codes(const Forest& forest, std::size_t a, std::size_t b,
                                          std::span<const std::uint64_t> codes) {
    std::vector<std::uint64_t> result;
    for (std::int32_t p = forest.head[a];; p = forest.next[static_cast<std::size_t>(p)]) {
        for (std::int32_t q = forest.head[b];; q = forest.next[static_cast<std::size_t>(q)]) {
            result.push_back(
                codes[static_cast<std::size_t>(p) * forest.n_points + static_cast<std::size_t>(q)]);
            if (q == forest.tail[b]) break;
        }
        if (p == forest.tail[a]) break;
    }
    std::sort(result.begin(), result.end());
    return result;
}

// Have the pairs (x, y) and (x, z) the same mean for every parameter: the same codes, as often in
// proportion to their numbers?
bool same_mean(const Forest& forest, std::size_t x, std::size_t y, std::size_t z,
               std::span<const std::uint64_t> codes) {
    const auto first = gathered_codes(forest, x, y, codes);
    const auto second = gathered_codes(forest, x, z, codes);
    std::size_t i = 0, j = 0;
    while (i < first.size() && j < second.size()) {
        if (first[i] != second[j]) return false;
        const std::uint64_t code = first[i];
        const std::size_t start_i = i, start_j = j;
        while (i < first.size() && first[i] == code) ++i;
        while (j < second.size() && second[j] == code) ++j;
        if ((i - start_i) * second.size() != (j - start_j) * first.size()) return false;
    }
    return i == first.size() && j == second.size();
}

// Carries out the certain merges of one branch.
class Grower {
   public:
    Grower(const PolynomialSpace& space, const Ties& ties, Branch& branch, StopToken& stop)
        : space_(space), ties_(ties), branch_(branch), stop_(stop), difference_(space.width()) {
        const std::size_t slots = branch.nodes.size();
        for (std::size_t x = 0; x < slots; ++x) active_.push_back(x);
        nearest_.assign(slots, none);
        rival_.assign(slots, none);
        asked_.assign(slots, {none, none});
        resolved_.assign(slots, false);
    }

    Growth grow();

    const std::vector<std::size_t>& active() const { return active_; }
    // After Growth::open: the open order with the smallest value, and how many rows are open.
    std::size_t x() const { return chosen_; }
    std::size_t y() const { return nearest_[chosen_]; }
    std::size_t z() const { return rival_[chosen_]; }
    std::size_t n_open() const { return n_open_; }
    // (x, z) less (x, y).
    const double* difference(std::size_t x, std::size_t y, std::size_t z);

   private:
    const double* pair(std::size_t x, std::size_t y) const { return branch_.table(x, y); }
    std::size_t guess(std::size_t x) const;
    bool far_behind(std::size_t x, std::size_t y, std::size_t z) const;
    Order order(std::size_t x, std::size_t y, std::size_t z);
    Order assumed_order(std::size_t x, std::size_t y, std::size_t z) const;
    Order order_by_ties(std::size_t x, std::size_t y, std::size_t z);
    Order conditional_order();
    bool same_value(std::size_t x, std::size_t y, std::size_t z,
                    std::span<const std::uint64_t> codes) const;
    enum class Sure { yes, no, contradiction };
    Sure make_sure(std::size_t x, bool& progress);
    Sure is_reciprocal(std::size_t x, bool& progress);
    bool merge_some(bool thorough, bool& progress);
    void merge(std::size_t x, std::size_t y);
    void merge_pair(std::size_t x, std::size_t y, std::size_t z, double share_x, double share_y);

    const PolynomialSpace& space_;
    const Ties& ties_;
    Branch& branch_;
    StopToken& stop_;
    std::vector<double> difference_;
    std::vector<std::size_t> active_, nearest_;
    // The rival that keeps a row open, and the two nodes that were compared then.
    std::vector<std::size_t> rival_;
    std::vector<std::array<std::size_t, 2>> asked_;
    std::vector<bool> resolved_;
    std::size_t chosen_ = none, n_open_ = 0;
};

const double* Grower::difference(std::size_t x, std::size_t y, std::size_t z) {
    const double* near = pair(x, y);
    const double* far = pair(x, z);
    for (std::size_t c = 0; c < space_.remainder(); ++c) difference_[c] = far[c] - near[c];
    for (const std::size_t c : {space_.remainder(), space_.slope_error(), space_.spread()}) {
        difference_[c] = far[c] + near[c];
    }
    return difference_.data();
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

bool Grower::far_behind(std::size_t x, std::size_t y, std::size_t z) const {
    const double* near = pair(x, y);
    const double* far = pair(x, z);
    return far[0] - near[0] > near[space_.spread()] + far[space_.spread()];
}

bool Grower::same_value(std::size_t x, std::size_t y, std::size_t z,
                        std::span<const std::uint64_t> codes) const {
    if (branch_.table.extremes.empty()) {
        return same_mean(branch_.forest, branch_.nodes[x], branch_.nodes[y], branch_.nodes[z],
                         codes);
    }
    const Extremes& near = branch_.table.extremes[triangle(x, y)];
    const Extremes& far = branch_.table.extremes[triangle(x, z)];
    for (std::size_t c = 0; c < 2; ++c) {
        if (near[c] == uncertain || far[c] == uncertain) return false;
        if (codes[static_cast<std::size_t>(near[c])] != codes[static_cast<std::size_t>(far[c])]) {
            return false;
        }
    }
    return true;
}

Order Grower::assumed_order(std::size_t x, std::size_t y, std::size_t z) const {
    const auto& nodes = branch_.nodes;
    for (const Assumption& known : branch_.assumed) {
        if (known.x != nodes[x]) continue;
        if (known.y == nodes[y] && known.z == nodes[z]) return Order::nearer;
        if (known.y == nodes[z] && known.z == nodes[y]) return Order::farther;
    }
    return Order::open;
}

Order Grower::order_by_ties(std::size_t x, std::size_t y, std::size_t z) {
    const double near = pair(x, y)[0], far = pair(x, z)[0];
    const auto all_codes = std::span(ties_.codes.data, ties_.codes.rows * ties_.codes.columns);
    if (std::abs(near - far) <= close * (1.0 + std::abs(near)) && same_value(x, y, z, all_codes)) {
        const auto& highest = branch_.forest.highest;
        const auto& nodes = branch_.nodes;
        return wins_tie(highest[nodes[x]], highest[nodes[y]], highest[nodes[z]]) ? Order::nearer
                                                                                 : Order::farther;
    }
    for (const Face& face : ties_.faces) {
        const int sign = order_off_face(space_, face, difference_.data());
        if (sign != 0 && same_value(x, y, z, face.codes)) {
            return sign > 0 ? Order::nearer : Order::farther;
        }
    }
    return Order::open;
}

// The order of the last difference, from what this branch assumes.
Order Grower::conditional_order() {
    if (branch_.assumed.empty()) return Order::open;
    std::vector<double> turned(difference_);
    for (std::size_t c = 0; c < space_.remainder(); ++c) turned[c] = -turned[c];
    for (const Assumption& known : branch_.assumed) {
        const double* given = known.difference.data();
        if (conditional_lower(space_, difference_.data(), given, space_.whole()) > 0.0) {
            return Order::nearer;
        }
        if (conditional_lower(space_, turned.data(), given, space_.whole()) > 0.0) {
            return Order::farther;
        }
    }
    return Order::open;
}

// Order of (x, y) against (x, z) on the whole box, as far as this branch follows it.
Order Grower::order(std::size_t x, std::size_t y, std::size_t z) {
    if (far_behind(x, y, z)) return Order::nearer;
    const Range found = space_.range(difference(x, y, z), space_.whole());
    if (found.lower > 0.0) return Order::nearer;
    if (found.upper < 0.0) return Order::farther;
    Order known = assumed_order(x, y, z);
    if (known == Order::open) known = order_by_ties(x, y, z);
    if (known == Order::open) known = conditional_order();
    return known;
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
    const std::size_t a = branch_.nodes[x], b = branch_.nodes[y];
    const std::size_t node = forest.join(a, b);
    const double total = forest.size[node];
    const double share_x = forest.size[a] / total, share_y = forest.size[b] / total;
    branch_.nodes[x] = node;
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

void Grower::merge_pair(std::size_t x, std::size_t y, std::size_t z, double share_x,
                        double share_y) {
    double* here = branch_.table(x, z);
    const double* there = branch_.table(y, z);
    const std::size_t width = space_.width();
    if (branch_.table.extremes.empty()) {
        for (std::size_t c = 0; c < width; ++c) here[c] = share_x * here[c] + share_y * there[c];
        space_.set_spread(here);
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

// A branch under one outcome of the order that stayed open, with the slots that are left.
Branch continued(const Branch& branch, const Grower& grower, const double* difference,
                 std::int64_t comparison, bool first, const PolynomialSpace& space) {
    const auto& active = grower.active();
    Branch result{Table(active.size(), branch.table.stride, !branch.table.extremes.empty()),
                  {},
                  branch.forest,
                  branch.assumed,
                  comparison,
                  first};
    for (std::size_t i = 0; i < active.size(); ++i) {
        result.nodes.push_back(branch.nodes[active[i]]);
        for (std::size_t j = 0; j < i; ++j) {
            const double* numbers = branch.table(active[i], active[j]);
            std::copy(numbers, numbers + branch.table.stride, result.table(i, j));
            if (!branch.table.extremes.empty()) {
                result.table.extremes[triangle(i, j)] =
                    branch.table.extremes[triangle(active[i], active[j])];
            }
        }
    }
    Assumption assumption{branch.nodes[grower.x()], branch.nodes[grower.y()],
                          branch.nodes[grower.z()],
                          std::vector<double>(difference, difference + space.width())};
    if (!first) {
        std::swap(assumption.y, assumption.z);
        for (std::size_t c = 0; c < space.remainder(); ++c) assumption.difference[c] *= -1.0;
    }
    result.assumed.push_back(std::move(assumption));
    return result;
}

// Slot of every point after some merges, and the top node of every slot.
std::pair<std::vector<std::int64_t>, std::vector<std::size_t>> slots_of(const Forest& forest) {
    std::vector<bool> is_top(forest.n_nodes, true);
    for (std::size_t node = forest.n_points; node < forest.n_nodes; ++node) {
        is_top[static_cast<std::size_t>(forest.left[node])] = false;
        is_top[static_cast<std::size_t>(forest.right[node])] = false;
    }
    std::vector<std::int64_t> slots(forest.n_points);
    std::vector<std::size_t> nodes;
    for (std::size_t node = 0; node < forest.n_nodes; ++node) {
        if (!is_top[node]) continue;
        for (std::int32_t p = forest.head[node];; p = forest.next[static_cast<std::size_t>(p)]) {
            slots[static_cast<std::size_t>(p)] = static_cast<std::int64_t>(nodes.size());
            if (p == forest.tail[node]) break;
        }
        nodes.push_back(node);
    }
    return {std::move(slots), std::move(nodes)};
}

}  // namespace

DecisionTree follow(const Box& box, const Ties& ties, Merges merges, const Limits& limits,
                    StopToken& stop) {
    DecisionTree tree{PolynomialSpace(box.coordinates())};
    const PolynomialSpace& space = tree.space();
    Forest forest(box.n_points);
    for (const auto& [a, b] : merges) {
        forest.join(static_cast<std::size_t>(a), static_cast<std::size_t>(b));
    }
    tree.common.assign(merges.begin(), merges.end());
    auto [slots, nodes] = slots_of(forest);
    Models models = make_models(box, space, ties, slots, nodes.size());
    tree.movements = std::move(models.movements);
    if (!models.complete) return tree;
    std::vector<Branch> open;
    open.push_back({std::move(models.table), std::move(nodes), std::move(forest), {}});
    bool begun = false;
    while (!open.empty()) {
        if (stop.stop_requested()) return tree;
        Branch branch = std::move(open.back());
        open.pop_back();
        Grower grower(space, ties, branch, stop);
        const Growth growth = grower.grow();
        if (!begun) {
            tree.common.clear();
            for (std::size_t node = box.n_points; node < branch.forest.n_nodes; ++node) {
                tree.common.emplace_back(branch.forest.left[node], branch.forest.right[node]);
            }
            begun = true;
        }
        if (growth == Growth::finished) {
            tree.set_child(branch.parent, branch.first,
                           ~static_cast<std::int64_t>(tree.leaves.size()));
            tree.leaves.push_back(std::move(branch.forest));
        } else if (growth == Growth::open) {
            if (tree.leaves.size() + open.size() + 2 > limits.n_leaves ||
                grower.n_open() > limits.n_open) {
                return tree;
            }
            const double* difference = grower.difference(grower.x(), grower.y(), grower.z());
            const auto place = static_cast<std::int64_t>(tree.add_comparison(difference));
            tree.set_child(branch.parent, branch.first, place);
            for (const bool first : {false, true}) {
                open.push_back(continued(branch, grower, difference, place, first, space));
            }
        }
    }
    tree.complete = true;
    return tree;
}

}  // namespace certune::linkage::boxes
