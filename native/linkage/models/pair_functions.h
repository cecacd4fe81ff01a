#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "matrix_view.h"

namespace certune::linkage {

inline constexpr double unit = 0x1p-53;  // largest relative error of one rounding

// What the value of two clusters is, in terms of the values of their pairs of points.
enum class Kind {
    mean = 0,
    minmax = 1,
    minimum = 2,
    maximum = 3,
    // |A||B| / (|A| + |B|) (2 m(A, B) - m(A, A) - m(B, B)), m the mean over all pairs of points:
    // what Ward's update makes of the values of pairs of points.
    energy = 4,
};

// What the value of a pair of points is along the segment.
enum class Mode {
    affine = 0,  // exp(A + t B)
    power = 1,   // exp(alpha(t) A): a fixed distance, A its logarithm
    moving = 2,  // (A + t B)^alpha(t): a moving distance
};

// value + slope t
struct Affine {
    double value = 0.0;
    double slope = 0.0;

    double at(double t) const { return value + slope * t; }
};

struct Interval {
    double low = 0.0;
    double high = 0.0;

    double width() const { return high - low; }
};

// Functions of the pairs of points along a segment.
struct PairFunctions {
    Mode mode = Mode::power;
    MatrixView<const double> first;         // A
    MatrixView<const double> second;        // B
    Affine power;                           // alpha; for affine ones only its sign counts
    double input_error = 0.0;               // of the logarithm of a value, from rounded inputs
    MatrixView<const std::uint64_t> codes;  // pairs with the same code have the same function
    bool ordered = false;                   // are codes ordered like values, at every parameter?
    std::span<const std::int64_t> twins;    // points with the same number are identical
    bool box_cox = true;  // are powers compared in their Box-Cox form near alpha = 0?

    int n_points() const { return static_cast<int>(first.rows); }
    bool identical(int a, int b) const {
        return twins[static_cast<std::size_t>(a)] == twins[static_cast<std::size_t>(b)];
    }
};

// Smallest and largest parameter over pairs of different clusters on an interval: of A (power), of
// the distance (moving), of B (affine).
struct Extent {
    double smallest = 0.0;
    double largest = 0.0;
};
Extent extent_of_pairs(const PairFunctions& pairs, std::span<const std::int64_t> labels,
                       Interval interval);

// What the values of clusters along a segment are made of.
struct Source {
    Kind kind = Kind::mean;
    PairFunctions pairs;
    double offset = 0.0;  // what A of affine functions has in common
    double span = 0.0;    // spread of the logarithms of values; negative at a point if smaller ones
                          // are nearer there
    Extent extent;        // of fixed distances, over the pairs of points that are looked at
};

// Points sorted by cluster, and where each cluster starts.
struct MembersByLabel {
    std::vector<int> members;
    std::vector<int> start;

    MembersByLabel(std::span<const std::int64_t> labels, int clusters);
    std::span<const int> of(int cluster) const {
        const auto begin = static_cast<std::size_t>(start[static_cast<std::size_t>(cluster)]);
        const auto end = static_cast<std::size_t>(start[static_cast<std::size_t>(cluster) + 1]);
        return std::span(members).subspan(begin, end - begin);
    }
};

}  // namespace certune::linkage
