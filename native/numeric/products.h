#pragma once

#include <span>
#include <vector>

#include "matrix_view.h"

namespace certune::numeric {

// The transposed matrix times a vector, in twice the working precision and rounded once.
//
// Residuals of an almost exact solution are differences of almost equal numbers. A component of the
// result differs from the exact one by at most u times itself plus (n u)^2 times the sum of the
// absolute products, u = 2**-53, n rows.
std::vector<double> accurate_transposed_product(MatrixView<const double> matrix,
                                                std::span<const double> vector);

// The same in plain precision: column j is a sum over the rows in ascending order.
std::vector<double> transposed_product(MatrixView<const double> matrix,
                                       std::span<const double> vector);

}  // namespace certune::numeric
