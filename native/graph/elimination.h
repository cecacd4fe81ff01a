#pragma once

// Harmonic functions on a weighted graph by elimination without subtraction.
//
// The nodes of a graph are eliminated one after the other (Grassmann, Taksar and Heyman): taking
// node k away puts the weight w_ik w_kj / s_k on every pair of its neighbours, where s_k is the sum
// of the weights at k. Nothing is ever subtracted, so tightly bound groups of nodes, for which
// Gaussian elimination cancels completely, keep their full relative accuracy. The labelled points
// of one class act as one node, a column of `classes`.
//
// Only the part of a row above the diagonal is stored and used, so that every edge has one value
// and the rounded graph stays symmetric; the error bound of certune.families.graph_ssl.solver needs
// that. Sums over a row are compensated.

#include <span>
#include <vector>

#include "graph/graph.h"
#include "matrix_view.h"
#include "stop_token.h"

namespace certune::graph {

// Work arrays: before elimination the weights of a graph; after it, row k has the weights at node k
// when it was taken away, and sums[k] their sum.
struct Elimination {
    MatrixView<double> weights;  // (n, n), above the diagonal
    MatrixView<double> classes;  // (n, n_classes)
    std::span<double> sums;      // (n,)
};

// Exponents are the lengths times these rates, each an unevaluated sum high + low.
struct Rates {
    std::span<const double> high;
    std::span<const double> low;
};

// Fills in weights exp(shift - sum_k rates[k] lengths[k]), within 8 units of roundoff. Exponents
// below -700 are taken as -700: callers choose the shift so that this does not matter.
void fill_weights(const LabelledGraph& graph, const Rates& rates, double shift,
                  const Elimination& out, StopToken& stop);

// Eliminates all nodes in place; false if some node has no weight left.
bool eliminate(const Elimination& graph, StopToken& stop);

// The following take what `eliminate` has left.

// Harmonic functions (n, n_classes), 1 on one class and 0 on the others.
std::vector<double> substitute(const Elimination& done, StopToken& stop);

// Solves the grounded Laplacian system for right-hand sides (n, m), in place. Each entry is within
// a small multiple of what the moduli of the right-hand side would give, because the inverse of the
// matrix and of its factors have no negative entries.
void solve_grounded(const Elimination& done, MatrixView<double> right, StopToken& stop);

// Diagonal of the inverse of the grounded Laplacian.
std::vector<double> inverse_diagonal(const Elimination& done, StopToken& stop);

// The whole inverse (n, n): Green functions.
std::vector<double> green_functions(const Elimination& done, StopToken& stop);

// Dirichlet energy of each harmonic function: the conductance between its class and the others.
std::vector<double> class_energies(const Elimination& done, StopToken& stop);

}  // namespace certune::graph
