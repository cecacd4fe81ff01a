#pragma once

// From the leaves of a search to a function: what their utilities say about every point.
//
// Leaves (an interval and a partition each) overlap where the order of two cluster pairs changes.
// Utilities are given as ranks, so that nothing here needs to know what kind of number they are.

#include <cstdint>
#include <span>
#include <vector>

#include "matrix_view.h"

namespace certune::linkage {

// Intervals, and the smallest and largest rank that each of them can have.
struct RankedIntervals {
    std::vector<double> low, high;
    std::vector<std::int64_t> least, most;
};

// What is known between neighbouring positions: the smallest and largest rank of the leaves that
// cover it (-1 if none does).
struct Envelope {
    std::vector<double> positions;
    std::vector<std::int64_t> bottom, top;
};

// Leaves as the search returns them: intervals, and for each the splits at its ends (-1: none) and
// its partition (-1: undecided).
struct LeafTable {
    MatrixView<const double> intervals;
    MatrixView<const std::int64_t> info;
    MatrixView<const double> splits;
};

// Intervals of the leaves, cut by their splits, and the ranks that each of them can have. `ranks`
// belong to the partitions; a leaf without one can have any, up to `highest`. Leaves count in the
// disjoint ranges (rows low, high) alone.
RankedIntervals ranked_leaves(const LeafTable& leaves, std::span<const std::int64_t> ranks,
                              std::int64_t highest, MatrixView<const double> ranges);

// Pointwise smallest and largest rank over overlapping intervals.
Envelope envelope(std::span<const double> low, std::span<const double> high,
                  std::span<const std::int64_t> least, std::span<const std::int64_t> most);

// An envelope that somebody else owns.
struct EnvelopeView {
    std::span<const double> positions;
    std::span<const std::int64_t> bottom, top;
};

// Indices of the splits whose zone meets an interval on which the rank is not settled. O(log m) for
// each split, where m is the number of intervals.
std::vector<std::int64_t> unsettled_splits(MatrixView<const double> splits,
                                           const EnvelopeView& cover);

// Joins neighbouring intervals of the same settled rank, and neighbours that are not settled; the
// latter stay apart at special positions (ascending), where the utility can be found out.
RankedIntervals joined(const EnvelopeView& cover, std::span<const double> special);

}  // namespace certune::linkage
