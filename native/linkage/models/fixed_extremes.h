#pragma once

// Minima and maxima of fixed distances: only the values at the two ends of an interval.
//
// The value of a cluster pair is exp(alpha log dmin) + exp(alpha log dmax) (or one of the two). Of
// two such values either one is larger at every alpha, because both its logarithms are, or their
// logarithms are nested; then the difference is an exponential sum whose coefficients, in the order
// of the exponents, change sign twice, so it has at most two real roots counted with multiplicity
// (Descartes), and one of them is alpha = 0. Hence on an interval on one side of 0 equal signs at
// both ends hold in between, and different signs mean exactly one root. Divided by alpha (the
// Box-Cox form (d^alpha - 1) / alpha) the root at 0 disappears, and the same is true on every
// interval. No polynomials are needed and the error is that of a few roundings.
//
// A record has eight lanes: the smaller and the larger value at the low and the high end, the
// logarithms of the extreme distances (shifted to be positive) and their codes as integers. As
// integers all lanes are ordered like what they stand for: merging keeps the minimum of the first
// four and the maximum of the others, whatever the sign of alpha.

#include <bit>
#include <cstdint>
#include <limits>
#include <span>

#include "linkage/models/frame.h"

namespace certune::linkage {

namespace lane {
inline constexpr int min_low = 0, min_high = 1, log_min = 2, code_min = 3;
inline constexpr int max_low = 4, max_high = 5, log_max = 6, code_max = 7;
}  // namespace lane

using Code = std::int64_t;
// Stands for code 0: the extreme pair is not certain.
inline constexpr Code unknown_code = std::numeric_limits<Code>::min();
inline Code code_at(const double* record, int lane) { return std::bit_cast<Code>(record[lane]); }
inline void set_code(double* record, int lane, Code code) {
    record[lane] = std::bit_cast<double>(code);
}
// Codes of point pairs, unsigned, as signed ones in the same order.
inline Code ordered_code(std::uint64_t code) {
    return static_cast<Code>(code ^ 0x8000000000000000u);
}

// Value of one distance at alpha; the logarithm as stored.
double extreme_value(const Reading& reading, double alpha, double log_distance);
// Value of a record at alpha.
double value_inside(const Reading& reading, const double* record, double alpha);

// Relative error of the values at the ends; infinite if they leave double precision.
double extremes_error(const Source& source, Interval interval);

// Fills the lanes of logarithms and codes from the point pairs; the others become 1.
void build_logs(const Frame& frame, const Source& source, std::span<const std::int64_t> labels,
                StopToken& stop);
// Fills the values at both ends of an interval, where the logarithms are filled.
Reading fill_both_ends(const Frame& frame, const Source& source, Interval interval,
                       StopToken& stop);
// Copies the records of the active slots with new values at one end. Source and target may be the
// same if every slot is active.
void fill_end(const Frame& source, std::span<const int> active, const Reading& reading,
              double alpha, bool high_end, const Frame& target, StopToken& stop);
// Fills the lanes of values from those of the point pairs at one parameter.
void build_point_extremes(const Frame& frame, MatrixView<const double> values,
                          std::span<const std::int64_t> labels);

// Record of a union with a third cluster, from those of its parts.
void unite_extremes(const double* first, const double* second, bool ordered, double error,
                    double* target, double* mirror);

}  // namespace certune::linkage
