#pragma once

// Every cluster tree that greedy linkage builds along a segment, certified, depth first.
//
// On a frame's interval all merges that are certified there are carried out, and shared by
// everything below. When the remaining candidates change their order inside the interval, it is
// split there: the left part under one order, the right part under the other, overlapping in the
// zone that holds the change. A comparison settled by such a split (or by the exact layer) is
// remembered on the branch. Every leaf is one tree, pruned to k clusters; where two leaves overlap
// the tree is one of the two. A branch whose orders contradict each other has no leaf: at every
// parameter the orders of another one are the true ones.

#include "linkage/models/frame.h"
#include "linkage/search/exact_layer.h"
#include "linkage/search/leaves.h"
#include "linkage/tree/costs.h"
#include "linkage/tree/tree.h"
#include "stop_token.h"

namespace certune::linkage {

// What is searched: values along a segment, the merges that hold on all of it, and the pruning.
struct Problem {
    Source source;
    FirstMerges first;
    Pruning pruning;

    // Fills in what the source needs to know of the first clusters.
    void complete();
};

// Searches the panels one after the other. A zone that fills more than the share `wide_zone` of its
// interval asks for better models there.
LeafStore search(const Problem& problem, const Panels& panels, double wide_zone, ExactLayer& exact,
                 StopToken& stop);

// Linkage values of the pairs of points at one parameter, with a bound of their relative error.
struct PointValues {
    double t = 0.0;
    MatrixView<const double> values;
    double error = 0.0;
};

// The tree and its pruning at one parameter.
struct PointResult {
    bool decided = false;
    std::vector<std::int64_t> left, right;  // (2 n - 1): children, as of the first merges
    std::vector<std::int64_t> labels;
};
PointResult solve_at(const Problem& problem, const PointValues& point, ExactLayer& exact,
                     StopToken& stop);

}  // namespace certune::linkage
