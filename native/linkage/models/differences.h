#pragma once

// The difference of two linkage values near a point, as a polynomial with a proved error.
//
// f(t) > 0 says that (x, y) is nearer than (x, z). On |t - c| <= h a model is twelve coefficients p
// and one bound E: p stays within E of a function that has the sign of f everywhere. Values are
// divided by a common factor near their own size, and across alpha = 0 the Box-Cox form is taken.
// Fixed distances and products have exponents affine in t, so their Taylor coefficients are power
// sums of the rates, weighted with the values at c: one pass over the pairs, eight at a time.

#include <cstdint>
#include <span>
#include <vector>

#include "linkage/models/pair_functions.h"
#include "linkage/models/series.h"

namespace certune::linkage {

// Both parameters of some pairs of points, and the positive coefficients of their values in a sum;
// without coefficients it is their mean.
struct PairList {
    std::vector<double> first;
    std::vector<double> second;
    std::vector<double> coefficients;

    std::size_t size() const { return first.size(); }
    // Coefficient of a pair, up to what the sum is divided by.
    double coefficient(std::size_t i) const { return coefficients.empty() ? 1.0 : coefficients[i]; }
    double divisor() const { return coefficients.empty() ? static_cast<double>(size()) : 1.0; }
};

// The pairs that the values of (x, y) and of (x, z) are made of. For energies they are sorted by
// the signs of their coefficients in the difference instead: what counts is far less near.
struct TwoValues {
    PairList near;
    PairList far;

    // Members of x, y and z are marked by 1, 2 and 3; if some are marked by 4, the second pair is
    // (these, z).
    TwoValues(Kind kind, const PairFunctions& pairs, std::span<const std::uint8_t> marks);
};

// p(u), u = (origin + slope t) scale, is within `error` of the difference; `floor` is the part of
// the error that stays on narrower intervals. The error is infinite if there is no model.
struct DifferenceModel {
    Taylor coefficients{};
    double origin = 0.0;
    double slope = 1.0;
    double scale = 1.0;
    double floor = 0.0;
    double error = 0.0;

    struct Value {
        double value, slope;
    };
    double place(double t) const { return (origin + slope * t) * scale; }
    Value evaluated(double u) const;
    Value at(double t) const { return evaluated(place(t)); }
};

// For products with a negative total exponent the difference has the opposite sign.
DifferenceModel difference_model(Kind kind, const PairFunctions& pairs, const TwoValues& values,
                                 double centre, double half);

// Errors without those of reading the polynomial: lasting ones, and those due to the width.
DifferenceModel moving_difference(Kind kind, const PairFunctions& pairs, const TwoValues& values,
                                  double centre, double half);
DifferenceModel no_difference_model(double centre, double half);

inline constexpr double box_cox_below = 0.25;  // largest exponent of powers in Box-Cox form

}  // namespace certune::linkage
