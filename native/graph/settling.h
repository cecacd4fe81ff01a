#pragma once

// Where the largest of several polynomials is certain.
//
// On a panel the soft labels of a node are known as polynomials in Chebyshev form, one for each
// class, with an error bound. The panel is cut into parts on which the winner is proved, and zones,
// as narrow as the error allows, in which it is not. A part is settled if the winner's lead exceeds
// the sum of the other coefficients; if two classes are left and their difference is monotone
// there, the two ends of the zone are found by bisection; otherwise the part is halved.

#include <cstdint>
#include <span>
#include <vector>

#include "matrix_view.h"
#include "stop_token.h"

namespace certune::graph {

// In a zone: more than two classes, or no monotone difference.
inline constexpr std::int64_t open_zone = -1;

struct Leaf {
    std::size_t node = 0;
    double low = 0.0;  // the ends, in [-1, 1]
    double high = 0.0;
    // Equal where the winner is proved; in a zone it is one of both, or any admitted class if both
    // are `open_zone`.
    std::int64_t winner = 0;
    std::int64_t rival = 0;
};

// Chebyshev coefficients of the classes of one node on [-1, 1], each value within `error`.
struct NodeSeries {
    MatrixView<const double> series;  // (n_classes, degree + 1)
    std::span<const bool> admitted;   // other classes never win
    double error = 0.0;
};

// Appends the leaves of one node, from left to right. `halving` (degree + 1, degree + 1) takes
// coefficients on [-1, 1] to those on [-1, 0], rounded once.
void settle(std::size_t node, const NodeSeries& given, MatrixView<const double> halving,
            std::vector<Leaf>& leaves, StopToken& stop);

// Chebyshev coefficients (columns, count) of the interpolants at the nodes cos(pi j / degree).
//
// values(j, .) are numbers in [0, 1] at node j. Sums are compensated: each coefficient is within 16
// units of roundoff, as the moduli of the factors add up to at most 2 and each of them, a cosine of
// a reduced argument times two numbers, is within 5 units.
std::vector<double> chebyshev_coefficients(MatrixView<const double> values, StopToken& stop);

}  // namespace certune::graph
