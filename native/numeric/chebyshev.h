#pragma once

// Sums of Chebyshev polynomials, evaluated and expanded anew on parts of their intervals.
//
// Row r of a coefficient matrix is the polynomial sum_k c(r, k) T_k(s) on -1 <= s <= 1. Rounding
// errors are bounded in certune/dual/chebyshev.py.

#include <cstdint>
#include <span>
#include <vector>

#include "matrix_view.h"
#include "stop_token.h"

namespace certune::numeric {

struct ChebyshevRows {
    MatrixView<const double> coefficients;
    std::span<const std::int64_t>
        n_terms;  // of each row, the coefficients that count, at least one

    std::span<const double> terms(std::size_t row) const {
        return coefficients.row(row).first(static_cast<std::size_t>(n_terms[row]));
    }
};

// Value of polynomial rows[i] at points[i], for every i.
std::vector<double> evaluate(const ChebyshevRows& polynomials, std::span<const std::int64_t> rows,
                             std::span<const double> points, StopToken& stop);

// Parts of the intervals of polynomials: cell i is [left[i], right[i]] in the coordinate of
// polynomial rows[i]; a negative row is no polynomial at all.
struct Cells {
    std::span<const std::int64_t> rows;
    std::span<const double> left;
    std::span<const double> right;
};

// Values at the first n_nodes[i] Chebyshev points of cell i, as row i of a matrix.
struct Samples {
    MatrixView<double> values;
    std::span<const std::int64_t> n_nodes;
};

// Adds the values of the polynomials of the cells to the samples.
void add_samples(const ChebyshevRows& polynomials, const Cells& cells, const Samples& samples,
                 StopToken& stop);

// Coefficients of the polynomials through samples, a row for each cell, filled up with zeros.
std::vector<double> interpolate(MatrixView<const double> values,
                                std::span<const std::int64_t> n_nodes, StopToken& stop);

}  // namespace certune::numeric
