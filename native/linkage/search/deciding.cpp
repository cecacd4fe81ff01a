#include "linkage/search/deciding.h"

#include "linkage/finish/polish.h"

namespace certune::linkage {

namespace {

constexpr double ask_below = 1e-9;       // models this accurate that cannot tell suggest a tie
constexpr double wide_in_narrow = 0.05;  // share that a zone may have without a question

}  // namespace

View::View(const Level& level, const Frame& own_frame, bool point)
    : frame(own_frame),
      reading(level.reading),
      interval(level.interval),
      may_tie(level.may_tie),
      is_point(point) {
    look_at(level.frame_interval);
}

View::View(const Level& level, const Heights& heights, bool point)
    : reading(heights.reading), interval(level.interval), may_tie(level.may_tie), is_point(point) {
    look_at(heights.interval);
}

void View::look_at(Interval whole) {
    double share_low = 0.0, share_high = 1.0;
    if (whole.high > whole.low) {
        share_low = (interval.low - whole.low) / whole.width();
        share_high = (interval.high - whole.low) / whole.width();
    }
    cut_low = interval.low > whole.low;
    cut_high = interval.high < whole.high;
    lane = static_cast<int>(0.5 * (share_low + share_high) * (degree - 1) + 0.5);
    if (is_polynomial(reading.form) && (cut_low || cut_high)) {
        window = Restriction(share_low, share_high);
    }
}

// Compares on the interval by the models alone.
Evidence Decider::weigh(const View& view, const RecordPair& records, Order& order) const {
    Evidence evidence(view.reading, records);
    order = evidence.verdict();
    if (!(view.cut_low || view.cut_high) || is_settled(order)) return evidence;
    if (is_polynomial(view.reading.form)) {
        evidence.restrict_to(view.window);
    } else {
        if (view.cut_low) evidence.move_end(view.reading, records, false, view.interval.low);
        if (view.cut_high) evidence.move_end(view.reading, records, true, view.interval.high);
    }
    order = evidence.verdict();
    return evidence;
}

bool Decider::is_same(const Reading& reading, const Comparison& comparison) const {
    if (!is_polynomial(reading.form)) return same_extremes(reading, comparison.records);
    if (reading.form == Form::energy) return same_energies(tree_, comparison.nodes, source_.pairs);
    return same_averages(tree_, comparison.nodes, source_.pairs.codes);
}

Answer Decider::ask(Question question, const Rivals& nodes) {
    mark_members(tree_, nodes, marks_);
    question.marks = marks_;
    // Nothing is asked any more once the search is to end: an exception may be waiting.
    if (stop_.stop_requested()) return {Answer::Kind::hopeless, 0, {}};
    return exact_.ask(question);
}

// Lets the exact layer compare; too_wide if it cannot. If the order changes once, the zone says
// where.
Order Decider::inquire(Question::Kind kind, const View& view, const Comparison& comparison,
                       Zone& zone) {
    const Answer answer = ask({kind, view.interval, 0, {}}, comparison.nodes);
    return order_of(answer, view, comparison, zone);
}

Order Decider::order_of(const Answer& answer, const View& view, const Comparison& comparison,
                        Zone& zone) {
    switch (answer.kind) {
        case Answer::Kind::hopeless:
            return Order::hopeless;
        case Answer::Kind::unknown:
            return Order::too_wide;
        case Answer::Kind::crosses: {
            const double width = view.interval.width();
            zone = {std::max(0.0, (answer.zone.low - view.interval.low) / width),
                    std::min(1.0, (answer.zone.high - view.interval.low) / width), answer.order,
                    -answer.order};
            return Order::crossing;
        }
        case Answer::Kind::order:
            break;
    }
    settled.add(view.reading, comparison.records, comparison.nodes, answer.order);
    const bool wins = answer.order == 0 ? tie_prefers(tree_, comparison.nodes) : answer.order > 0;
    return linkage::order_of(wins);
}

// Models see no difference at all.
Order Decider::decide_tie(const View& view, const Comparison& comparison, bool wins_ties,
                          Zone& zone) {
    if (is_same(view.reading, comparison)) return linkage::order_of(wins_ties);
    if (view.reading.error > ask_below && !view.is_point) return Order::too_wide;
    if (is_polynomial(view.reading.form)) {
        const auto known =
            settled.order_of_same_difference(source_.kind, tree_, comparison.nodes, source_.pairs);
        if (known != Settled::Known::nothing) return decided(known, wins_ties);
    }
    const auto kind = view.is_point ? Question::Kind::at_point : Question::Kind::on_interval;
    return inquire(kind, view, comparison, zone);
}

// The order changes in the zone, as far as models tell.
Order Decider::decide_crossing(const View& view, const Comparison& comparison, Zone& zone) {
    const Interval& interval = view.interval;
    if (exact_.is_quick()) {
        mark_members(tree_, comparison.nodes, marks_);
        const Answer answer =
            exact_.ask_quickly({Question::Kind::narrow_zone, interval, 0, marks_});
        Zone found;
        const Order order = order_of(answer, view, comparison, found);
        if (is_settled(order)) return order;
        if (order == Order::crossing && found.low > 0.0 && found.high < 1.0) {
            zone = found;
            return order;
        }
    }
    for (const bool high_end : {false, true}) {
        const bool touches = high_end ? zone.high >= 1.0 : zone.low <= 0.0;
        if (!touches || !view.may_tie[high_end ? 1 : 0]) continue;
        const double end = high_end ? interval.high : interval.low;
        mark_members(tree_, comparison.nodes, marks_);
        if (!may_tie(view.reading.kind, source_.pairs, marks_, end)) continue;
        // Only the zone is in question: elsewhere the order is proved.
        Question question;
        question.interval = interval;
        if (high_end) {
            question.kind = Question::Kind::at_high_end;
            question.expected = zone.before;
            question.interval.low =
                std::max(interval.low, interval.low + (1.01 * zone.low - 0.01) * interval.width());
        } else {
            question.kind = Question::Kind::at_low_end;
            question.expected = zone.after;
            question.interval.high =
                std::min(interval.high, interval.low + 1.01 * zone.high * interval.width());
        }
        const Answer answer = ask(question, comparison.nodes);
        if (answer.kind == Answer::Kind::hopeless) return Order::hopeless;
        if (answer.kind != Answer::Kind::order) continue;
        settled.add(view.reading, comparison.records, comparison.nodes, answer.order);
        return answer.order == 0 ? Order::crossing : linkage::order_of(answer.order > 0);
    }
    if (is_narrow(interval) && zone.high - zone.low >= wide_in_narrow &&
        view.reading.error <= ask_below) {
        const Order order = inquire(Question::Kind::narrow_zone, view, comparison, zone);
        return order == Order::too_wide ? Order::crossing : order;
    }
    return Order::crossing;
}

Order Decider::decide(const View& view, const Comparison& comparison, Zone& zone) {
    const auto& [records, nodes] = comparison;
    Order order;
    const Evidence evidence = weigh(view, records, order);
    if (is_settled(order)) return order;
    const bool wins_ties = tie_prefers(tree_, nodes);
    auto known = settled.order_of(view.reading, records, nodes);
    if (known != Settled::Known::nothing) return decided(known, wins_ties);
    if (order == Order::too_wide) return decide_tie(view, comparison, wins_ties, zone);
    order = view.reading.form == Form::fixed_extremes
                ? locate_extremes(view.reading, records, view.interval, evidence, zone)
                : locate(evidence, zone);
    if (order != Order::crossing) return order;
    if (is_polynomial(view.reading.form) && (zone.low <= 0.0 || zone.high >= 1.0)) {
        known = settled.order_of_same_difference(source_.kind, tree_, nodes, source_.pairs);
        if (known != Settled::Known::nothing) return decided(known, wins_ties);
    }
    return decide_crossing(view, comparison, zone);
}

}  // namespace certune::linkage
