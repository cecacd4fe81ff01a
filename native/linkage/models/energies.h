#pragma once

// Energies of cluster pairs: |A||B| / (|A| + |B|) (2 m(A, B) - m(A, A) - m(B, B)).
//
// m is the mean over all pairs of a point of the one and a point of the other cluster, so that
// m(A, A) counts every point with itself, at 0. Frames hold the means, which are sums of positive
// functions and keep one small relative error under all merges; a record on the diagonal is the
// mean within a cluster. Energies are made of three of them when they are compared, with what
// cancels charged there: Ward's update of energies themselves would triple an error at each merge.

#include <array>
#include <span>

#include "linkage/models/frame.h"

namespace certune::linkage {

// The means within two clusters, and their sizes.
struct WithinPair {
    const double* first = nullptr;
    const double* second = nullptr;
    double first_size = 1.0;
    double second_size = 1.0;

    // |A||B| / (|A| + |B|), two roundings.
    double factor() const { return first_size * second_size / (first_size + second_size); }
};

inline WithinPair within_pair(const Frame& frame, int x, int y, double size_x, double size_y) {
    return {frame.record(x, x), frame.record(y, y), size_x, size_y};
}

// Roundings of an energy from its three means, relative to the sum of their absolute values.
inline constexpr double energy_rounding = 16.0;

// Upper bounds of the coefficients of an energy whose means have that relative error.
void energy_above(const double* between, const WithinPair& within, double error, double* bars);

// What a row of energies is compared with.
struct EnergyBars {
    const double* bars;            // coefficients
    std::span<const int> active;   // slots
    std::span<const double> size;  // of the active ones
    double error;                  // relative, of the means
};

// Position, from `begin` on, of the next active slot whose energy with the row is not proved to lie
// above the bars, in all coefficients.
std::size_t next_energy_below(const Frame& frame, int row, double row_size, const EnergyBars& than,
                              std::size_t begin);

// Active slot of least energy with a row, by one coefficient.
int nearest_energy(const Frame& frame, int row, double row_size, std::span<const int> active,
                   std::span<const double> size, int lane);

// Mean within the union of slots x and y.
std::array<double, degree> united_within(const Frame& frame, int x, int y, double size_x,
                                         double size_y);

}  // namespace certune::linkage
