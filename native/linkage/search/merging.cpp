#include "linkage/search/merging.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "linkage/models/energies.h"
#include "linkage/models/moving_extremes.h"
#include "numeric/simd8.h"

namespace certune::linkage {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t largest_key = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t positions = (1 << 20) - 1;  // bits of a key that hold its position

std::size_t at(int slot) { return static_cast<std::size_t>(slot); }

// One or two numbers of each record of a row, and which direction is nearer.
struct Glance {
    const double* row;
    int width;
    int lane;
    int other;  // a lane to be added, 0: none
    int sign;
};

// Nearest of the active slots by a glance. As integers, positive keys have the same order; their
// last bits are replaced by their position, so that the minimum tells where it is and loops
// vectorise.
CERTUNE_HOT int nearest_by(const Glance& glance, int x, const int* active, int n_active,
                           double* keys) {
    const double far = glance.sign > 0 ? infinity : 0.0;
    for (int i = 0; i < n_active; ++i) {
        const double* record = glance.row + static_cast<std::ptrdiff_t>(active[i]) * glance.width;
        const double key =
            glance.other > 0 ? record[glance.lane] + record[glance.other] : record[glance.lane];
        keys[i] = active[i] == x ? far : key;
    }
    const std::int64_t flip = glance.sign > 0 ? 0 : largest_key;
    std::int64_t least = largest_key;
    for (int i = 0; i < n_active; ++i) {
        const std::int64_t bits = std::bit_cast<std::int64_t>(keys[i]) ^ flip;
        const std::int64_t key = (bits & ~positions) | i;
        least = key < least ? key : least;
    }
    return active[least & positions];
}

CERTUNE_HOT std::size_t next_below(const double* row, const double* bars, std::int64_t flip,
                                   const int* active, std::size_t begin, std::size_t n_active) {
    simd8::Bits limit;
    simd8::load(bars, limit);
    std::size_t i = begin;
    while (i < n_active && !simd8::any_below(row + degree * active[i], limit, flip)) ++i;
    return i;
}

// The same for fixed extremes, which have two bars.
std::size_t next_below_ends(const double* row, const double* bars, const Reading& reading,
                            const std::vector<int>& active, std::size_t begin) {
    const double side = reading.sign > 0 ? 1.0 : -1.0;
    const double low = side * bars[0], high = side * bars[1];
    std::size_t i = begin;
    if (reading.kind == Kind::minmax) {
        for (; i < active.size(); ++i) {
            const double* record = row + degree * active[i];
            if (side * (record[lane::min_low] + record[lane::max_low]) < low ||
                side * (record[lane::min_high] + record[lane::max_high]) < high) {
                break;
            }
        }
        return i;
    }
    const int first = reading.kind == Kind::minimum ? lane::min_low : lane::max_low;
    for (; i < active.size(); ++i) {
        const double* record = row + degree * active[i] + first;
        if (side * record[0] < low || side * record[1] < high) break;
    }
    return i;
}

std::size_t next_below_enclosures(const double* row, int width, const double* bars,
                                  const Reading& reading, const std::vector<int>& active,
                                  std::size_t begin) {
    for (std::size_t i = begin; i < active.size(); ++i) {
        const double* record = row + width * active[i];
        for (int k = 0; k < degree; ++k) {
            const bool clears = reading.sign > 0 ? lower_value(reading, record, k) > bars[k]
                                                 : upper_value(reading, record, k) < bars[k];
            if (!clears) return i;
        }
    }
    return active.size();
}

// Averages of the records of x and y become those of x.
CERTUNE_HOT void merge_averages(const Frame& frame, int x, int y, double weight_x, double weight_y,
                                const int* active, int n_active) {
    for (int i = 0; i < n_active; ++i) {
        const int z = active[i];
        simd8::blend(frame.record(x, z), weight_x, frame.record(y, z), weight_y, frame.record(x, z),
                     frame.record(z, x));
    }
}

}  // namespace

Zone zone_inside(const Zone& shares, Interval interval) {
    const auto [low, high] = interval;
    // A zone that is cut at the end of the interval ends there, without a rounding.
    const double until = shares.high >= 1.0 ? high : low + shares.high * (high - low);
    return {low + shares.low * (high - low), std::min(high, until), shares.before, shares.after};
}

void unite_slots(const Frame& frame, const Source& source, const Reading& reading,
                 std::array<int, 2> slots, std::array<double, 2> sizes,
                 const std::vector<int>& active) {
    const auto [x, y] = slots;
    const double total = sizes[0] + sizes[1];
    switch (reading.form) {
        case Form::average:
        case Form::energy: {
            const auto within = united_within(frame, x, y, sizes[0], sizes[1]);
            merge_averages(frame, x, y, sizes[0] / total, sizes[1] / total, active.data(),
                           static_cast<int>(active.size()));
            simd8::copy(within.data(), frame.record(x, x));
            break;
        }
        case Form::fixed_extremes:
            for (const int z : active) {
                unite_extremes(frame.record(x, z), frame.record(y, z), source.pairs.ordered,
                               reading.error, frame.record(x, z), frame.record(z, x));
            }
            break;
        case Form::moving_extremes:
            merge_moving_extremes(frame, reading, x, y, active);
            break;
    }
}

Merging::Merging(const Source& source, Tree& tree, Costs& costs, Decider& decider, Trail& trail,
                 StopToken& stop)
    : source_(source),
      tree_(tree),
      costs_(costs),
      decider_(decider),
      trail_(trail),
      stop_(stop),
      keys_(at(tree.n_first)) {}

int Merging::guess(const View& view, int x) {
    const Reading& reading = view.reading;
    if (reading.form == Form::energy) {
        const auto count = static_cast<std::size_t>(n_active_);
        const auto place = std::lower_bound(active_, active_ + n_active_, x) - active_;
        return nearest_energy(view.frame, x, sizes_[static_cast<std::size_t>(place)],
                              {active_, count}, {sizes_.data(), count}, view.lane);
    }
    Glance glance{view.frame.row(x), view.frame.width, view.lane, 0, reading.sign};
    if (reading.form == Form::fixed_extremes) {
        glance.lane = reading.kind == Kind::maximum ? lane::max_low : lane::min_low;
        if (reading.kind == Kind::minmax) glance.other = lane::max_low;
    } else if (reading.kind == Kind::minmax) {
        glance.other = degree + view.lane;
    }
    return nearest_by(glance, x, active_, n_active_, keys_.data());
}

double Merging::size_of(const Slots& slots, int slot) const {
    return tree_.size[at(slots.node[at(slot)])];
}

void Merging::set_sizes(const Slots& slots) {
    active_ = slots.active.data();
    n_active_ = static_cast<int>(slots.active.size());
    if (source_.kind != Kind::energy) return;
    sizes_.resize(slots.active.size());
    for (std::size_t i = 0; i < sizes_.size(); ++i) sizes_[i] = size_of(slots, slots.active[i]);
}

Comparison Merging::comparison_of(const Slots& slots, const View& view, int row, int near,
                                  int rival) const {
    Comparison found{{view.frame.record(row, near), view.frame.record(row, rival)},
                     {slots.node[at(row)], slots.node[at(near)], slots.node[at(rival)]}};
    if (view.reading.form == Form::energy) {
        const double size = size_of(slots, row);
        found.records.near_within = within_pair(view.frame, row, near, size, size_of(slots, near));
        found.records.rival_within =
            within_pair(view.frame, row, rival, size, size_of(slots, rival));
    }
    return found;
}

Comparison Merging::open_comparison(const Level& level, const View& view, int row) const {
    const Obstacle& by = level.slots.obstacle[at(row)];
    return comparison_of(level.slots, view, row, by.near, by.rival);
}

// Sets what the values of (row, z) must exceed, or stay below if sign < 0.
void Merging::set_bars(const Slots& slots, const View& view, int row, int near) {
    const Reading& reading = view.reading;
    if (reading.form == Form::energy) {
        const auto within =
            within_pair(view.frame, row, near, size_of(slots, row), size_of(slots, near));
        energy_above(view.frame.record(row, near), within, reading.error, bars_.data());
        return;
    }
    const double factor = (1.0 + reading.error) / (1.0 - reading.error) * (1.0 + 16.0 * unit);
    const double* record = view.frame.record(row, near);
    const int count = reading.form == Form::fixed_extremes ? 2 : degree;
    for (int k = 0; k < count; ++k) {
        bars_[at(k)] = reading.sign > 0 ? upper_value(reading, record, k) * factor
                                        : lower_value(reading, record, k) / factor;
    }
}

// Position among the active slots, from `begin` on, of the next one that is not proved farther than
// the bars.
std::size_t Merging::next_doubtful(const Slots& slots, const View& view, int row,
                                   std::size_t begin) const {
    const std::vector<int>& active = slots.active;
    const double* records = view.frame.row(row);
    switch (view.reading.form) {
        case Form::average:
            return next_below(records, bars_.data(), view.reading.sign > 0 ? 0 : -1, active.data(),
                              begin, active.size());
        case Form::energy:
            return next_energy_below(view.frame, row, size_of(slots, row),
                                     {bars_.data(), active, sizes_, view.reading.error}, begin);
        case Form::fixed_extremes:
            return next_below_ends(records, bars_.data(), view.reading, active, begin);
        case Form::moving_extremes:
            break;
    }
    return next_below_enclosures(records, view.frame.width, bars_.data(), view.reading, active,
                                 begin);
}

void Merging::block(Level& level, int row, int near, int rival, bool crossing, const Zone& zone) {
    Slots& slots = level.slots;
    slots.blocked[at(row)] = crossing ? Obstacle::Kind::crossing : Obstacle::Kind::too_wide;
    Obstacle& obstacle = slots.obstacle[at(row)];
    obstacle.near = near;
    obstacle.rival = rival;
    obstacle.near_node = slots.node[at(near)];
    obstacle.rival_node = slots.node[at(rival)];
    obstacle.zone = zone_inside(zone, level.interval);
}

// Finds the nearest slot of a row for certain: nearer, or why that is not possible; the row is then
// blocked, unless that is hopeless.
Order Merging::resolve(Level& level, const View& view, int row) {
    Slots& slots = level.slots;
    int near = slots.nearest[at(row)], rival = -1;
    std::size_t switches = 0;
    Order order = Order::nearer;
    Zone zone;
    set_bars(slots, view, row, near);
    for (std::size_t j = 0;;) {
        j = next_doubtful(slots, view, row, j);
        if (j == slots.active.size()) break;
        const int z = slots.active[j++];
        if (z == row || z == near) continue;
        rival = z;
        order = decider_.decide(view, comparison_of(slots, view, row, near, z), zone);
        if (order == Order::nearer) continue;
        if (order != Order::farther) break;
        if (++switches > at(level.n_slots) + 2) {
            order = Order::too_wide;
            break;
        }
        rival = near;
        near = z;
        set_bars(slots, view, row, near);
        order = Order::nearer;
        j = 0;
    }
    slots.nearest[at(row)] = near;
    if (order == Order::nearer) {
        slots.resolved[at(row)] = 1;
        slots.unblock(row);
    } else if (order != Order::hopeless) {
        block(level, row, near, rival, order == Order::crossing, zone);
    }
    return order;
}

// Follows nearest neighbours from x on until two are proved nearest to each other; x becomes one.
Merging::Pair Merging::find_pair(Level& level, const View& view, int& x) {
    Slots& slots = level.slots;
    const std::size_t most = 2 * slots.active.size() + 2;
    for (std::size_t step = 0; step < most; ++step) {
        for (const bool other : {false, true}) {
            const int row = other ? slots.nearest[at(x)] : x;
            if (slots.resolved[at(row)]) continue;
            if (slots.blocked[at(row)] != Obstacle::Kind::none && slots.still_blocked(row)) {
                return Pair::blocked;
            }
            if (slots.nearest[at(row)] < 0) slots.nearest[at(row)] = guess(view, row);
            if (stop_.stop_requested()) return Pair::hopeless;
            const Order order = resolve(level, view, row);
            if (order == Order::hopeless) return Pair::hopeless;
            if (order != Order::nearer) return Pair::blocked;
        }
        const int y = slots.nearest[at(x)];
        if (slots.nearest[at(y)] == x) return Pair::merged;
        x = y;
    }
    return Pair::circle;
}

void Merging::merge(Level& level, const View& view, int x, int y) {
    Slots& slots = level.slots;
    const int a = slots.node[at(x)], b = slots.node[at(y)];
    const int node = level.n_nodes++;
    tree_.unite(node, a, b);
    costs_.unite(tree_, node);
    if (level.heights.width > 0) level.heights.take(node, view.frame, x, y);
    slots.take_out(y, x);
    slots.node[at(x)] = node;
    slots.node[at(y)] = -1;
    set_sizes(slots);
    if (n_active_ == 1) return;
    const Frame& frame = view.frame;
    trail_.save_row(level.choice, frame, x, slots.active);
    const std::array<double, 2> sizes{static_cast<double>(tree_.size[at(a)]),
                                      static_cast<double>(tree_.size[at(b)])};
    unite_slots(frame, source_, view.reading, {x, y}, sizes, slots.active);
}

Progress Merging::run(Level& level, const View& view) {
    Slots& slots = level.slots;
    set_sizes(slots);
    bool fresh = true;  // are all guesses from this interval?
    for (const int x : slots.active) fresh = fresh && slots.nearest[at(x)] < 0;
    bool progress = true, forced = false;
    while (slots.active.size() > 1 && (progress || !fresh || (view.is_point && !forced))) {
        // At a point guesses that go round in a circle are made sure of, one by one.
        forced = !progress && fresh;
        if (!progress) {
            // Guesses from the interval above may hide a pair: guess again, once.
            for (const int x : slots.active) {
                if (!slots.resolved[at(x)]) slots.nearest[at(x)] = -1;
            }
            fresh = true;
        }
        progress = false;
        std::size_t i = 0;
        while (i < slots.active.size()) {
            int x = slots.active[i++];
            if (slots.blocked[at(x)] != Obstacle::Kind::none) {
                if (slots.still_blocked(x)) continue;
                slots.unblock(x);
            }
            if (slots.nearest[at(x)] < 0) slots.nearest[at(x)] = guess(view, x);
            const int y = slots.nearest[at(x)];
            if (slots.nearest[at(y)] < 0) slots.nearest[at(y)] = guess(view, y);
            if (!slots.resolved[at(x)] && slots.nearest[at(y)] != x && !forced) continue;
            const Pair pair = find_pair(level, view, x);
            if (pair == Pair::hopeless) return Progress::unknown;
            if (pair == Pair::circle && !view.is_point) return Progress::impossible;
            if (pair != Pair::merged) continue;
            progress = true;
            merge(level, view, x, slots.nearest[at(x)]);
            if (slots.active.size() == 1) break;
            if (i > slots.active.size()) i = 0;
        }
    }
    if (slots.active.size() == 1) return Progress::done;
    return row_to_split(level) >= 0 ? Progress::zone : Progress::plain;
}

int Merging::row_to_split(const Level& level) {
    const double middle = level.interval.low + 0.5 * level.interval.width();
    double distance = infinity;
    int chosen = -1;
    for (const int x : level.slots.active) {
        if (level.slots.blocked[at(x)] != Obstacle::Kind::crossing ||
            !level.slots.still_blocked(x)) {
            continue;
        }
        const Zone& zone = level.slots.obstacle[at(x)].zone;
        const double away = std::abs(0.5 * (zone.low + zone.high) - middle);
        if (away < distance) {
            distance = away;
            chosen = x;
        }
    }
    return chosen;
}

}  // namespace certune::linkage
