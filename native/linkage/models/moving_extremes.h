#pragma once

// Minima and maxima of moving distances.
//
// The pair that attains the minimum may change inside the interval, so lower and upper Bernstein
// coefficients enclose it, channel by channel (lower of the min, lower of the max, upper of the
// min, upper of the max), or (lower, upper) for one extreme, followed by the codes of the two
// extreme pairs.

#include <span>

#include "linkage/models/fixed_extremes.h"
#include "linkage/models/frame.h"

namespace certune::linkage {

inline int n_channels(const Frame& frame) { return (frame.width - 2) / degree; }

// Fills the coefficients from the moving point pairs, on the interval of the plan.
void build_moving_extremes(const Frame& frame, const Source& source,
                           std::span<const std::int64_t> labels, const ModelPlan& plan,
                           StopToken& stop);
// Fills the codes of the pairs that attain the smallest and the largest value on all of the
// interval, or unknown_code if such a pair is not certain.
void set_moving_codes(const Frame& frame, const Source& source,
                      std::span<const std::int64_t> labels, int sign, Interval interval,
                      StopToken& stop);
// Puts the union of slots x and y into slot x; y is not active any more.
void merge_moving_extremes(const Frame& frame, const Reading& reading, int x, int y,
                           std::span<const int> active);

}  // namespace certune::linkage
