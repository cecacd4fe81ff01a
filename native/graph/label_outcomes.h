#pragma once

// Which labels are possible on a box of parameters, and how many can be right at once. Soft labels
// are linear functions on the box, given by their values at its vertices, up to a proved error.

#include <cstdint>
#include <span>
#include <vector>

#include "graph/graph.h"
#include "matrix_view.h"
#include "stop_token.h"

namespace certune::graph {

struct LinearLabels {
    std::span<const double> values;   // at the vertices (n_vertices, n_nodes, n_classes)
    MatrixView<const double> errors;  // (n_nodes, n_classes)
    std::size_t n_vertices = 0;

    std::size_t n_nodes() const { return errors.rows; }
    std::size_t n_classes() const { return errors.columns; }
    double value(std::size_t vertex, std::size_t node, std::size_t c) const {
        return values[(vertex * n_nodes() + node) * n_classes() + c];
    }
};

struct Ruling {
    // How far ahead the true class of a node can be of the rival that is hardest to beat, at the
    // vertices (n_nodes, n_vertices); infinite if the class is not possible.
    std::vector<double> room;
    std::vector<std::uint8_t> close;  // whether two possible classes of a node are close
};

// Rules out classes that lose to another one on the whole box: clears their entries in `possible`
// (n_nodes, n_classes). `truth` is the true class of each node; one that is none of them has no
// room.
Ruling rule_out(const LinearLabels& labels, std::span<const Index> truth, MatrixView<bool> possible,
                StopToken& stop);

// Size of a maximal set of disjoint pairs of rows that are nowhere on the box both >= 0. `room`
// (rows, vertices) are linear functions by their values at the vertices. Two of them exclude each
// other if a mixture of both is negative at every vertex.
std::size_t conflicts(MatrixView<const double> room, StopToken& stop);

}  // namespace certune::graph
