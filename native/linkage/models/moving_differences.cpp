// The difference of two linkage values whose distances move; see differences.h.
//
// A pair has d(t) = A + t B and the value d^alpha, alpha affine in t. Its Taylor coefficients come
// from a recursion, and the tail from Cauchy's estimate on discs where no distance vanishes.

#include <algorithm>
#include <cmath>
#include <limits>

#include "linkage/models/differences.h"

namespace certune::linkage {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

double twelfth_power(double x) {
    const double fourth = (x * x) * (x * x);
    return fourth * (fourth * fourth);
}

// The pairs of least and largest distance at both ends, hence between; empty if they change.
PairList lasting_extremes(Kind kind, const PairList& pairs, Interval interval) {
    PairList chosen;
    for (const bool largest : {false, true}) {
        if (kind == (largest ? Kind::minimum : Kind::maximum)) continue;
        const double direction = largest ? -1.0 : 1.0;
        const auto at = [&](std::size_t i, double t) {
            return direction * (pairs.first[i] + t * pairs.second[i]);
        };
        double best_low = infinity, best_high = infinity;
        for (std::size_t i = 0; i < pairs.size(); ++i) {
            best_low = std::min(best_low, at(i, interval.low));
            best_high = std::min(best_high, at(i, interval.high));
        }
        bool found = false;
        for (std::size_t i = 0; i < pairs.size() && !found; ++i) {
            if (at(i, interval.low) == best_low && at(i, interval.high) == best_high) {
                chosen.first.push_back(pairs.first[i]);
                chosen.second.push_back(pairs.second[i]);
                found = true;
            }
        }
        if (!found) return {};
    }
    return chosen;
}

// Logarithms of the least and largest distance at the centre, and the largest |d' / d|.
struct Distances {
    double low = 0.0;
    double high = 0.0;
    double ratio = infinity;
};

Distances distances_at(const TwoValues& values, double centre) {
    double least = infinity, most = 0.0, ratio = 0.0;
    for (const PairList* pairs : {&values.near, &values.far}) {
        for (std::size_t i = 0; i < pairs->size(); ++i) {
            const double distance = pairs->first[i] + centre * pairs->second[i];
            if (distance <= 0.0) return {};
            least = std::min(least, distance);
            most = std::max(most, distance);
            ratio = std::max(ratio, std::abs(pairs->second[i]) / distance);
        }
    }
    return {std::log(least), std::log(most), ratio * (1.0 + 8.0 * unit)};
}

// Cauchy's bounds of all terms but the first, and of all terms beyond the last, at |u| <= 1:
// relative to the value at the centre, or absolute in Box-Cox form.
struct Rest {
    double variation = infinity;
    double tail = infinity;
};

Rest rest_of(double half, double ratio, Affine alpha, double spread, bool box_cox) {
    Rest rest;
    double radius = 1.25 * half;
    for (int i = 0; i < 60 && ratio * radius < 1.0; ++i) {
        const double growth = -std::log1p(-ratio * radius);
        double exponent, bound;
        if (box_cox) {
            exponent = (alpha.value + alpha.slope * radius) * (spread + growth);
            bound = spread + growth;
        } else {
            exponent = alpha.value * growth + alpha.slope * radius * (spread + growth);
            bound = 1.0;
        }
        if (exponent > 600.0) break;
        bound *= 1.01 * std::exp(exponent);
        const double quotient = half / radius;
        rest.variation = std::min(rest.variation, bound * quotient / (1.0 - quotient));
        rest.tail = std::min(rest.tail, bound * twelfth_power(quotient) / (1.0 - quotient));
        radius *= 1.5;
    }
    return rest;
}

// About which point powers are expanded, and how.
struct Expansion {
    double centre = 0.0;
    double half = 0.0;
    double scale = 0.0;  // logarithm of what distances are divided by
    Affine alpha;        // at the centre
    bool box_cox = false;
    bool divided = false;  // (exp(y) - 1) / alpha, term by term, by the affine function alpha

    // Adds the Taylor coefficients (times h^k) of the mean value; returns the one at the centre.
    double add_mean(const PairList& pairs, double factor, Taylor& out) const {
        const double shrink = std::exp(-scale);
        const MovingPower moving{alpha.value, alpha.slope, half, box_cox && !divided};
        Taylor series, sums{};
        double total = 0.0, lost = 0.0;
        for (std::size_t i = 0; i < pairs.size(); ++i) {
            const double distance = (pairs.first[i] + centre * pairs.second[i]) * shrink;
            moving.series(distance, pairs.second[i] * shrink, series);
            if (divided) {
                series[0] = std::expm1(alpha.value * std::log(distance)) / alpha.value;
                for (std::size_t k = 1; k < terms; ++k) {
                    series[k] = (series[k] - alpha.slope * half * series[k - 1]) / alpha.value;
                }
            }
            const double coefficient = pairs.coefficient(i);
            const double leading = coefficient * series[0];
            const double next = total + leading;
            const double part = next - total;
            lost += (total - (next - part)) + (leading - part);
            total = next;
            for (std::size_t k = 1; k < terms; ++k) sums[k] += coefficient * series[k];
        }
        sums[0] = total + lost;
        const double divisor = pairs.divisor();
        for (std::size_t k = 0; k < terms; ++k) out[k] += factor * (sums[k] / divisor);
        return sums[0] / divisor;
    }
};

DifferenceModel expanded(const PairFunctions& pairs, const TwoValues& values, double centre,
                         double half, bool box_cox) {
    const Affine& power = pairs.power;
    double alpha = power.at(centre);
    bool divided = false;
    if (box_cox) {
        divided = 2.0 * std::abs(power.slope) * half <= std::abs(alpha) && alpha != 0.0;
        if (!divided) {
            if (power.slope != 0.0) {
                const double zero = -power.value / power.slope;
                half = (half + std::abs(centre - zero)) * (1.0 + 4.0 * unit);
                centre = zero;
            }
            alpha = 0.0;
        }
    } else if (std::abs(alpha) <= std::abs(power.slope) * half) {
        return no_difference_model(centre, half);
    }
    DifferenceModel model = no_difference_model(centre, half);
    const auto [low, high, ratio] = distances_at(values, centre);
    if (!(ratio * half < 0.5)) return model;
    const double scale = 0.5 * (low + high);
    const double spread = 0.5 * (high - low) + 8.0 * unit * (1.0 + std::abs(scale));
    const double power_rate = std::abs(power.slope);
    const double reach = std::abs(alpha) + power_rate * half;
    const double size = std::abs(power.value) + power_rate * (std::abs(centre) + half);
    const double sign = box_cox || alpha > 0.0 ? 1.0 : -1.0;
    const Expansion expansion{centre, half, scale, {alpha, power.slope}, box_cox, divided};
    double total = expansion.add_mean(values.near, -sign, model.coefficients);
    total += expansion.add_mean(values.far, sign, model.coefficients);
    const auto [variation, tail] =
        rest_of(half, ratio, {std::abs(alpha), power_rate}, spread, box_cox);
    const auto count = static_cast<double>(std::max(values.near.size(), values.far.size()));
    const double rounding = (8 * terms + 128 + count) * unit;
    const double growth = spread - std::log1p(-ratio * half);
    if (box_cox) {
        // d g / d log d = d^alpha, and |d g / d alpha| <= (log d)^2 d^|alpha|
        const double stretch = 1.01 * std::exp(reach * growth);
        const double inputs =
            3.0 * pairs.input_error + 8.0 * unit * (2.0 + spread + size * growth * growth);
        model.floor = 2.0 * stretch * inputs;
        model.error = 2.0 * (rounding * variation + tail);
        return model;
    }
    const double relative =
        3.0 * (1.0 + reach) * pairs.input_error + (16.0 + 8.0 * size * (1.0 + growth)) * unit;
    model.floor = 1.01 * relative * total;
    model.error = total * ((rounding + relative) * variation + tail);
    return model;
}

}  // namespace

DifferenceModel moving_difference(Kind kind, const PairFunctions& pairs, const TwoValues& values,
                                  double centre, double half) {
    TwoValues lasting = values;
    if (kind != Kind::mean && kind != Kind::energy) {
        const Interval interval{centre - half, centre + half};
        lasting.near = lasting_extremes(kind, values.near, interval);
        lasting.far = lasting_extremes(kind, values.far, interval);
        if (lasting.near.size() == 0 || lasting.far.size() == 0) {
            return no_difference_model(centre, half);
        }
    }
    const auto [low, high, ratio] = distances_at(lasting, centre);
    const double reach = std::abs(pairs.power.at(centre)) + std::abs(pairs.power.slope) * half;
    if (pairs.box_cox && ratio * half < 0.5 &&
        reach * (0.5 * (high - low) + 2.0 * ratio * half) <= box_cox_below) {
        const DifferenceModel found = expanded(pairs, lasting, centre, half, true);
        if (found.floor + found.error < infinity) return found;
    }
    return expanded(pairs, lasting, centre, half, false);
}

}  // namespace certune::linkage
