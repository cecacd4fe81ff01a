#pragma once

#include <span>
#include <vector>

#include "matrix_view.h"
#include "stop_token.h"

namespace certune::logistic {

// z.H z / 2 - linear.z + weights.abs(z), the last for the first coordinates; if it is asked for,
// where none of these is negative.
struct PenalisedQuadratic {
    MatrixView<const double> hessian;
    std::span<const double> linear;
    std::span<const double> weights;
    bool non_negative = false;
};

// When a descent ends: after so many sweeps, or when no coordinate has changed the gradient by more
// than the tolerance times its weight (the smallest weight for one without).
struct Patience {
    std::size_t n_sweeps = 0;
    double tolerance = 0.0;
};

// Minimum by coordinate descent, one of the few methods that cannot be led astray by an
// ill-conditioned Hessian: every update minimises exactly along one coordinate, so that the
// objective never increases. Coordinates without curvature stay where they are.
std::vector<double> penalised_minimum(const PenalisedQuadratic& objective,
                                      std::span<const double> start, const Patience& patience,
                                      StopToken& stop);

}  // namespace certune::logistic
