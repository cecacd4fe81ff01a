#pragma once

#include <span>
#include <vector>

#include "graph/graph.h"
#include "matrix_view.h"
#include "stop_token.h"

namespace certune::graph {

// Exponents (n_points, n, n + n_labelled) of all edges at several rates (n_points, n_metrics).
std::vector<double> exponents_at(const LabelledGraph& graph, MatrixView<const double> rates,
                                 StopToken& stop);

// Exponents at the centre of a box of rates, which choose paths and cuts, and at its vertices,
// where the bound is largest.
struct BoxExponents {
    std::span<const double> values;  // (1 + n_vertices, n, n + n_labelled)
    std::size_t n_points = 0;
    std::size_t n_nodes = 0;
    std::size_t n_ends = 0;  // n + n_labelled

    MatrixView<const double> at_point(std::size_t point) const {
        return {values.data() + point * n_nodes * n_ends, n_nodes, n_ends};
    }
};

// Class that has more than half of the soft label of each node on a whole box of rates, or -1.
//
// At small bandwidths the weights of a graph differ by many orders of magnitude: a node is bound to
// the nearest labels by a path of strong edges, and everything else lies behind a cut of weak ones.
// The probability that a random walk leaves through the cut before it follows the path is at most
// the weight of the cut times the resistance of the path (docs/theory/harmonic-boxes.md). `slack`
// is a factor that covers the rounding of the exponents.
std::vector<Index> dominant_classes(const LabelledGraph& graph, const BoxExponents& exponents,
                                    std::span<const Index> nodes, double slack, StopToken& stop);

}  // namespace certune::graph
