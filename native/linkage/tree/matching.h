#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "matrix_view.h"
#include "stop_token.h"

namespace certune::linkage {

// Largest sum of one entry in each row of a table, no two of them in the same column; the table has
// at least as many columns as rows.
//
// Rows join one by one: the cheapest alternating path from the new row to a free column, by reduced
// costs that integer potentials keep non-negative, says who moves where (the Hungarian method).
// O(rows^2 columns).
std::int64_t heaviest_matching(MatrixView<const std::int64_t> weights);

// For each partition (a row of codes 0, 1, ...) the largest number of points that a matching of its
// clusters to the classes of the target gets right; clusters or classes left over count as wrong.
std::vector<std::int64_t> matched_points(std::span<const std::int64_t> target,
                                         MatrixView<const std::int64_t> partitions,
                                         StopToken& stop);

}  // namespace certune::linkage
