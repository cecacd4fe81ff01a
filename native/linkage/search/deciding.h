#pragma once

// One comparison of cluster pairs, decided by everything there is.
//
// First the models, on the part of the frame's interval that is looked at; then what is settled on
// this branch; then identity of the two functions; then the exact layer. What is left changes its
// order inside the interval, or needs a narrower one.

#include <algorithm>
#include <cmath>
#include <vector>

#include "linkage/compare/evidence.h"
#include "linkage/compare/identities.h"
#include "linkage/search/exact_layer.h"
#include "linkage/search/level.h"
#include "linkage/tree/tree.h"
#include "stop_token.h"

namespace certune::linkage {

// Relative width of intervals that are cut no further.
inline constexpr double narrow = 0x1p-42;
inline bool is_narrow(Interval interval) {
    return interval.width() <= narrow * std::max(1.0, std::abs(interval.low));
}

// Records as they are looked at: which part of their interval counts.
struct View {
    Frame frame;
    const Reading& reading;
    Interval interval;
    std::array<bool, 2> may_tie;
    bool is_point = false;
    bool cut_low = false;  // does the interval start inside that of the frame?
    bool cut_high = false;
    int lane = 0;        // coefficient near the middle of the interval
    Restriction window;  // of averages, to the interval

    View(const Level& level, const Frame& frame, bool is_point);
    // Heights of the level's nodes.
    View(const Level& level, const Heights& heights, bool is_point);

   private:
    void look_at(Interval whole);
};

// Two records and their nodes: is (row, near) nearer than its rival?
struct Comparison {
    RecordPair records;
    Rivals nodes;
};

class Decider {
   public:
    Decider(const Source& source, const Tree& tree, ExactLayer& exact, StopToken& stop)
        : source_(source),
          tree_(tree),
          exact_(exact),
          stop_(stop),
          marks_(static_cast<std::size_t>(tree.n_points)) {}

    Settled settled;

    // For Order::crossing, the zone (in shares of the interval) holds every change.
    Order decide(const View& view, const Comparison& comparison, Zone& zone);

   private:
    Order decide_tie(const View& view, const Comparison& comparison, bool wins_ties, Zone& zone);
    Order decide_crossing(const View& view, const Comparison& comparison, Zone& zone);
    Evidence weigh(const View& view, const RecordPair& records, Order& order) const;
    bool is_same(const Reading& reading, const Comparison& comparison) const;
    Answer ask(Question question, const Rivals& nodes);
    Order inquire(Question::Kind kind, const View& view, const Comparison& comparison, Zone& zone);
    Order order_of(const Answer& answer, const View& view, const Comparison& comparison,
                   Zone& zone);

    const Source& source_;
    const Tree& tree_;
    ExactLayer& exact_;
    StopToken& stop_;
    std::vector<std::uint8_t> marks_;
};

}  // namespace certune::linkage
