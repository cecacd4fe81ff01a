#include "linkage/search/level.h"

#include <algorithm>

#include "numeric/simd8.h"

namespace certune::linkage {

void Slots::resize(std::size_t count) {
    if (node.size() >= count) return;
    node.resize(count);
    nearest.resize(count);
    resolved.resize(count);
    blocked.resize(count);
    obstacle.resize(count);
}

void Slots::take_out(int y, int x) {
    nearest[at(x)] = -1;
    resolved[at(x)] = 0;
    std::size_t kept = 0;
    for (const int z : active) {
        if (z == y) continue;
        active[kept++] = z;
        const int near = nearest[at(z)];
        if (near == x || near == y) {
            nearest[at(z)] = -1;
            resolved[at(z)] = 0;
        }
    }
    active.resize(kept);
}

void Heights::take(int node, const Frame& frame, int x, int y) {
    double* target = std::copy_n(frame.record(x, y), frame.width, of(node));
    if (reading.form == Form::energy) {
        target = std::copy_n(frame.record(x, x), degree, target);
        std::copy_n(frame.record(y, y), degree, target);
    }
    known[static_cast<std::size_t>(node)] = 1;
}

void Heights::restrict_to(Interval part) {
    const Restriction matrix(std::max(0.0, (part.low - interval.low) / interval.width()),
                             std::min(1.0, (part.high - interval.low) / interval.width()));
    for (std::size_t node = 0; node < known.size(); ++node) {
        if (known[node] == 0) continue;
        double* record = of(static_cast<int>(node));
        for (int i = 0; i < width; i += degree) {
            simd8::transform(record + i, matrix.matrix.data(), record + i, record + i);
        }
    }
    interval = part;
    reading.error += restriction_error;
}

void Level::begin_part(const Level& above, bool to_left, const LeafStore& found) {
    const std::size_t side = to_left ? 1 : 0;  // the end at which the interval is cut
    double edge = above.position;
    if (above.cut != no_split) {
        const Zone& zone = found.split(above.cut).zone;
        edge = to_left ? zone.high : zone.low;
    }
    interval = above.interval;
    (to_left ? interval.high : interval.low) = edge;
    splits = above.splits;
    may_tie = above.may_tie;
    const bool reaches = to_left ? edge >= above.interval.high : edge <= above.interval.low;
    may_tie[side] = may_tie[side] && reaches;
    n_settled = above.n_settled;
    if (above.cut != no_split) {
        splits[side] = above.cut;
        ++n_settled;
    }
    at_end = above.at_end;
    in_narrow = above.in_narrow;
    stage = Stage::merging;
    n_nodes = above.n_nodes;
    reading = above.reading;
    built = above.built;
    if (above.heights.width > 0) heights = above.heights;
}

void Level::share_frame(const Level& above, std::int64_t open_choice) {
    offset = above.offset;
    n_slots = above.n_slots;
    frame_interval = above.frame_interval;
    choice = open_choice;
    slots.resize(static_cast<std::size_t>(n_slots));
    const Slots& old = above.slots;
    slots.active = old.active;
    for (const int slot : old.active) {
        const auto x = Slots::at(slot);
        slots.node[x] = old.node[x];
        slots.nearest[x] = old.nearest[x];
        slots.resolved[x] = old.resolved[x];
        slots.blocked[x] = Obstacle::Kind::none;
        const Zone& zone = old.obstacle[x].zone;
        // A change of order strictly inside is one of this part as well.
        if (old.blocked[x] == Obstacle::Kind::crossing && interval.low < zone.low &&
            zone.high < interval.high && old.still_blocked(slot)) {
            slots.blocked[x] = Obstacle::Kind::crossing;
            slots.obstacle[x] = old.obstacle[x];
        }
    }
}

void Level::renumber_slots(const Level& above, int width) {
    const Slots& old = above.slots;
    const auto above_slots = static_cast<std::size_t>(above.n_slots);
    offset = above.offset + static_cast<std::size_t>(width) * above_slots * above_slots;
    n_slots = static_cast<int>(old.active.size());
    frame_interval = interval;
    choice = 0;
    slots.resize(old.active.size());
    slots.active.resize(old.active.size());
    std::vector<int> place(above_slots, -1);
    for (int i = 0; i < n_slots; ++i) place[Slots::at(old.active[Slots::at(i)])] = i;
    for (int i = 0; i < n_slots; ++i) {
        const auto own = Slots::at(i), x = Slots::at(old.active[own]);
        const int guess = old.nearest[x];
        slots.active[own] = i;
        slots.node[own] = old.node[x];
        slots.nearest[own] = guess >= 0 ? place[Slots::at(guess)] : -1;
        slots.resolved[own] = old.resolved[x];
        slots.blocked[own] = Obstacle::Kind::none;
    }
}

void Trail::save_row(std::int64_t choice, const Frame& frame, int x, std::span<const int> active) {
    auto& saved = saved_[static_cast<std::size_t>(x)];
    if (choice == 0 || saved == choice) return;
    saved = choice;
    const auto save = [&](int z) {
        places_.push_back({x, z});
        simd8::copy(frame.record(x, z), records_.emplace_back().data());
    };
    save(x);
    for (const int z : active) {
        if (z != x) save(z);
    }
}

void Trail::rewind(std::size_t mark, const Frame& frame) {
    while (places_.size() > mark) {
        const auto [x, z] = places_.back();
        simd8::copy(records_.back().data(), frame.record(x, z));
        simd8::copy(records_.back().data(), frame.record(z, x));
        places_.pop_back();
        records_.pop_back();
    }
}

}  // namespace certune::linkage
