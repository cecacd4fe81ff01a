#include "linkage/models/fixed_extremes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "linkage/models/plan.h"
#include "numeric/exponentials.h"
#include "numeric/simd8.h"

namespace certune::linkage {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

constexpr int quotient_terms = 24;
constexpr std::array<double, quotient_terms> quotient_series = [] {
    std::array<double, quotient_terms> found{};
    double factorial = 1.0;
    for (int k = 0; k < quotient_terms; ++k) {
        factorial *= k + 1;
        found[static_cast<std::size_t>(quotient_terms - 1 - k)] = 1.0 / factorial;
    }
    return found;
}();

// expm1(y) / y, within 8 units relatively.
double quotient(double y) {
    if (std::abs(y) > 1e-5) return std::expm1(y) / y;
    return 1.0 + y * (0.5 + y * (1.0 / 6.0 + y * (1.0 / 24.0)));
}

// The Taylor series of expm1(y) / y for |y| <= 2; its terms cancel to 1/8 of their size at most.
CERTUNE_HOT void box_cox_values(double alpha, double* values, int count) {
    for (int i = 0; i < count; ++i) {
        const double y = alpha * values[i];
        double total = 0.0;
        for (const double term : quotient_series) total = total * y + term;
        values[i] *= total;
    }
}

// Replaces stored logarithms (at most `largest`) by their values at alpha.
void values_at(const Reading& reading, double alpha, double largest, double* values, int count) {
    if (!reading.box_cox) {
        for (int i = 0; i < count; ++i) values[i] = alpha * (values[i] - reading.centre);
        numeric::exponentials({values, static_cast<std::size_t>(count)});
    } else if (std::abs(alpha) * largest <= 2.0) {
        box_cox_values(alpha, values, count);
    } else {
        for (int i = 0; i < count; ++i) values[i] *= quotient(alpha * values[i]);
    }
}

// Code of the smaller of two logarithms (codes not ordered), unknown if they are too close. For the
// larger one, exchange value and rival.
Code joint_code(Code code, Code other, double value, double rival, double margin) {
    if (code == other) return code;
    margin *= 1.0 + std::abs(value) + std::abs(rival);
    if (value < rival - margin) return code;
    if (rival < value - margin) return other;
    return unknown_code;
}

constexpr double log_margin = 1e-13;  // logarithms of point pairs that differ by less are not told

}  // namespace

double extreme_value(const Reading& reading, double alpha, double log_distance) {
    if (reading.box_cox) return log_distance * quotient(alpha * log_distance);
    return std::exp(alpha * (log_distance - reading.centre));
}

double value_inside(const Reading& reading, const double* record, double alpha) {
    const double small = extreme_value(reading, alpha, record[lane::log_min]);
    const double large = extreme_value(reading, alpha, record[lane::log_max]);
    if (reading.kind == Kind::minmax) return std::min(small, large) + std::max(small, large);
    return reading.kind == Kind::minimum ? std::min(small, large) : std::max(small, large);
}

double extremes_error(const Source& source, Interval interval) {
    const Affine& power = source.pairs.power;
    const double size = source.extent.largest - source.extent.smallest + 2.0;
    const double reach =
        std::max(std::abs(power.at(interval.low)), std::abs(power.at(interval.high)));
    if (!(reach * size < 650.0)) return infinity;
    return source.pairs.input_error * (1.0 + reach) + 8.0 * unit * (8.0 + reach * size);
}

void build_logs(const Frame& frame, const Source& source, std::span<const std::int64_t> labels,
                StopToken& stop) {
    const MembersByLabel members(labels, frame.slots);
    const PairFunctions& pairs = source.pairs;
    const double shift = source.extent.smallest - 1.0;
    for (int x = 0; x < frame.slots && !stop.stop_requested(); ++x) {
        std::fill_n(frame.record(x, x), frame.width * (frame.slots - x), 1.0);
        for (int z = x + 1; z < frame.slots; ++z) {
            double log_min = infinity, log_max = -infinity;
            Code code_min = 0, code_max = 0;
            bool seen = false;
            for (const int a : members.of(x)) {
                for (const int b : members.of(z)) {
                    const auto row = static_cast<std::size_t>(a);
                    const auto column = static_cast<std::size_t>(b);
                    const double value = pairs.first(row, column);
                    const Code code = ordered_code(pairs.codes(row, column));
                    if (!seen) {
                        code_min = code_max = code;
                    } else if (pairs.ordered) {
                        code_min = std::min(code_min, code);
                        code_max = std::max(code_max, code);
                    } else {
                        code_min = joint_code(code_min, code, log_min, value, log_margin);
                        code_max = joint_code(code_max, code, value, log_max, log_margin);
                    }
                    seen = true;
                    log_min = std::min(log_min, value);
                    log_max = std::max(log_max, value);
                }
            }
            double* record = frame.record(x, z);
            record[lane::log_min] = log_min - shift;
            record[lane::log_max] = log_max - shift;
            set_code(record, lane::code_min, code_min);
            set_code(record, lane::code_max, code_max);
            simd8::copy(record, frame.record(z, x));
        }
    }
}

Reading fill_both_ends(const Frame& frame, const Source& source, Interval interval,
                       StopToken& stop) {
    Reading reading;
    reading.form = Form::fixed_extremes;
    reading.power = source.pairs.power;
    reading.box_cox = needs_box_cox(source.pairs, source.span, interval);
    reading.centre = 1.0 + 0.5 * (source.extent.largest - source.extent.smallest);
    reading.error = extremes_error(source, interval);
    reading.sign = order_sign(reading.power, reading.box_cox, interval);
    reading.kind = kind_of_values(source.kind, reading.sign);
    if (reading.error < infinity) {
        std::vector<int> all(static_cast<std::size_t>(frame.slots));
        for (int x = 0; x < frame.slots; ++x) all[static_cast<std::size_t>(x)] = x;
        for (const bool high_end : {false, true}) {
            const double alpha = reading.power.at(high_end ? interval.high : interval.low);
            fill_end(frame, all, reading, alpha, high_end, frame, stop);
        }
    }
    reading.error += shift_error(source.pairs, source.span, interval);
    return reading;
}

void fill_end(const Frame& source, std::span<const int> active, const Reading& reading,
              double alpha, bool high_end, const Frame& target, StopToken& stop) {
    const int n_active = static_cast<int>(active.size());
    std::vector<double> values(2 * active.size());
    // For a negative alpha the smallest distance has the largest value.
    const bool flipped = !reading.box_cox && alpha < 0.0;
    const int end = high_end ? 1 : 0;
    const int place_of_min = end + (flipped ? lane::max_low : lane::min_low);
    const int place_of_max = end + (flipped ? lane::min_low : lane::max_low);
    for (int i = 0; i < n_active && !stop.stop_requested(); ++i) {
        std::fill_n(target.record(i, i), degree, 1.0);
        const int begin = i + 1, count = n_active - begin;
        const int slot = active[static_cast<std::size_t>(i)];
        double largest = 0.0;
        for (int j = 0; j < count; ++j) {
            const double* record = source.record(slot, active[static_cast<std::size_t>(begin + j)]);
            values[static_cast<std::size_t>(j)] = record[lane::log_min];
            values[static_cast<std::size_t>(count + j)] = record[lane::log_max];
            largest = std::max(largest, record[lane::log_max]);
        }
        values_at(reading, alpha, largest, values.data(), 2 * count);
        for (int j = 0; j < count; ++j) {
            double record[degree];
            simd8::copy(source.record(slot, active[static_cast<std::size_t>(begin + j)]), record);
            record[place_of_min] = values[static_cast<std::size_t>(j)];
            record[place_of_max] = values[static_cast<std::size_t>(count + j)];
            simd8::copy(record, target.record(i, begin + j));
            simd8::copy(record, target.record(begin + j, i));
        }
    }
}

void build_point_extremes(const Frame& frame, MatrixView<const double> values,
                          std::span<const std::int64_t> labels) {
    const MembersByLabel members(labels, frame.slots);
    for (int x = 0; x < frame.slots; ++x) {
        for (int z = 0; z < frame.slots; ++z) {
            if (x == z) continue;
            double smallest = infinity, largest = 0.0;
            for (const int a : members.of(x)) {
                const auto row = values.row(static_cast<std::size_t>(a));
                for (const int b : members.of(z)) {
                    smallest = std::min(smallest, row[static_cast<std::size_t>(b)]);
                    largest = std::max(largest, row[static_cast<std::size_t>(b)]);
                }
            }
            double* record = frame.record(x, z);
            record[lane::min_low] = record[lane::min_high] = smallest;
            record[lane::max_low] = record[lane::max_high] = largest;
        }
    }
}

CERTUNE_HOT void unite_extremes(const double* first, const double* second, bool ordered,
                                double error, double* target, double* mirror) {
    if (ordered) {
        simd8::extremes(first, second, target, mirror);
        return;
    }
    const double margin = 4.0 * error;
    const Code code_min =
        joint_code(code_at(first, lane::code_min), code_at(second, lane::code_min),
                   first[lane::log_min], second[lane::log_min], margin);
    const Code code_max =
        joint_code(code_at(first, lane::code_max), code_at(second, lane::code_max),
                   second[lane::log_max], first[lane::log_max], margin);
    simd8::extremes(first, second, target, mirror);
    for (double* record : {target, mirror}) {
        set_code(record, lane::code_min, code_min);
        set_code(record, lane::code_max, code_max);
    }
}

}  // namespace certune::linkage
