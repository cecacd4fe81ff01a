#include "linkage/following/outlook.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "linkage/models/fixed_extremes.h"
#include "numeric/simd8.h"

namespace certune::linkage {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace

double end_value(const Reading& reading, const double* record, bool high_end) {
    const int end = high_end ? 1 : 0;
    if (reading.kind == Kind::minmax) return record[end] + record[lane::max_low + end];
    return reading.kind == Kind::minimum ? record[end] : record[lane::max_low + end];
}

EndBars::EndBars(const Panel& panel, const double* own)
    : low(end_value(panel.reading, own, false) * panel.factor),
      high(end_value(panel.reading, own, true) * panel.factor) {}

double Glimpse::value(const Panel& panel, const double* record) const {
    const Reading& reading = panel.reading;
    if (reading.form == Form::average) {
        if (share == 0.0) return reading.sign * record[0];
        return reading.sign * simd8::dot(record, basis.data());
    }
    if (share == 0.0 || share == 1.0) {
        return reading.sign * end_value(reading, record, share == 1.0);
    }
    const double alpha = reading.power.at(panel.interval.low + share * panel.interval.width());
    return reading.sign * value_inside(reading, record, alpha);
}

void RestOfPanel::forget() { is_set_ = false; }

void RestOfPanel::set(const Panel& panel, double t) {
    if (is_set_ && t_ == t) return;
    is_set_ = true;
    t_ = t;
    inside_ = t > panel.interval.low;
    const double share = panel.share_of(t);
    auto& window = window_.matrix;
    window.fill(0.0);
    for (std::size_t source = 0; source < degree; ++source) window[source * degree + source] = 1.0;
    // De Casteljau's algorithm on all unit vectors at once.
    for (std::size_t r = 1; r < degree; ++r) {
        for (std::size_t k = 0; k < degree - r; ++k) {
            for (std::size_t source = 0; source < degree; ++source) {
                const std::size_t at = source * degree + k;
                window[at] = (1.0 - share) * window[at] + share * window[at + 1];
            }
        }
    }
}

// Convex combinations of positive numbers: the relative error grows by 8 degree roundings at most.
CERTUNE_HOT void RestOfPanel::restrict(const double* record, double* target) const {
    if (inside_) {
        simd8::transform(record, window_.matrix.data(), target, target);
    } else {
        simd8::copy(record, target);
    }
}

void RestOfPanel::set_own(const double* own) { restrict(own, own_.data()); }

// The polynomial lies above the lower convex hull of its control points; its first zero is the
// answer.
double RestOfPanel::until(const Panel& panel, const double* rival, double limit) {
    const Reading& reading = panel.reading;
    std::array<double, degree> other, work;
    restrict(rival, other.data());
    if (!simd8::any_below_scaled(other.data(), own_.data(), panel.inner_factor, panel.flip)) {
        return infinity;
    }
    const double error = reading.error + 8.0 * (degree + 1) * unit;
    const auto& far = reading.sign > 0 ? other : own_;
    const auto& near = reading.sign > 0 ? own_ : other;
    simd8::blend(far.data(), 1.0 - error, near.data(), -1.0 - error, work.data(), work.data());
    if (!(work[0] > 0.0)) return -infinity;
    double steepest = 0.0;
    for (std::size_t k = 0; k + 1 < degree; ++k) {
        steepest = std::max(steepest, work[k] - work[k + 1]);
    }
    const double rest = panel.interval.high - t_;
    if (work[0] * rest > (degree - 1) * steepest * (limit - t_) * (1.0 + 0x1p-40)) {
        return infinity;
    }
    for (std::size_t i = 0; i + 1 < degree;) {
        double slope = infinity;
        std::size_t following = i;
        for (std::size_t k = i + 1; k < degree; ++k) {
            const double here = (work[k] - work[i]) / static_cast<double>(k - i);
            if (here < slope) {
                slope = here;
                following = k;
            }
        }
        if (work[following] <= 0.0) {
            const double share = (static_cast<double>(i) - work[i] / slope) / (degree - 1);
            return t_ + share * (1.0 - 0x1p-40) * rest;
        }
        i = following;
    }
    return infinity;
}

double until_extremes(const Panel& panel, const RecordPair& pair, double t, double reach, int tries,
                      const EndBars& bars) {
    const Reading& reading = panel.reading;
    const bool below = reading.sign * (end_value(reading, pair.rival, false) - bars.low) > 0.0;
    const bool above = reading.sign * (end_value(reading, pair.rival, true) - bars.high) > 0.0;
    if (below && above) return infinity;
    if (!below) return above && order_at(reading, pair, t) > 0 ? infinity : -infinity;
    for (int i = 0; i < tries; ++i) {
        if (order_at(reading, pair, reach) > 0) return reach;
        reach = t + 0.25 * (reach - t);
    }
    return -infinity;
}

Judgement judge(const Panel& panel, const RecordPair& pair, double t) {
    const Reading& reading = panel.reading;
    const double stop = panel.part.high;
    Evidence evidence(reading, pair);
    Order order = evidence.verdict();
    const bool inside = t > panel.interval.low || stop < panel.interval.high;
    if (inside && !is_settled(order)) {
        if (reading.form == Form::average) {
            evidence.restrict_to(panel.share_of(t), panel.share_of(stop));
        } else {
            evidence.move_end(reading, pair, false, t);
        }
        order = evidence.verdict();
    }
    const double rest = stop - t;
    Zone zone;
    if (order == Order::crossing) {
        order = reading.form == Form::average
                    ? locate(evidence, zone)
                    : locate_extremes(reading, pair, {t, stop}, evidence, zone);
    }
    if (order == Order::nearer) return {Outlook::holds, stop, stop, 0};
    if (order == Order::farther) return {Outlook::wrong, t, t, 0};
    if (order == Order::too_wide) {
        if (reading.form == Form::average && evidence.nearer[0] > 0.0) {
            double part = 0.5;
            for (int i = 0; i < finest; ++i, part *= 0.5) {
                if (is_positive(evidence.nearer, 0.0, part)) {
                    return {Outlook::again, t + part * rest, stop, 0};
                }
            }
        }
        return {evidence.farther[0] > 0.0 ? Outlook::wrong : Outlook::unclear, t, stop, 0};
    }
    const double low = t + zone.low * rest;
    const double high = std::min(stop, t + zone.high * rest);
    if (zone.low <= 0.0) return {Outlook::unclear, t, high, zone.after};
    if (zone.before < 0) return {Outlook::wrong, t, t, zone.after};
    return {zone.high >= 1.0 ? Outlook::again : Outlook::fails, low, high, zone.after};
}

}  // namespace certune::linkage
