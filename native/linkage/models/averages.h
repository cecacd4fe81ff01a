#pragma once

// Records of averages: the Bernstein coefficients of the mean value of two clusters.

#include <array>
#include <cstdint>
#include <span>

#include "linkage/models/pair_functions.h"
#include "linkage/models/series.h"
#include "stop_token.h"

namespace certune::linkage {

// Place of a pair of different numbers in an array that has every pair once; those of 0..m-1 come
// before all with m.
inline std::size_t pair_place(int a, int b) {
    const auto large = static_cast<std::size_t>(a > b ? a : b);
    const auto small = static_cast<std::size_t>(a > b ? b : a);
    return large * (large - 1) / 2 + small;
}

// Where the records of averages are: mirrored in a square, or every pair once in a triangle.
struct AverageTable {
    double* data = nullptr;
    int slots = 0;
    bool mirrored = true;

    // Records of slot x with those before it.
    double* row(int x) const {
        const auto place = static_cast<std::size_t>(x);
        return data + degree * (mirrored ? place * static_cast<std::size_t>(slots)
                                         : place * (place - (place > 0)) / 2);
    }
    double* record(int x, int z) const { return row(x) + degree * z; }  // z < x
    double* mirror(int x, int z) const {
        const auto place = static_cast<std::size_t>(z) * static_cast<std::size_t>(slots);
        return mirrored ? data + degree * (place + static_cast<std::size_t>(x)) : record(x, z);
    }
};

// How the values of an interval are modelled.
struct ModelPlan {
    double error = 0.0;  // infinite if there is no model
    double scale = 0.0;  // logarithm of what values are divided by
    int sign = 1;        // +1 if smaller values are nearer, -1 if larger ones are
    bool box_cox = false;
    Interval interval;  // may be wider than the one asked for
};

// Fills the records of averages from the point pairs, on the interval of the plan.
void build_averages(const AverageTable& table, const Source& source,
                    std::span<const std::int64_t> labels, const ModelPlan& plan, StopToken& stop);

// The same for values that are constant: those of the pairs of points at one parameter.
void build_point_averages(const AverageTable& table, MatrixView<const double> values,
                          std::span<const std::int64_t> labels);

// Restricts Bernstein coefficients to a part [low, high] of [0, 1]: De Casteljau's algorithm on
// unit vectors. Convex combinations of positive numbers: applying it to positive coefficients adds
// a relative error of at most 8 degree roundings.
struct Restriction {
    std::array<double, degree * degree> matrix{};

    Restriction() = default;
    Restriction(double low, double high);
};
inline constexpr double restriction_error = 8.0 * degree * unit;

}  // namespace certune::linkage
