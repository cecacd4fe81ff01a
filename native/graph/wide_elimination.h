#pragma once

#include <vector>

#include "graph/elimination.h"
#include "graph/graph.h"
#include "stop_token.h"

namespace certune::graph {

// Elimination without subtraction when weights leave the range of floats.
//
// At a very small bandwidth the weights of edges that matter can differ by more than all doubles.
// Here every number is a double in [1/2, 1) times a power of two of its own. The steps are those of
// elimination.h, at about twenty times the cost.
//
// Returns the shares (n, n + n_classes) of a node's weight, when it is eliminated, among later
// nodes and the classes: the same as `eliminate` followed by a division of every row by its sum, so
// that `substitute` can go on with sums of 1. Shares below the range of doubles are 0. Exponents
// may be as large as 1e12.
std::vector<double> transition_shares(const LabelledGraph& graph, const Rates& rates,
                                      StopToken& stop);

}  // namespace certune::graph
