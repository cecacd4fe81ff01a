#pragma once

// Soft labels on a box of rates: linear models with a proved remainder.
//
// At the centre of the box the graph is eliminated once. The inverse of its grounded Laplacian, the
// Green functions, turns changes of edge weights into changes of soft labels; it also bounds what
// the first order leaves out. docs/theory/harmonic-boxes.md has the inequalities, the names used
// here, and the share of rounding in every one of them.

#include <span>
#include <vector>

#include "graph/elimination.h"
#include "graph/graph.h"
#include "matrix_view.h"
#include "stop_token.h"

namespace certune::graph {

// Exponents of edges above exp(-strong) may change by a limited amount only, see box_models.cpp.
inline constexpr double strong_edge = 300.0;

// What is known at the centre of the box.
struct BoxCentre {
    std::span<const double> rates;
    Elimination done;               // what `eliminate` has left there
    MatrixView<const double> soft;  // soft labels (n, n_classes)
    double shift = 0.0;             // weights are exp(shift - exponent)
    double needed = 0.0;  // range of the exponents of a tree that joins all nodes to labels
};

// Bounds of errors: of a soft label at the centre; of Green functions, relatively; of the rounding
// of a change of an exponent.
struct ModelErrors {
    double soft = 0.0;
    double green = 0.0;
    double rounding = 0.0;
};

struct SoftModels {
    std::vector<double> values;  // at the vertices (n_vertices, n, n_classes)
    std::vector<double> errors;  // (n, n_classes)
    std::vector<double> spread;  // covariances of the lengths over a random spanning forest
    bool exist = false;          // otherwise the box is too large, and only `spread` counts
};

// Linear models of all soft labels on a box, whose vertices lie at rates + moves (n_vertices,
// n_metrics).
SoftModels soft_models(const LabelledGraph& graph, const BoxCentre& centre,
                       MatrixView<const double> moves, const ModelErrors& errors, StopToken& stop);

}  // namespace certune::graph
