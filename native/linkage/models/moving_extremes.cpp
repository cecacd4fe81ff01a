#include "linkage/models/moving_extremes.h"

#include <algorithm>
#include <cmath>

namespace certune::linkage {

namespace {

// What a channel keeps of two: the coefficientwise minimum or maximum, or the coefficients of the
// pair that is smaller or larger in the middle.
enum class Keeps { minimum, maximum, smaller, larger };

Keeps role_of(Kind kind, int channel) {
    constexpr Keeps of_both[] = {Keeps::minimum, Keeps::larger, Keeps::smaller, Keeps::maximum};
    if (kind == Kind::minmax) return of_both[channel];
    if (kind == Kind::minimum) return channel == 0 ? Keeps::minimum : Keeps::smaller;
    return channel == 0 ? Keeps::larger : Keeps::maximum;
}

void absorb(double* own, Keeps role, const double* other) {
    constexpr int middle = degree / 2;
    if (role == Keeps::minimum) {
        for (int k = 0; k < degree; ++k) own[k] = std::min(own[k], other[k]);
    } else if (role == Keeps::maximum) {
        for (int k = 0; k < degree; ++k) own[k] = std::max(own[k], other[k]);
    } else if (role == Keeps::smaller ? other[middle] < own[middle] : other[middle] > own[middle]) {
        std::copy_n(other, degree, own);
    }
}

// Distances of the pairs between two clusters.
struct Between {
    const PairFunctions& pairs;
    std::span<const int> members, others;

    double at(int a, int b, double t) const {
        const auto row = static_cast<std::size_t>(a), column = static_cast<std::size_t>(b);
        return pairs.first(row, column) + t * pairs.second(row, column);
    }
    std::uint64_t code(int a, int b) const {
        return pairs.codes(static_cast<std::size_t>(a), static_cast<std::size_t>(b));
    }

    // Code of the distance that is smallest (or largest) on all of the interval.
    Code extreme_code(bool smaller, Interval interval) const {
        int best_a = members[0], best_b = others[0];
        const double middle = 0.5 * (interval.low + interval.high);
        for (const int a : members) {
            for (const int b : others) {
                const double value = at(a, b, middle), best = at(best_a, best_b, middle);
                if (value != best && (value < best) == smaller) {
                    best_a = a;
                    best_b = b;
                }
            }
        }
        const std::uint64_t chosen = code(best_a, best_b);
        for (const int a : members) {
            for (const int b : others) {
                if (code(a, b) == chosen) continue;
                for (const double t : {interval.low, interval.high}) {
                    const double value = at(a, b, t), best = at(best_a, best_b, t);
                    const double margin = 1e-13 * (1.0 + std::abs(value) + std::abs(best));
                    if ((smaller ? value - best : best - value) <= margin) return unknown_code;
                }
            }
        }
        return ordered_code(chosen);
    }
};

// Is the value of the first record proved smaller than that of the second, by these channels?
bool separated(const double* first, const double* second, int lower, int upper, double error) {
    for (int k = 0; k < degree; ++k) {
        const double top = first[upper + k] * (1.0 + error);
        if (!(top < second[lower + k] * (1.0 - error))) return false;
    }
    return true;
}

void merge_codes(const Frame& frame, const Reading& reading, int x, int y,
                 std::span<const int> active) {
    const Kind kind = reading.kind;
    for (const bool larger : {false, true}) {
        if ((kind == Kind::minimum && larger) || (kind == Kind::maximum && !larger)) continue;
        const int place = frame.width - (larger ? 1 : 2);
        const int lower = kind == Kind::minmax && larger ? degree : 0;
        const int upper = lower + (kind == Kind::minmax ? 2 * degree : degree);
        for (const int z : active) {
            double* own = frame.record(x, z);
            const double* other = frame.record(y, z);
            Code here = code_at(own, place);
            const Code there = code_at(other, place);
            if (here != there) {
                const bool below = separated(own, other, lower, upper, reading.error);
                const bool above = separated(other, own, lower, upper, reading.error);
                if (!below && !above) {
                    here = unknown_code;
                } else if (below == larger) {
                    here = there;
                }
            }
            set_code(own, place, here);
            set_code(frame.record(z, x), place, here);
        }
    }
}

}  // namespace

void build_moving_extremes(const Frame& frame, const Source& source,
                           std::span<const std::int64_t> labels, const ModelPlan& plan,
                           StopToken& stop) {
    const PairFunctions& pairs = source.pairs;
    const Kind kind = kind_of_values(source.kind, plan.sign);
    const int channels = n_channels(frame);
    const double half = 0.5 * plan.interval.width();
    const double centre = plan.interval.low + half;
    const MovingPower moving{pairs.power.at(centre), pairs.power.slope, half, plan.box_cox};
    const double unscale = std::exp(-plan.scale);
    const MembersByLabel members(labels, frame.slots);
    std::fill_n(frame.data, frame.size(), 1.0);
    Taylor series;
    for (int x = 0; x < frame.slots && !stop.stop_requested(); ++x) {
        for (int z = x + 1; z < frame.slots; ++z) {
            double* record = frame.record(x, z);
            bool seen = false;
            for (const int a : members.of(x)) {
                for (const int b : members.of(z)) {
                    const auto row = static_cast<std::size_t>(a);
                    const auto column = static_cast<std::size_t>(b);
                    const double slope = pairs.second(row, column);
                    moving.series((pairs.first(row, column) + centre * slope) * unscale,
                                  slope * unscale, series);
                    double model[degree] = {};
                    add_series(series, model);
                    for (int channel = 0; channel < channels; ++channel) {
                        double* own = record + channel * degree;
                        if (seen) {
                            absorb(own, role_of(kind, channel), model);
                        } else {
                            std::copy_n(model, degree, own);
                        }
                    }
                    seen = true;
                }
            }
            std::copy_n(record, channels * degree, frame.record(z, x));
        }
    }
}

void set_moving_codes(const Frame& frame, const Source& source,
                      std::span<const std::int64_t> labels, int sign, Interval interval,
                      StopToken& stop) {
    const MembersByLabel members(labels, frame.slots);
    for (int x = 0; x < frame.slots && !stop.stop_requested(); ++x) {
        for (int z = x + 1; z < frame.slots; ++z) {
            const Between between{source.pairs, members.of(x), members.of(z)};
            for (const bool larger : {false, true}) {
                const Code code = between.extreme_code(larger == (sign < 0), interval);
                const int place = frame.width - (larger ? 1 : 2);
                set_code(frame.record(x, z), place, code);
                set_code(frame.record(z, x), place, code);
            }
        }
    }
}

void merge_moving_extremes(const Frame& frame, const Reading& reading, int x, int y,
                           std::span<const int> active) {
    merge_codes(frame, reading, x, y, active);
    const int channels = n_channels(frame);
    for (const int z : active) {
        double* record = frame.record(x, z);
        const double* other = frame.record(y, z);
        for (int channel = 0; channel < channels; ++channel) {
            const int start = channel * degree;
            absorb(record + start, role_of(reading.kind, channel), other + start);
        }
        std::copy_n(record, channels * degree, frame.record(z, x));
    }
}

}  // namespace certune::linkage
