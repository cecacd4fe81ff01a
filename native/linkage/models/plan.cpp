#include "linkage/models/plan.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace certune::linkage {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double largest_error = 1e-2;  // models with larger ones are of no use

constexpr int most_equal = 32;  // panels of equal widths where distances move
constexpr double most_panels = 1e6;
constexpr double shortest = 0x1p-40;  // panels, as a share of the whole, where widths differ

// Interval of the models: that of the panel, or a centred one around a zero of alpha.
Interval model_interval(const Affine& power, bool box_cox, Interval interval) {
    if (!box_cox || power.slope == 0.0) return interval;
    const double zero = -power.value / power.slope;
    const double reach = std::max(std::abs(interval.low - zero), std::abs(interval.high - zero));
    return {zero - reach, zero + reach};
}

// Cuts a segment into panels.
class Cutter {
   public:
    Cutter(const PairFunctions& pairs, std::span<const std::int64_t> labels, double tolerance,
           StopToken& stop)
        : pairs_(pairs), labels_(labels), tolerance_(tolerance), stop_(stop) {}

    std::vector<double> edges(Interval whole) {
        if (pairs_.mode != Mode::moving) extent_ = extent_of_pairs(pairs_, labels_, whole);
        const Affine& power = pairs_.power;
        if (pairs_.mode == Mode::affine || power.slope == 0.0 || !pairs_.box_cox) {
            const bool vanishes = power.slope == 0.0 && power.value == 0.0;
            return cut(pairs_.mode != Mode::affine && pairs_.box_cox && vanishes, whole);
        }
        const double zero = -power.value / power.slope;
        double reach = std::max(std::abs(whole.high - zero), std::abs(whole.low - zero));
        while (reach > 1e-12 && !(error(true, {zero - reach, zero + reach}) <= tolerance_) &&
               !stop_.stop_requested()) {
            reach *= 0.85;
        }
        const double start = std::max(whole.low, zero - reach);
        const double stop = std::min(whole.high, zero + reach);
        if (start >= stop) return cut(false, whole);
        std::vector<double> found;
        if (whole.low < start) {
            found = cut(false, {whole.low, start});
            found.pop_back();
        }
        found.push_back(start);
        found.push_back(stop);
        if (stop < whole.high) {
            const auto after = cut(false, {stop, whole.high});
            found.insert(found.end(), after.begin() + 1, after.end());
        }
        return found;
    }

   private:
    double error(bool box_cox, Interval panel) const {
        Extent extent = extent_;
        if (pairs_.mode == Mode::moving) {
            extent = extent_of_pairs(pairs_, labels_, panel);
            if (!(extent.smallest > 0.0)) return infinity;
        }
        return error_of_models(pairs_, labels_, box_cox, extent, panel).error;
    }

    // Largest error on so many panels of equal widths: that of one of the outer ones.
    double error_of_cut(bool box_cox, Interval whole, double count) const {
        const double step = whole.width() / count;
        return std::max(error(box_cox, {whole.low, whole.low + step}),
                        error(box_cox, {whole.low + (count - 1.0) * step, whole.high}));
    }

    std::vector<double> cut(bool box_cox, Interval whole) {
        if (pairs_.mode == Mode::moving && error_of_cut(box_cox, whole, most_equal) > tolerance_) {
            return cut_by_steps(box_cox, whole);
        }
        // The error of the inputs stays, however narrow panels are.
        const double narrowest = error_of_cut(box_cox, whole, most_panels);
        const double tolerance = std::max(tolerance_, 2.0 * narrowest);
        double count = 1.0;
        while (narrowest < infinity && count < most_panels && !stop_.stop_requested()) {
            if (error_of_cut(box_cox, whole, std::trunc(count)) <= tolerance) break;
            count = std::max(count + 1.0, count * 1.2);
        }
        const auto n_panels = static_cast<std::size_t>(count);
        std::vector<double> found(n_panels + 1);
        for (std::size_t i = 0; i <= n_panels; ++i) {
            found[i] = whole.low +
                       whole.width() * (static_cast<double>(i) / static_cast<double>(n_panels));
        }
        found.back() = whole.high;
        return found;
    }

    // Panels as wide as the tolerance allows, or nearly so. Where a moving distance is far smaller
    // than others it grows by factors in no time; panels there would be too narrow for the rest.
    std::vector<double> cut_by_steps(bool box_cox, Interval whole) {
        double tolerance = tolerance_;
        double step = whole.width();
        std::vector<double> found{whole.low};
        while (found.back() < whole.high && !stop_.stop_requested()) {
            const double edge = found.back();
            step = std::min(2.0 * step, whole.high - edge);
            double here = error(box_cox, {edge, edge + step});
            while (here > tolerance && step > shortest * whole.width() && !stop_.stop_requested()) {
                step *= 0.5;
                here = error(box_cox, {edge, edge + step});
            }
            // The error of the inputs stays, however narrow panels are.
            if (here > tolerance) tolerance = 2.0 * here;
            const double next = edge + step;
            found.push_back(edge < next && next < whole.high ? next : whole.high);
        }
        return found;
    }

    const PairFunctions& pairs_;
    std::span<const std::int64_t> labels_;
    double tolerance_;
    StopToken& stop_;
    Extent extent_;
};

}  // namespace

int order_sign(const Affine& power, bool box_cox, Interval interval) {
    if (box_cox) return 1;
    return power.at(interval.low + 0.5 * interval.width()) > 0.0 ? 1 : -1;
}

bool needs_box_cox(const PairFunctions& pairs, double span, Interval interval) {
    if (pairs.mode == Mode::affine || !pairs.box_cox) return false;
    const double first = pairs.power.at(interval.low), last = pairs.power.at(interval.high);
    if ((first <= 0.0 && 0.0 <= last) || (last <= 0.0 && 0.0 <= first)) return true;
    return std::min(std::abs(first), std::abs(last)) * (1.0 + span) < 0.05;
}

double shift_error(const PairFunctions& pairs, double span, Interval interval) {
    const double rate = pairs.mode == Mode::affine
                            ? 1.0
                            : span * (std::abs(pairs.power.value) + std::abs(pairs.power.slope));
    return 16.0 * unit * (1.0 + std::abs(interval.low) + std::abs(interval.high)) * (1.0 + rate);
}

ModelError error_of_models(const PairFunctions& pairs, std::span<const std::int64_t> labels,
                           bool box_cox, Extent extent, Interval interval) {
    auto [smallest, largest] = extent;
    if (!(smallest <= largest)) return {0.0, 0.0};
    const int n = static_cast<int>(labels.size());
    const double half = 0.5 * interval.width();
    const double centre = interval.low + half;
    const double at_centre = pairs.power.at(centre);
    const double power_rate = std::abs(pairs.power.slope);
    const double reach = std::abs(at_centre) + power_rate * half;
    ExponentBound bound;
    bound.half_width = half;
    if (pairs.mode == Mode::affine) {
        bound.rate = 0.5 * (largest - smallest);
        const double error = pairs.input_error + 8.0 * unit;
        return {model_error(bound, n, error), 0.5 * (smallest + largest)};
    }
    if (pairs.mode == Mode::moving) {
        smallest = std::log(smallest);
        largest = std::log(largest);
    }
    const double scale = box_cox ? smallest - 1.0 : 0.5 * (smallest + largest);
    const double size = std::max(std::abs(largest - scale), std::abs(smallest - scale));
    if (pairs.mode == Mode::power) {
        bound.rate = power_rate * size;
        const double error = pairs.input_error * (1.0 + reach) + 8.0 * unit * (2.0 + reach * size);
        return {model_error(bound, n, error), scale};
    }
    for (std::size_t a = 0; a < labels.size(); ++a) {
        const auto first = pairs.first.row(a), second = pairs.second.row(a);
        for (std::size_t b = 0; b < a; ++b) {
            if (labels[a] != labels[b]) {
                bound.ratio =
                    std::max(bound.ratio, std::abs(second[b]) / (first[b] + centre * second[b]));
            }
        }
    }
    bound.power = box_cox ? 1.0 : std::abs(at_centre);
    bound.power_rate = power_rate;
    bound.log_size = size;
    const double error = pairs.input_error * (1.0 + reach) + 16.0 * unit * (1.0 + reach * size);
    return {model_error(bound, n, error), scale};
}

ModelPlan plan_models(const Source& source, std::span<const std::int64_t> labels,
                      Interval interval) {
    const PairFunctions& pairs = source.pairs;
    const Affine& power = pairs.power;
    ModelPlan plan;
    plan.box_cox = needs_box_cox(pairs, source.span, interval);
    plan.interval = model_interval(power, plan.box_cox, interval);
    Extent extent = source.extent;
    if (pairs.mode == Mode::moving) {
        extent = extent_of_pairs(pairs, labels, plan.interval);
        if (plan.box_cox && !(extent.smallest > 0.0)) {
            plan.box_cox = !(power.at(interval.low) * power.at(interval.high) > 0.0);
            plan.interval = model_interval(power, plan.box_cox, interval);
            extent = extent_of_pairs(pairs, labels, plan.interval);
        }
    }
    plan.sign = order_sign(power, plan.box_cox, interval);
    if (pairs.mode == Mode::moving && !(extent.smallest > 0.0)) {
        plan.error = infinity;
        return plan;
    }
    const auto [error, scale] = error_of_models(pairs, labels, plan.box_cox, extent, plan.interval);
    plan.error = error < largest_error ? error : infinity;
    plan.scale = scale;
    return plan;
}

std::vector<double> panel_edges(const PairFunctions& pairs, std::span<const std::int64_t> labels,
                                Interval interval, double tolerance, StopToken& stop) {
    return Cutter(pairs, labels, tolerance, stop).edges(interval);
}

}  // namespace certune::linkage
