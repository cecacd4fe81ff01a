#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "linkage/models/pair_functions.h"
#include "matrix_view.h"

namespace certune::linkage {

// What each merge of a finished tree makes of the values of its pairs of points, in plain floats:
// their mean, minimum, maximum, the mean of these two (minmax), or their energy. Node n + i has the
// children left[n + i] and right[n + i]. Sums are over positive numbers, so that a mean has a
// relative error of at most 2 n roundings. O(n^2) numbers are looked at.
std::vector<double> merge_values(Kind kind, MatrixView<const double> values,
                                 std::span<const std::int64_t> left,
                                 std::span<const std::int64_t> right);

}  // namespace certune::linkage
