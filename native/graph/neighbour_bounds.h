#pragma once

// Bounds of soft labels at complex parameters from those of the neighbours: a soft label is the
// mean of its neighbours' with complex weights, so that |f_u| <= sum |w_uv| |f_v| / |sum w_uv|.
// Far nodes, for which bounds by energies are large, come close to those they hang on.

#include <array>
#include <span>
#include <vector>

#include "graph/graph.h"
#include "matrix_view.h"
#include "stop_token.h"

namespace certune::graph {

// Where the two powers lie that exponents are linear in: real parts, and moduli of imaginary parts.
struct PowerBox {
    std::array<double, 2> low;
    std::array<double, 2> high;
    std::array<double, 2> imaginary;
};

// Some nodes, in the order in which they are looked at, and logarithms of bounds of all nodes.
struct Neighbourhood {
    std::array<Exponents, 2> coefficients;  // of the powers
    Joined joined;
    std::span<const Index> chosen;
    std::span<const double> bounds;
    double slack = 0.0;  // room for the rounding of differences of exponents
};

// Logarithms of bounds of all nodes, lower for chosen ones, that hold on all of the boxes. Labels
// are bounded by 1, and so is what nobody knows: no bound is below 1.
std::vector<double> bounds_by_neighbours(const Neighbourhood& around,
                                         std::span<const PowerBox> boxes, StopToken& stop);

}  // namespace certune::graph
