#include "linkage/finish/polish.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "linkage/models/differences.h"

namespace certune::linkage {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr int most_rounds = 64;
constexpr int most_steps = 60;

// Coefficients of powers of u - origin, and a bound of the error of their sum.
struct Shifted {
    Taylor coefficients;
    double error = 0.0;

    Shifted(const Taylor& source, double origin) : coefficients(source) {
        if (origin == 0.0) return;
        double size = 0.0;
        for (std::size_t k = 0; k < terms; ++k) {
            size += static_cast<double>(k + 1) * std::abs(source[k]);
        }
        for (std::size_t i = 0; i + 1 < terms; ++i) {
            for (std::size_t k = terms - 1; k-- > i;) {
                coefficients[k] += origin * coefficients[k + 1];
            }
        }
        error = 4.0 * terms * unit * size;
    }
};

// 1 or -1 if the polynomial is proved monotone between two places in [-1, 1], else 0.
int direction_between(const Taylor& coefficients, double start, double stop) {
    const Shifted around(coefficients, 0.5 * (start + stop));
    const double reach = 0.5 * std::abs(stop - start) * (1.0 + 1e-9) + 8.0 * unit;
    double bend = terms * around.error, power = 1.0;
    for (std::size_t k = 2; k < terms; ++k) {
        power *= reach;
        bend += static_cast<double>(k) * std::abs(around.coefficients[k]) * power;
    }
    if (std::abs(around.coefficients[1]) <= bend * (1.0 + 1e-12)) return 0;
    return around.coefficients[1] > 0.0 ? 1 : -1;
}

// How far from `start`, in the direction `inwards`, the model surely keeps its sign.
double free_reach(const DifferenceModel& model, double start, double inwards, double sign) {
    const Shifted around(model.coefficients, start);
    const double lost = around.error;
    const double spare = sign * around.coefficients[0] - model.error - lost;
    if (spare <= 0.0) return 0.0;
    const double steep = std::max(0.0, -sign * inwards * around.coefficients[1]) + lost;
    double bend = 1e-300;
    for (std::size_t k = 2; k < terms; ++k) bend += std::abs(around.coefficients[k]) + lost;
    const double zero = 2.0 * spare / (steep + std::sqrt(steep * steep + 4.0 * bend * spare));
    return 0.9 * std::min(1.0, zero);
}

// Where a monotone model changes sign: Newton's method, then proved signs on both sides.
Interval enclose_root(const DifferenceModel& model, Interval zone, double order_left) {
    double least = std::min(model.place(zone.low), model.place(zone.high));
    double most = std::max(model.place(zone.low), model.place(zone.high));
    const double falling = model.slope > 0.0 ? order_left : -order_left;
    double u = model.place(0.5 * (zone.low + zone.high));
    auto [value, slope] = model.evaluated(u);
    for (int i = 0; i < most_steps; ++i) {
        (value * falling > 0.0 ? least : most) = u;
        double next = slope != 0.0 ? u - value / slope : infinity;
        if (!(least <= next && next <= most)) next = 0.5 * (least + most);
        const double moved = std::abs(next - u);
        u = next;
        std::tie(value, slope) = [&] {
            const auto found = model.evaluated(u);
            return std::pair(found.value, found.slope);
        }();
        if (moved <= 4.0 * unit) break;
    }
    if (slope == 0.0) return zone;
    const double root = (u / model.scale - model.origin) / model.slope;
    const double reach =
        1.01 * (model.error + std::abs(value)) / std::abs(slope * model.scale * model.slope) +
        2.0 * unit * std::abs(root);
    Interval found = zone;
    for (const bool right : {false, true}) {
        double step = reach;
        const double wanted = right ? -order_left : order_left;
        for (int i = 0; i < 12; ++i, step *= 2.0) {
            const double t = right ? root + step : root - step;
            if (t <= zone.low || t >= zone.high) break;
            if (model.at(t).value * wanted > model.error) {
                (right ? found.high : found.low) = t;
                break;
            }
        }
    }
    return found;
}

// One comparison whose zone is narrowed.
struct Narrowing {
    Kind kind;
    const PairFunctions& pairs;
    TwoValues values;
    double order_left;
    Interval zone;
    StopToken& stop;

    // One pass over all pairs of points, millions at most; no model once a stop is requested.
    DifferenceModel model(double centre, double half) const {
        if (stop.stop_requested()) return no_difference_model(centre, half);
        return difference_model(kind, pairs, values, centre, half);
    }

    // One end of the zone, moved inwards as far as the order there surely lasts.
    double trimmed_end(bool right) const {
        const double end = right ? zone.high : zone.low;
        const double wanted = right ? -order_left : order_left;
        double half = zone.width();
        for (int i = 0; i < 8; ++i, half *= 0.25) {
            const DifferenceModel here = model(end, half);
            if (!(here.error < infinity)) continue;
            const double u = here.place(end);
            const double inwards = (here.slope > 0.0) != right ? 1.0 : -1.0;
            const double free =
                free_reach(here, u, inwards, wanted) / std::abs(here.slope * here.scale);
            if (free > 0.0) {
                return right ? std::max(end - free, zone.low) : std::min(end + free, zone.high);
            }
            if (here.evaluated(u).value * wanted <= here.floor) return end;
        }
        return end;
    }

    PolishedZone result(bool proved) const { return {zone.low, zone.high, proved}; }

    PolishedZone run() {
        bool proved = false;
        for (int round = 0; round < most_rounds; ++round) {
            const double half = 0.5 * zone.width();
            const double middle = zone.low + half;
            if (half <= 4.0 * unit * (1.0 + std::abs(middle))) return result(true);
            const DifferenceModel here = model(middle, half);
            int direction = 0;
            if (here.error < infinity) {
                direction = direction_between(here.coefficients, here.place(zone.low),
                                              here.place(zone.high));
                if (!(here.slope > 0.0)) direction = -direction;
            }
            const double width = zone.width();
            if (direction != 0) {
                const double at_low = order_left * here.at(zone.low).value;
                const double at_high = order_left * here.at(zone.high).value;
                // One order on the whole zone: it was cut at an end of its interval.
                if (std::min(at_low, at_high) > here.error) return {zone.high, zone.high, true};
                if (std::max(at_low, at_high) < -here.error) return {zone.low, zone.low, true};
                if ((direction > 0) == (order_left > 0.0)) return result(proved);
                zone = enclose_root(here, zone, order_left);
                proved = true;
                if (here.error < 2.0 * here.floor) return result(true);
                if (zone.width() <= 0.5 * width) continue;
            }
            for (const bool right : {false, true}) {
                (right ? zone.high : zone.low) = trimmed_end(right);
                if (zone.low >= zone.high) return result(true);
            }
            if (zone.width() > (1.0 - 1e-3) * width) return result(proved);
        }
        return result(proved);
    }
};

}  // namespace

PolishedZone polish(Kind kind, const PairFunctions& pairs, std::span<const std::uint8_t> marks,
                    Interval zone, double order_left, StopToken& stop) {
    if (pairs.mode == Mode::affine && pairs.power.at(0.5 * (zone.low + zone.high)) < 0.0) {
        order_left = -order_left;
    }
    return Narrowing{kind, pairs, TwoValues(kind, pairs, marks), order_left, zone, stop}.run();
}

bool may_tie(Kind kind, const PairFunctions& pairs, std::span<const std::uint8_t> marks, double t) {
    const double half = unit * (1.0 + std::abs(t));
    const DifferenceModel model =
        difference_model(kind, pairs, TwoValues(kind, pairs, marks), t, half);
    return !(std::abs(model.at(t).value) > model.error);
}

std::vector<std::uint8_t> polish_many(Kind kind, const PairFunctions& pairs,
                                      MatrixView<double> splits,
                                      MatrixView<const std::uint8_t> marks,
                                      std::span<const std::int64_t> which, StopToken& stop) {
    std::vector<std::uint8_t> proved(which.size(), 0);
    for (std::size_t i = 0; i < which.size() && !stop.stop_requested(); ++i) {
        const auto row = static_cast<std::size_t>(which[i]);
        const auto split = splits.row(row);
        const PolishedZone found =
            polish(kind, pairs, marks.row(row), {split[column::low], split[column::high]},
                   split[column::order_left], stop);
        split[column::low] = found.low;
        split[column::high] = found.high;
        proved[i] = found.proved;
    }
    return proved;
}

}  // namespace certune::linkage
