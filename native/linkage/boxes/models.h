#pragma once

// Records of all pairs of clusters on a box: what the linkage value of a pair can be there.

#include <cstdint>
#include <span>
#include <vector>

#include "linkage/boxes/forest.h"
#include "linkage/boxes/polynomial.h"
#include "matrix_view.h"
#include "stop_token.h"

namespace certune::linkage::boxes {

// What the value of a pair of clusters is made of: the mean of the values of its pairs of points,
// the smallest and the largest of them, or |A||B| / (|A| + |B|) (2 m(A, B) - m(A, A) - m(B, B))
// with m such means.
enum class Kind { mean, min_max, energy };

// A box of parameters of one instance. Values of pairs of points are powers d^alpha of a weighted
// sum of distances, or products of powers of distances.
struct Box {
    std::span<const double> data;  // (metrics, n, n): distances, or logarithms of them (products)
    std::size_t n_metrics = 0;
    std::size_t n_points = 0;
    std::span<const std::int64_t> twins;  // points with the same number are identical
    bool products = false;
    Kind kind = Kind::mean;
    // Sums: the weights at the vertices of the box. Products: middle and half width of every
    // exponent (two rows).
    MatrixView<const double> vertices;
    // The exponent alpha, or the common factor of all exponents; in Box-Cox form all of
    // [-half, half] (sums) or [0, half] (products), expanded at 0.
    double exponent = 1.0;
    double half = 0.0;
    bool box_cox = false;
    double sense = 1.0;  // -1: larger values are nearer
    // Relative rounding error of a value, and the error of coordinates as a share of the box.
    double rounding = 0.0;
    double displacement = 0.0;

    double distance(std::size_t metric, std::size_t a, std::size_t b) const {
        return data[(metric * n_points + a) * n_points + b];
    }
    bool identical(std::size_t a, std::size_t b) const { return twins[a] == twins[b]; }
    bool has_power() const { return box_cox || half > 0.0; }
    Coordinates coordinates() const;
};

// Pairs of points by the codes of their distances: equal codes, equal values.
using Codes = MatrixView<const std::uint64_t>;

// Which pair of points has the smallest (0) and the largest (1) value of a pair of clusters.
using Extremes = std::array<std::int64_t, 2>;
constexpr std::int64_t uncertain = -1;

constexpr std::size_t triangle(std::size_t x, std::size_t z) {
    return x > z ? x * (x - 1) / 2 + z : z * (z - 1) / 2 + x;
}

// Records of pairs of slots. A pair of min-max linkage has three: the sum, which is what is
// compared, then the minimum and the maximum. One of energy linkage has the energy and the mean.
struct Table {
    Kind kind = Kind::mean;
    std::size_t n_slots = 0;
    std::size_t width = 0;   // numbers of a record
    std::size_t stride = 0;  // and of a pair
    std::vector<double> numbers;
    std::vector<Extremes> extremes;  // of min-max linkage
    std::vector<double> within;      // of energy linkage: the mean within every slot

    Table() = default;
    Table(Kind table_kind, std::size_t slots, std::size_t record_width);
    double* within_slot(std::size_t x) { return within.data() + x * width; }
    const double* within_slot(std::size_t x) const { return within.data() + x * width; }
    double* operator()(std::size_t x, std::size_t z) {
        return numbers.data() + triangle(x, z) * stride;
    }
    const double* operator()(std::size_t x, std::size_t z) const {
        return numbers.data() + triangle(x, z) * stride;
    }
};

// Which vertices of a part of the box lie on a face that is left out, and which values agree there.
struct Face {
    Part part;                                    // the face, as a part of the box
    std::vector<std::vector<double>> directions;  // into the box, to every vertex that is not on it
    std::span<const std::uint64_t> codes;
};

// What decides when records do not: equal values, and values that agree on a face only.
struct Ties {
    Codes codes;
    std::vector<Face> faces;
};

// Records of the values at which clusters were merged, one for every node that is no point. Those
// of identical points come first and have none: theirs are zeros.
struct Heights {
    std::vector<double> numbers;
    std::vector<Extremes> extremes;  // of min-max linkage

    const double* of(std::size_t merge, std::size_t width) const {
        return numbers.data() + merge * width;
    }
};

struct Models {
    Table table;
    Heights heights;
    bool complete = false;  // every pair has a record
    // Mean distance by which the exponent of a pair moves along each coordinate; for a simplex
    // along each of its edges (j, k), j < k, by k.
    std::vector<double> movements;
};

// Merges that were made already, and the slots of the clusters that are left.
struct Start {
    const Forest& forest;
    std::vector<std::int64_t> slots;  // of every point
    std::vector<std::size_t> nodes;   // of every slot
};

Models make_models(const Box& box, const PolynomialSpace& space, const Ties& ties,
                   const Start& start, bool with_heights, StopToken& stop);

// The energy of slots x and z from the means, with the sizes of the two clusters.
void set_energy(const PolynomialSpace& space, Table& table, std::size_t x, std::size_t z,
                double size_x, double size_z);

// Makes `here` the minimum (or maximum) of two records, whose pairs of points are given; returns
// the pair that attains it on the whole box, or `uncertain`.
std::int64_t take_extreme(const PolynomialSpace& space, const Ties& ties, bool maximum,
                          double* here, std::int64_t pair, const double* there, std::int64_t other);

// Order of two values that agree on a face: 1 if `difference` is positive off it, -1 if negative.
int order_off_face(const PolynomialSpace& space, const Face& face, const double* difference);

}  // namespace certune::linkage::boxes
