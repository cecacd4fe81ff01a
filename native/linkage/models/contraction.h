#pragma once

#include <cstdint>
#include <span>

#include "linkage/models/pair_functions.h"
#include "stop_token.h"

namespace certune::linkage {

// Merges that hold for every parameter are appended to left and right, and labels become the
// clusters that are left.
struct MergesUnderWay {
    std::span<std::int64_t> left;
    std::span<std::int64_t> right;
    std::span<std::int64_t> labels;
};

// Merges what is nearest at every parameter: every distance between the two clusters is smaller
// than every distance from them to any other cluster (for min-max linkage of fixed distances: the
// smallest and the largest one both are). The first clusters, `labels`, are groups of identical
// points. The ends order the pairs at the two ends of the segment (smaller is nearer at both; the
// same array twice if the order does not move); differences count if they exceed the margin.
// O(n^2), and O(n) for each neighbour of a merge. Two clusters are left in any case.
//
// Returns the number of merges made so far, those in `labels` on entry included.
int contract(Kind kind, MatrixView<const double> low_end, MatrixView<const double> high_end,
             double margin, const MergesUnderWay& merges, StopToken& stop);

}  // namespace certune::linkage
