#include "linkage/boxes/polynomial.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace certune::linkage::boxes {

PolynomialSpace::PolynomialSpace(Coordinates coordinates)
    : coordinates_(coordinates), n_variables_(coordinates.count()) {
    const std::size_t n = n_variables_;
    first_pair_ = 1 + n;
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = i; j < n; ++j) {
            pairs_.push_back({static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(j)});
        }
    }
    first_triple_ = first_pair_ + pairs_.size();
    for (const auto [i, j] : pairs_) {
        for (std::size_t k = j; k < n; ++k)
            triples_.push_back({i, j, static_cast<std::uint8_t>(k)});
    }
    n_coefficients_ = first_triple_ + triples_.size();
    pair_places_.resize(n * n);
    triple_places_.resize(n * n * n);
    for (std::size_t p = 0; p < pairs_.size(); ++p) {
        const auto [i, j] = pairs_[p];
        pair_places_[i * n + j] = pair_places_[j * n + i] = first_pair_ + p;
    }
    for (std::size_t p = 0; p < triples_.size(); ++p) {
        Triple order = triples_[p];
        do {
            triple_places_[(order[0] * n + order[1]) * n + order[2]] = first_triple_ + p;
        } while (std::next_permutation(order.begin(), order.end()));
    }
    const std::vector<double> low(coordinates_.n_intervals, -1.0);
    const std::vector<double> high(coordinates_.n_intervals, 1.0);
    const std::size_t m = coordinates_.n_vertices;
    std::vector<double> identity(m * m, 0.0);
    for (std::size_t k = 0; k < m; ++k) identity[k * m + k] = 1.0;
    whole_ = part(low, high, identity);
}

Part PolynomialSpace::part(std::span<const double> lows, std::span<const double> highs,
                           std::span<const double> vertices) const {
    Part result{std::vector<double>(n_variables_), std::vector<double>(n_variables_), {}};
    const std::size_t intervals = coordinates_.n_intervals;
    for (std::size_t i = 0; i < intervals; ++i) {
        result.middle[i] = 0.5 * (lows[i] + highs[i]);
        result.reach[i] = std::max(highs[i] - result.middle[i], result.middle[i] - lows[i]);
    }
    const std::size_t m = coordinates_.n_vertices;
    if (m == 0) return result;
    const std::size_t rows = vertices.size() / m;
    for (std::size_t k = 1; k < m; ++k) {
        double sum = 0.0;
        for (std::size_t row = 0; row < rows; ++row) sum += vertices[row * m + k];
        result.middle[intervals + k - 1] =
            sum / static_cast<double>(rows) - 1.0 / static_cast<double>(m);
    }
    for (std::size_t row = 0; row < rows; ++row) {
        for (std::size_t k = 1; k < m; ++k) {
            const double from_middle = vertices[row * m + k] - 1.0 / static_cast<double>(m) -
                                       result.middle[intervals + k - 1];
            result.corners.push_back(from_middle);
            double& reach = result.reach[intervals + k - 1];
            reach = std::max(reach, std::abs(from_middle));
        }
    }
    return result;
}

std::vector<double> PolynomialSpace::edge(std::size_t from, std::size_t to) const {
    std::vector<double> direction(n_variables_, 0.0);
    if (from > 0) direction[coordinates_.n_intervals + from - 1] = -1.0;
    if (to > 0) direction[coordinates_.n_intervals + to - 1] = 1.0;
    return direction;
}

namespace {

// Least and largest value of a linear form at the corners of a part.
std::pair<double, double> at_corners(const double* form, const std::vector<double>& corners,
                                     std::size_t size) {
    double least = std::numeric_limits<double>::infinity();
    double most = -least;
    for (std::size_t start = 0; start < corners.size(); start += size) {
        double value = 0.0;
        for (std::size_t k = 0; k < size; ++k) value += form[k] * corners[start + k];
        least = std::min(least, value);
        most = std::max(most, value);
    }
    return {least, most};
}

}  // namespace

double PolynomialSpace::reach(std::span<const double> form) const {
    const std::size_t intervals = coordinates_.n_intervals;
    double result = 0.0;
    for (std::size_t i = 0; i < intervals; ++i) result += std::abs(form[i]);
    if (coordinates_.n_vertices > 0) {
        const auto [least, most] =
            at_corners(form.data() + intervals, whole_.corners, n_variables_ - intervals);
        result += std::max(-least, most);
    }
    return result;
}

void PolynomialSpace::add_linear(double* record, std::span<const double> form,
                                 double factor) const {
    for (std::size_t i = 0; i < n_variables_; ++i) record[1 + i] += factor * form[i];
}

namespace {

// Products of linear forms in N variables; loops of a known length are unrolled.
template <std::size_t N>
void add_pairs(double* record, const std::size_t* places, const double* first, const double* second,
               double factor) {
    for (std::size_t i = 0; i < N; ++i) {
        const double scaled = factor * first[i];
        for (std::size_t j = 0; j < N; ++j) record[places[i * N + j]] += scaled * second[j];
    }
}

template <std::size_t N>
void add_triples(double* record, const std::size_t* places, const double* first,
                 const double* second, const double* third, double factor) {
    for (std::size_t i = 0; i < N; ++i) {
        for (std::size_t j = 0; j < N; ++j) {
            const double both = factor * first[i] * second[j];
            const std::size_t* row = places + (i * N + j) * N;
            for (std::size_t k = 0; k < N; ++k) record[row[k]] += both * third[k];
        }
    }
}

}  // namespace

void PolynomialSpace::add_product(double* record, std::span<const double> first,
                                  std::span<const double> second, double factor) const {
    const std::size_t* places = pair_places_.data();
    switch (n_variables_) {
        case 1:
            return add_pairs<1>(record, places, first.data(), second.data(), factor);
        case 2:
            return add_pairs<2>(record, places, first.data(), second.data(), factor);
        case 3:
            return add_pairs<3>(record, places, first.data(), second.data(), factor);
        default:
            break;
    }
    for (std::size_t i = 0; i < n_variables_; ++i) {
        const double scaled = factor * first[i];
        for (std::size_t j = 0; j < n_variables_; ++j) {
            record[pair_place(i, j)] += scaled * second[j];
        }
    }
}

void PolynomialSpace::add_product(double* record, std::span<const double> first,
                                  std::span<const double> second, std::span<const double> third,
                                  double factor) const {
    const std::size_t* places = triple_places_.data();
    const double *a = first.data(), *b = second.data(), *c = third.data();
    switch (n_variables_) {
        case 1:
            return add_triples<1>(record, places, a, b, c, factor);
        case 2:
            return add_triples<2>(record, places, a, b, c, factor);
        case 3:
            return add_triples<3>(record, places, a, b, c, factor);
        default:
            break;
    }
    for (std::size_t i = 0; i < n_variables_; ++i) {
        for (std::size_t j = 0; j < n_variables_; ++j) {
            const double both = factor * a[i] * b[j];
            for (std::size_t k = 0; k < n_variables_; ++k) {
                record[triple_place(i, j, k)] += both * c[k];
            }
        }
    }
}

void PolynomialSpace::set_spread(double* record) const {
    const Range found = enclose(record, whole_, record[remainder()]);
    record[spread()] = std::max(record[0] - found.lower, found.upper - record[0]);
}

// `moved` are the coefficients of a polynomial in the distances from the middle of the part.
Range PolynomialSpace::enclose(const double* moved, const Part& part, double remainder) const {
    const std::size_t intervals = coordinates_.n_intervals;
    double least = 0.0, most = 0.0;
    for (std::size_t i = 0; i < intervals; ++i) most += std::abs(moved[1 + i]) * part.reach[i];
    least = -most;
    if (coordinates_.n_vertices > 0) {
        const auto [low, high] =
            at_corners(moved + 1 + intervals, part.corners, n_variables_ - intervals);
        least += low;
        most += high;
    }
    Range result{moved[0] + least, moved[0] + most, std::max(-least, most)};
    double bends = remainder;
    for (std::size_t p = 0; p < pairs_.size(); ++p) {
        const auto [i, j] = pairs_[p];
        const double size = moved[first_pair_ + p] * part.reach[i] * part.reach[j];
        if (i != j) {
            bends += std::abs(size);
        } else if (size > 0.0) {
            result.upper += size;  // a square is not negative
        } else {
            result.lower += size;
        }
    }
    for (std::size_t p = 0; p < triples_.size(); ++p) {
        const auto [i, j, k] = triples_[p];
        bends += std::abs(moved[first_triple_ + p]) * part.reach[i] * part.reach[j] * part.reach[k];
    }
    result.lower -= bends;
    result.upper += bends;
    return result;
}

// Coefficients in the distances from the middle of a part.
void PolynomialSpace::move(const double* record, const Part& part, double* moved) const {
    std::copy(record, record + n_coefficients_, moved);
    const double* x = part.middle.data();
    for (std::size_t i = 0; i < n_variables_; ++i) moved[0] += record[1 + i] * x[i];
    for (std::size_t p = 0; p < pairs_.size(); ++p) {
        const auto [i, j] = pairs_[p];
        const double c = record[first_pair_ + p];
        moved[0] += c * x[i] * x[j];
        moved[1 + i] += c * x[j];
        moved[1 + j] += c * x[i];
    }
    for (std::size_t p = 0; p < triples_.size(); ++p) {
        const auto [i, j, k] = triples_[p];
        const double c = record[first_triple_ + p];
        const double cij = c * x[i] * x[j];
        moved[0] += cij * x[k];
        moved[1 + k] += cij;
        moved[1 + j] += c * x[i] * x[k];
        moved[1 + i] += c * x[j] * x[k];
        moved[pair_place(i, j)] += c * x[k];
        moved[pair_place(i, k)] += c * x[j];
        moved[pair_place(j, k)] += c * x[i];
    }
}

Range PolynomialSpace::range(const double* record, const Part& part) const {
    if (&part == &whole_) return enclose(record, part, record[remainder()]);
    // Up to seven variables without memory from the heap.
    std::array<double, 120> few;
    std::vector<double> many(n_coefficients_ > few.size() ? n_coefficients_ : 0);
    double* moved = many.empty() ? few.data() : many.data();
    move(record, part, moved);
    return enclose(moved, part, record[remainder()]);
}

Linear PolynomialSpace::linearised(const double* record, const Part& part) const {
    std::vector<double> moved(n_coefficients_);
    move(record, part, moved.data());
    Linear result{moved[0],
                  {moved.begin() + 1, moved.begin() + 1 + static_cast<long>(n_variables_)},
                  record[remainder()]};
    for (std::size_t p = 0; p < pairs_.size(); ++p) {
        const auto [i, j] = pairs_[p];
        result.error += std::abs(moved[first_pair_ + p]) * part.reach[i] * part.reach[j];
    }
    for (std::size_t p = 0; p < triples_.size(); ++p) {
        const auto [i, j, k] = triples_[p];
        result.error +=
            std::abs(moved[first_triple_ + p]) * part.reach[i] * part.reach[j] * part.reach[k];
    }
    return result;
}

void PolynomialSpace::gradient(const double* record, const Part& part,
                               std::span<double> result) const {
    const double* x = part.middle.data();
    for (std::size_t i = 0; i < n_variables_; ++i) result[i] = record[1 + i];
    for (std::size_t p = 0; p < pairs_.size(); ++p) {
        const auto [i, j] = pairs_[p];
        const double c = record[first_pair_ + p];
        result[i] += c * x[j];
        result[j] += c * x[i];
    }
    for (std::size_t p = 0; p < triples_.size(); ++p) {
        const auto [i, j, k] = triples_[p];
        const double c = record[first_triple_ + p];
        result[i] += c * x[j] * x[k];
        result[j] += c * x[i] * x[k];
        result[k] += c * x[i] * x[j];
    }
}

Range PolynomialSpace::slopes(const double* record, std::span<const double> direction) const {
    std::vector<double> slope(width(), 0.0);
    for (std::size_t i = 0; i < n_variables_; ++i) slope[0] += record[1 + i] * direction[i];
    for (std::size_t p = 0; p < pairs_.size(); ++p) {
        const auto [i, j] = pairs_[p];
        slope[1 + i] += record[first_pair_ + p] * direction[j];
        slope[1 + j] += record[first_pair_ + p] * direction[i];
    }
    for (std::size_t p = 0; p < triples_.size(); ++p) {
        const auto [i, j, k] = triples_[p];
        const double c = record[first_triple_ + p];
        slope[pair_place(i, j)] += c * direction[k];
        slope[pair_place(i, k)] += c * direction[j];
        slope[pair_place(j, k)] += c * direction[i];
    }
    return enclose(slope.data(), whole_, record[slope_error()]);
}

}  // namespace certune::linkage::boxes
