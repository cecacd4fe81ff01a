#include "linkage/search/cutting.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "linkage/models/fixed_extremes.h"

namespace certune::linkage {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Linkage values at one parameter in plain floats, for guesses.
class PlainValues {
   public:
    PlainValues(const Source& source, double t)
        : source_(source),
          t_(t),
          power_(source.pairs.power.at(t)),
          centre_(source.pairs.mode == Mode::power
                      ? 0.5 * (source.extent.smallest + source.extent.largest)
                      : 0.0) {}

    // Something that is ordered like the heights of merges.
    double height(std::span<const int> a, std::span<const int> b) const {
        if (source_.kind == Kind::energy) return energy(a, b);
        double low = infinity, high = -infinity, total = 0.0;
        const double slope = factor();
        for (const int p : a) {
            for (const int q : b) {
                const double value = exponent(p, q);
                low = std::min(low, value);
                high = std::max(high, value);
                total += slope == 0.0 ? value : std::exp(slope * value);
            }
        }
        switch (source_.kind) {
            case Kind::minimum:
                return low;
            case Kind::maximum:
                return high;
            case Kind::minmax:
                return slope == 0.0
                           ? low + high
                           : std::log(std::exp(slope * low) + std::exp(slope * high)) / slope;
            default:
                break;
        }
        total /= static_cast<double>(a.size() * b.size());
        return slope == 0.0 ? total : std::log(total) / slope;
    }

   private:
    double factor() const {
        if (source_.pairs.mode == Mode::affine) return source_.pairs.power.value > 0.0 ? 1.0 : -1.0;
        return power_;
    }
    double exponent(int a, int b) const {
        const double first =
            source_.pairs.first.row(static_cast<std::size_t>(a))[static_cast<std::size_t>(b)];
        if (source_.pairs.mode == Mode::power) return first - centre_;
        const double second =
            source_.pairs.second.row(static_cast<std::size_t>(a))[static_cast<std::size_t>(b)];
        const double value = first + t_ * second;
        // Exponents of products: a smaller one is nearer if their sum is positive.
        if (source_.pairs.mode == Mode::affine) return factor() * (value - source_.offset);
        return std::log(value);
    }
    double sum(std::span<const int> a, std::span<const int> b) const {
        double total = 0.0;
        for (const int p : a) {
            for (const int q : b) {
                if (!source_.pairs.identical(p, q)) total += std::exp(power_ * exponent(p, q));
            }
        }
        return total;
    }
    double energy(std::span<const int> a, std::span<const int> b) const {
        const auto n_a = static_cast<double>(a.size()), n_b = static_cast<double>(b.size());
        return n_a * n_b / (n_a + n_b) *
               (2.0 * sum(a, b) / (n_a * n_b) - sum(a, a) / (n_a * n_a) - sum(b, b) / (n_b * n_b));
    }

    const Source& source_;
    double t_, power_, centre_;
};

}  // namespace

Cutting::Cutting(const Source& source, const Tree& tree, Decider& decider, const Pruning& pruning,
                 StopToken& stop)
    : source_(source),
      tree_(tree),
      decider_(decider),
      stop_(stop),
      k_(at(pruning.k)),
      has_ruler_(pruning.objective == Objective::ruler),
      role_(tree.left.size(), Role::none),
      guess_(tree.left.size(), 0.0),
      labels_(at(tree.n_points)) {}

// Identical points are joined at height 0, before all others; only first merges do that.
bool Cutting::is_one_place(int node) const {
    if (node >= tree_.n_first && node < tree_.width) return false;
    const auto members = tree_.members(node);
    return std::all_of(members.begin(), members.end(),
                       [&](int point) { return source_.pairs.identical(point, members[0]); });
}

// Is a node guessed to be merged before another one?
bool Cutting::is_below(int node, int other) const {
    if (guess_[at(node)] != guess_[at(other)]) return guess_[at(node)] < guess_[at(other)];
    const auto highest = [&](int child) { return tree_.highest[at(child)]; };
    return comes_first(highest(tree_.left[at(node)]), highest(tree_.right[at(node)]),
                       highest(tree_.left[at(other)]), highest(tree_.right[at(other)]));
}

double Cutting::guess(const Heights& heights, int node, double t) const {
    const Reading& reading = heights.reading;
    const double* record = heights.of(node);
    if (reading.form == Form::fixed_extremes) {
        return reading.sign * value_inside(reading, record, reading.power.at(t));
    }
    const double width = heights.interval.width();
    const double share = width > 0.0 ? (t - heights.interval.low) / width : 0.0;
    const int lane = static_cast<int>(share * (degree - 1) + 0.5);
    if (reading.form != Form::energy) return reading.sign * lower_value(reading, record, lane);
    const double n_a = tree_.size[at(tree_.left[at(node)])];
    const double n_b = tree_.size[at(tree_.right[at(node)])];
    return n_a * n_b / (n_a + n_b) *
           (2.0 * record[lane] - record[degree + lane] - record[2 * degree + lane]);
}

bool Cutting::has_chosen_enough() const {
    if (has_ruler_) return !chosen_.empty() && chosen_.back() == ruler_;
    return chosen_.size() + 1 >= k_;
}

// Guesses the last merges, from records or from plain values at t.
void Cutting::choose(const Level& level, bool by_records, double t) {
    const PlainValues plain(source_, t);
    chosen_.clear();
    open_.assign(1, root_);
    const auto set_guess = [&](int node) {
        if (!has_height(node)) {
            guess_[at(node)] = -infinity;
        } else if (by_records && level.heights.knows(node)) {
            guess_[at(node)] = guess(level.heights, node, t);
        } else {
            guess_[at(node)] = by_records ? infinity
                                          : plain.height(tree_.members(tree_.left[at(node)]),
                                                         tree_.members(tree_.right[at(node)]));
        }
    };
    while (!has_chosen_enough() && !open_.empty()) {
        const auto highest = std::max_element(open_.begin(), open_.end(),
                                              [&](int a, int b) { return is_below(a, b); });
        const int node = *highest;
        open_.erase(highest);
        chosen_.push_back(node);
        for (const int child : {tree_.left[at(node)], tree_.right[at(node)]}) {
            if (tree_.size[at(child)] > 1) {
                set_guess(child);
                open_.push_back(child);
            }
        }
    }
    set_open();
}

// Marks the chosen nodes, and finds the ones below them.
void Cutting::set_open() {
    std::fill(role_.begin(), role_.end(), Role::none);
    for (const int node : chosen_) role_[at(node)] = Role::chosen;
    open_.clear();
    for (const int node : chosen_) {
        for (const int child : {tree_.left[at(node)], tree_.right[at(node)]}) {
            if (!is_chosen(child) && has_height(child)) {
                role_[at(child)] = Role::open;
                open_.push_back(child);
            }
        }
    }
}

bool Cutting::knows_all(const Heights& heights) const {
    const auto known = [&](int node) { return !has_height(node) || heights.knows(node); };
    return std::all_of(chosen_.begin(), chosen_.end(), known) &&
           std::all_of(open_.begin(), open_.end(), known);
}

// Makes the records of the chosen and the open nodes anew: a frame of their parts on the interval,
// merged once more.
void Cutting::rebuild(Level& level) {
    std::vector<int> nodes(open_), slot(tree_.left.size(), -1), active;
    for (const int node : chosen_) {
        if (has_height(node)) nodes.push_back(node);
    }
    for (const int node : nodes) {
        for (const int child : {tree_.left[at(node)], tree_.right[at(node)]}) {
            if (role_[at(child)] != Role::none && has_height(child)) continue;
            const int own = static_cast<int>(active.size());
            slot[at(child)] = own;
            active.push_back(own);
            for (const int point : tree_.members(child)) labels_[at(point)] = own;
        }
    }
    const int n_slots = static_cast<int>(active.size());
    Frame frame{nullptr, n_slots,
                record_width(source_.kind, form_of(source_.kind, source_.pairs.mode))};
    room_.reserve(frame.size());
    frame.data = room_.data();
    Heights& heights = level.heights;
    heights.forget();
    heights.interval = level.interval;
    heights.reading = build_frame(frame, source_, labels_, level.interval, stop_);
    if (!(heights.reading.error < infinity)) return;
    std::sort(nodes.begin(), nodes.end(),
              [&](int a, int b) { return tree_.size[at(a)] < tree_.size[at(b)]; });
    for (const int node : nodes) {
        const int left = tree_.left[at(node)], right = tree_.right[at(node)];
        const int x = slot[at(left)], y = slot[at(right)];
        heights.take(node, frame, x, y);
        std::erase(active, y);
        slot[at(node)] = x;
        if (active.size() == 1) break;
        const std::array<double, 2> sizes{static_cast<double>(tree_.size[at(left)]),
                                          static_cast<double>(tree_.size[at(right)])};
        unite_slots(frame, source_, heights.reading, {x, y}, sizes, active);
    }
}

Comparison Cutting::compare(const Heights& heights, int lower, int upper) const {
    const int a = tree_.left[at(lower)], b = tree_.right[at(lower)];
    const int c = tree_.left[at(upper)], d = tree_.right[at(upper)];
    Comparison found{{heights.of(lower), heights.of(upper)}, {a, b, d, c}};
    if (heights.reading.form == Form::energy) {
        const auto within = [&](int node, int first, int second) {
            const double* record = heights.of(node);
            return WithinPair{record + degree, record + 2 * degree,
                              static_cast<double>(tree_.size[at(first)]),
                              static_cast<double>(tree_.size[at(second)])};
        };
        found.records.near_within = within(lower, a, b);
        found.records.rival_within = within(upper, c, d);
    }
    return found;
}

// Proves that a node is merged before another one; farther is `exchanged`.
Cutting::Proof Cutting::prove(const View& view, const Heights& heights, int lower, int upper) {
    Zone zone;
    const Comparison comparison = compare(heights, lower, upper);
    switch (decider_.decide(view, comparison, zone)) {
        case Order::nearer:
            return Proof::holds;
        case Order::farther:
            return Proof::exchanged;
        case Order::hopeless:
            return Proof::hopeless;
        case Order::crossing:
            change_ = {zone_inside(zone, view.interval), comparison};
            return Proof::crossing;
        default:
            return Proof::too_wide;
    }
}

// Proves that every open node is merged before every chosen one, as far as that is not plain.
Cutting::Proof Cutting::prove_last(const Level& level, bool is_point) {
    const View view(level, level.heights, is_point);
    Proof proof = Proof::holds;
    for (int& upper : chosen_) {
        const int left = tree_.left[at(upper)], right = tree_.right[at(upper)];
        if (is_chosen(left) || is_chosen(right) || !has_height(upper)) continue;
        for (const int lower : open_) {
            if (lower == left || lower == right) continue;
            const Proof found = prove(view, level.heights, lower, upper);
            if (found == Proof::holds) continue;
            if (found == Proof::exchanged) upper = lower;
            if (found != Proof::too_wide) return found;
            proof = found;
        }
    }
    return proof;
}

// Proves that the ruler is merged after every open node, and before every chosen one.
Cutting::Proof Cutting::prove_by_ruler(const Level& level, bool is_point) {
    const View view(level, level.heights, is_point);
    Proof proof = Proof::holds;
    for (const int lower : open_) {
        const Proof found = prove(view, level.heights, lower, ruler_);
        if (found == Proof::holds) continue;
        if (found == Proof::exchanged) chosen_.push_back(lower);
        if (found != Proof::too_wide) return found;
        proof = found;
    }
    for (const int upper : chosen_) {
        const int left = tree_.left[at(upper)], right = tree_.right[at(upper)];
        if (upper == ruler_ || is_chosen(left) || is_chosen(right)) continue;
        Proof found = Proof::exchanged;  // identical points are below
        if (has_height(upper)) found = prove(view, level.heights, ruler_, upper);
        if (found == Proof::holds) continue;
        if (found == Proof::exchanged) chosen_.erase(std::ranges::find(chosen_, upper));
        if (found != Proof::too_wide) return found;
        proof = found;
    }
    return proof;
}

Progress Cutting::run(Level& level, bool is_point) {
    root_ = level.n_nodes - 1;
    if (has_ruler_) ruler_ = ruler_of(tree_, root_);
    guess_[at(root_)] = infinity;
    const double t = level.interval.low + 0.5 * level.interval.width();
    choose(level, true, t);
    bool rebuilt = false;
    if (!knows_all(level.heights)) choose(level, false, t);
    // A strict order of all nodes is reached by fewer exchanges; without end they contradict each
    // other, and what was settled on this branch holds nowhere on the interval.
    const std::size_t most = (has_ruler_ ? tree_.left.size() : k_) * tree_.left.size();
    for (std::size_t round = 0; round < most; ++round) {
        if (stop_.stop_requested()) return Progress::unknown;
        if (!knows_all(level.heights)) {
            rebuild(level);
            rebuilt = true;
            if (!(level.heights.reading.error < infinity)) return Progress::plain;
        }
        switch (has_ruler_ ? prove_by_ruler(level, is_point) : prove_last(level, is_point)) {
            case Proof::holds:
                return Progress::done;
            case Proof::crossing:
                return Progress::zone;
            case Proof::hopeless:
                return Progress::unknown;
            case Proof::exchanged:
                set_open();
                continue;
            case Proof::too_wide:
                // Records of the interval itself may tell more than those of a wider one.
                if (rebuilt || is_point) return Progress::plain;
                level.heights.forget();
        }
    }
    return is_point ? Progress::unknown : Progress::impossible;
}

void Cutting::write_labels(std::span<std::int64_t> labels) const {
    std::int64_t cluster = 0;
    const auto label = [&](int node) {
        for (const int point : tree_.members(node)) labels[at(point)] = cluster;
        ++cluster;
    };
    if (chosen_.empty()) label(root_);
    for (const int node : chosen_) {
        for (const int child : {tree_.left[at(node)], tree_.right[at(node)]}) {
            if (!is_chosen(child)) label(child);
        }
    }
    number_by_first_member(labels, cluster);
}

}  // namespace certune::linkage
