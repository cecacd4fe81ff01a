#pragma once

#include <cstdint>
#include <span>

#include "matrix_view.h"

namespace certune::graph {

using Index = std::int64_t;

inline std::size_t at(Index index) { return static_cast<std::size_t>(index); }

// One value for every pair of nodes, and for every node and labelled point. Values among nodes are
// symmetric; those of pairs that no edge joins do not count.
template <class Value>
struct EdgeValues {
    MatrixView<Value> nodes;     // (n, n)
    MatrixView<Value> labelled;  // (n, n_labelled)

    std::size_t n_nodes() const { return labelled.rows; }
    std::size_t n_labelled() const { return labelled.columns; }
};

using Joined = EdgeValues<const bool>;       // which edges exist
using Exponents = EdgeValues<const double>;  // the weight of an edge is exp(-exponent)

// Nodes to be labelled and labelled points, with the lengths of their edges in several metrics.
struct LabelledGraph {
    std::span<const double> between;      // (n_metrics, n, n)
    std::span<const double> to_labelled;  // (n_metrics, n, n_labelled)
    Joined joined;
    std::span<const Index> class_of;  // of every labelled point
    std::size_t n_metrics = 0;
    std::size_t n_classes = 0;

    std::size_t n_nodes() const { return joined.n_nodes(); }
    std::size_t n_labelled() const { return joined.n_labelled(); }
    Exponents lengths(std::size_t metric) const {
        const std::size_t n = n_nodes(), m = n_labelled();
        return {{between.data() + metric * n * n, n, n},
                {to_labelled.data() + metric * n * m, n, m}};
    }
};

}  // namespace certune::graph
