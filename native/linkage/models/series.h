#pragma once

// Local polynomial models of pair functions: Taylor series, economised, in Bernstein form.
//
// Along a segment every pair of points contributes one smooth positive function of t. On a panel
// |t - c| <= h it is expanded to `terms` Taylor terms, the Chebyshev tail is cut down to `degree`
// coefficients, and the result is written in Bernstein form, where a polynomial lies between its
// smallest and largest coefficient. Coefficients of cluster pairs are averages (or minima and
// maxima) of those of point pairs, so a comparison of two linkage values is certified on a whole
// interval by comparing coefficients.
//
// The error of a model is one relative number per panel: it covers the Taylor tail, the
// economisation, the rounding of every operation and the rounding of the inputs.

#include <array>

namespace certune::linkage {

inline constexpr int degree = 8;  // Bernstein coefficients: a record is one cache line
inline constexpr int terms = 12;  // Taylor terms before economisation; even

using Taylor = std::array<double, terms>;

// Bernstein coefficients of the truncated Chebyshev series of u^k on [-1, 1], row k.
extern const std::array<std::array<double, degree>, terms> economised_monomials;

// Half of a table of economised Taylor terms; the other half follows by symmetry. On [-1, 1] even
// monomials have symmetric Bernstein coefficients, odd ones antisymmetric: row i has the first four
// coefficients of the powers 2i and 2i + 1.
using FoldedTable = std::array<double, terms / 2 * degree>;
extern const FoldedTable exponential_table;          // of exp(u)
extern const FoldedTable difference_quotient_table;  // of (exp(u) - 1) / u

// What bounds the exponent y of a value, relative to the centre of a panel |tau| <= half_width:
// |y| <= rate |tau| where it is affine, or for a moving distance to a moving power
// |alpha| L + |alpha'| |tau| (log_size + L), L = -log(1 - ratio |tau|).
struct ExponentBound {
    double half_width = 0.0;
    double rate = 0.0;        // largest |dy/dt| where the exponent is affine
    double ratio = 0.0;       // largest |slope / value| of a moving distance at the centre
    double power = 0.0;       // |alpha| at the centre
    double power_rate = 0.0;  // |d alpha / dt|
    double log_size = 0.0;    // largest |log distance| at the centre

    double on_disc(double radius) const;
};

// Relative error of the models on a panel; infinite if no bound holds. Sums have at most 16 n
// roundings: averages add up the members of one cluster, then those of the other (2 n), and merges
// average averages (3 n).
double model_error(const ExponentBound& bound, int n_points, double input_error);

// A moving distance to a moving power about the centre of a panel.
struct MovingPower {
    double power = 0.0;       // alpha at the centre
    double power_rate = 0.0;  // d alpha / dt
    double half_width = 0.0;
    bool box_cox = false;  // (d^alpha - 1) / alpha about a zero of alpha, log d if it vanishes

    // Taylor terms, times half_width^k. The distance is relative to the common scale.
    void series(double distance, double slope, Taylor& out) const;
};

// Adds the Bernstein coefficients of a Taylor series to a record.
void add_series(const Taylor& series, double* target);

}  // namespace certune::linkage
