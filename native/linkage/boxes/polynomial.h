#pragma once

// Polynomials of degree three on a box of parameters, with a remainder.
//
// A *record* says of a smooth function g that |g(x) - p(x)| <= remainder at every point x of the
// box: its numbers are the coefficients of p, then the remainder, a bound of the error of p's
// slopes, and the spread of p, the most by which g can differ from p(0).

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace certune::linkage::boxes {

// The coordinates of a box: intervals [-1, 1], and behind them those of a simplex with n_vertices
// >= 3 vertices (0: there is none), which are the barycentric coordinates of all vertices but the
// first, less 1 / n_vertices, so that the middle of the box is the origin.
struct Coordinates {
    std::size_t n_intervals = 0;
    std::size_t n_vertices = 0;

    std::size_t count() const { return n_intervals + (n_vertices == 0 ? 0 : n_vertices - 1); }
};

// A part of a box in the box's coordinates: a middle, how far each coordinate moves from it, and
// the vertices of the part of the simplex, seen from the middle (a row each).
struct Part {
    std::vector<double> middle;
    std::vector<double> reach;
    std::vector<double> corners;
};

// What is proved about a function on a part of the box.
struct Range {
    double lower = 0.0;
    double upper = 0.0;
    double variation = 0.0;  // by how much the linear part moves from the middle
};

// A linear function of the distances from the middle of a part, and by how much a function can
// differ from it there.
struct Linear {
    double value = 0.0;
    std::vector<double> slopes;
    double error = 0.0;
};

class PolynomialSpace {
   public:
    explicit PolynomialSpace(Coordinates coordinates);

    std::size_t n_variables() const { return n_variables_; }
    const Coordinates& coordinates() const { return coordinates_; }
    const Part& whole() const { return whole_; }

    // Places of a record.
    std::size_t remainder() const { return n_coefficients_; }
    std::size_t slope_error() const { return n_coefficients_ + 1; }
    std::size_t spread() const { return n_coefficients_ + 2; }
    std::size_t width() const { return n_coefficients_ + 3; }

    // The part of the box where the simplex has only these vertices, given by barycentric
    // coordinates (a row each), and each interval only [low, high].
    Part part(std::span<const double> lows, std::span<const double> highs,
              std::span<const double> vertices) const;
    // The largest absolute value of a linear form on the box.
    double reach(std::span<const double> form) const;
    // A linear form along the way from one vertex of the simplex to another.
    std::vector<double> edge(std::size_t from, std::size_t to) const;

    void add_linear(double* record, std::span<const double> form, double factor) const;
    void add_product(double* record, std::span<const double> first, std::span<const double> second,
                     double factor) const;
    void add_product(double* record, std::span<const double> first, std::span<const double> second,
                     std::span<const double> third, double factor) const;
    void set_spread(double* record) const;

    // Bounds of the function on a part, rounding of the coefficients' evaluation not included:
    // remainders cover it (docs/theory/branch-and-bound.md, Rounding).
    Range range(const double* record, const Part& part) const;
    Linear linearised(const double* record, const Part& part) const;
    // Bounds of the derivative in a direction, on the whole box.
    Range slopes(const double* record, std::span<const double> direction) const;
    // The linear part at the middle of a part of the box.
    void gradient(const double* record, const Part& part, std::span<double> result) const;

   private:
    using Pair = std::array<std::uint8_t, 2>;
    using Triple = std::array<std::uint8_t, 3>;

    std::size_t pair_place(std::size_t i, std::size_t j) const {
        return pair_places_[i * n_variables_ + j];
    }
    std::size_t triple_place(std::size_t i, std::size_t j, std::size_t k) const {
        return triple_places_[(i * n_variables_ + j) * n_variables_ + k];
    }
    void move(const double* record, const Part& part, double* moved) const;
    Range enclose(const double* moved, const Part& part, double remainder) const;

    Coordinates coordinates_;
    std::size_t n_variables_;
    std::vector<Pair> pairs_;      // i <= j, monomials of degree two in their order
    std::vector<Triple> triples_;  // i <= j <= k
    std::vector<std::size_t> pair_places_, triple_places_;
    std::size_t first_pair_, first_triple_, n_coefficients_;
    Part whole_;
};

}  // namespace certune::linkage::boxes
