#pragma once

// Steps to the minimum of a penalised logistic loss, with the factor of a Hessian from close by.
//
// The loss is the mean of v_i log(1 + exp(-a_i . b)) over the rows a_i of a design with weights
// v_i; the gradient of the penalty is lam (linear + quadratic * b). The error bound is derived in
// certune/families/logistic/smooth.py.

#include <span>
#include <vector>

#include "matrix_view.h"
#include "stop_token.h"

namespace certune::logistic {

// Rounding errors of the factorisation may change its norms by this factor.
inline constexpr double factor_slack = 1.01;
inline constexpr int most_refinements = 12;

// The rows a_i, and the same matrix with its columns as rows: products read along rows.
struct Design {
    MatrixView<const double> rows;
    MatrixView<const double> columns;
    std::span<const double> weights;  // of the rows, of mean 1; empty: all are 1
    double largest_row = 0.0;         // Euclidean norm

    std::size_t n_rows() const { return rows.rows; }
    std::size_t n_columns() const { return rows.columns; }
};

struct Penalty {
    double lam = 0.0;
    std::span<const double> linear;
    std::span<const double> quadratic;  // empty: none

    std::vector<double> gradient(std::span<const double> point) const;
};

// Cholesky factor L of a Hessian H = L L^T.
struct Factor {
    MatrixView<const double> columns;  // row j holds column j of L
    double inverse_norm = 0.0;         // bound of the spectral norm of L^-1
};

// Gradient of the objective, in twice the working precision and rounded once.
struct Residual {
    std::vector<double> gradient;
    double rounding = 0.0;  // bound of the Euclidean norm of the errors of the last operations
    double spread = 0.0;    // of the errors of chances, in the norm of H^-1
    std::vector<double> chances;  // of every row, the probability of the other class
};

Residual accurate_residual(const Design& design, std::span<const double> point,
                           std::span<const double> penalty_gradient);

// Bound of the distance to the minimum from the norm nu of the gradient with respect to H^-1.
double distance_bound(double nu, double inverse_norm, double largest_row);

// Where a refinement starts: a point at which no margin differs by more than `moved` from where the
// factor belongs to, and the distance to the minimum that suffices.
struct Start {
    std::span<const double> point;
    double moved = 0.0;
    double target = 0.0;
};

struct Solution {
    std::vector<double> point;
    double radius = 0.0;        // bound of the distance to the minimum
    std::vector<double> slope;  // derivative of the minimum by lam
    std::vector<double> chances;
};

// Refines a point with the factor of a Hessian close by, and bounds its error. Residuals have twice
// the working precision, and every step gains a factor of about `moved`.
Solution refined(const Design& design, const Penalty& penalty, const Factor& factor,
                 const Start& start, StopToken& stop);

// Several problems without quadratic penalty, to be solved with one factor.
struct NearProblems {
    std::span<const double> linear;
    std::span<const double> anchor;  // where the factor belongs to
    std::span<const double> lams;
    MatrixView<const double> starts;
    double target = 0.0;
};

// Solutions for each lam; the radius is infinite, and nothing else there, if the steps do not
// converge fast.
std::vector<Solution> solved_near(const Design& design, const Factor& factor,
                                  const NearProblems& problems, StopToken& stop);

}  // namespace certune::logistic
