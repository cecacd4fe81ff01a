#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "bindings/arrays.h"
#include "bindings/calls.h"
#include "bindings/rooms.h"
#include "numeric/chebyshev.h"

namespace certune::bindings {

namespace {

using namespace nb::literals;

using Reals = Vector<const double>;
using Rows = Matrix<const double>;
using Integers = Vector<const std::int64_t>;
using PolynomialsOf = std::pair<Rows, Integers>;

bool are_within(const Integers& numbers, std::int64_t low, std::size_t high) {
    const auto all = span_of(numbers);
    return std::all_of(all.begin(), all.end(), [=](std::int64_t number) {
        return number >= low && (number < 0 || static_cast<std::size_t>(number) <= high);
    });
}

numeric::ChebyshevRows polynomials_of(const PolynomialsOf& given) {
    const auto& [coefficients, n_terms] = given;
    expect(n_terms.size() == coefficients.shape(0),
           "There must be a number of terms for each row.");
    expect(are_within(n_terms, 1, coefficients.shape(1)), "There are not so many terms in a row.");
    return {view_of(coefficients), span_of(n_terms)};
}

void check_rows(const Integers& rows, std::int64_t low, const PolynomialsOf& polynomials) {
    const std::size_t count = polynomials.first.shape(0);
    const auto all = span_of(rows);
    expect(std::all_of(all.begin(), all.end(),
                       [=](std::int64_t row) {
                           return row >= low && (row < 0 || static_cast<std::size_t>(row) < count);
                       }),
           "There is no polynomial of that number.");
}

template <class Number>
void check_samples(const Matrix<Number>& values, const Integers& n_nodes) {
    expect(n_nodes.size() == values.shape(0), "There must be a number of nodes for each cell.");
    expect(are_within(n_nodes, 0, values.shape(1)), "There are not so many samples in a row.");
}

Result<double> evaluate(const PolynomialsOf& polynomials, const Integers& rows, const Reals& points,
                        const Stop& stop) {
    const auto own = polynomials_of(polynomials);
    check_rows(rows, 0, polynomials);
    expect(points.size() == rows.size(), "There must be a polynomial for each point.");
    return array_of(unlocked(stop, [&](StopToken& token) {
        return numeric::evaluate(own, span_of(rows), span_of(points), token);
    }));
}

void add_samples(const PolynomialsOf& polynomials, const std::tuple<Integers, Reals, Reals>& cells,
                 const Matrix<double>& values, const Integers& n_nodes, const Stop& stop) {
    const auto own = polynomials_of(polynomials);
    const auto& [rows, left, right] = cells;
    check_rows(rows, -1, polynomials);
    check_samples(values, n_nodes);
    expect(
        rows.size() == values.shape(0) && left.size() == rows.size() && right.size() == rows.size(),
        "There must be a row of samples for each cell.");
    const numeric::Cells parts{span_of(rows), span_of(left), span_of(right)};
    unlocked(stop, [&](StopToken& token) {
        numeric::add_samples(own, parts, {view_of(values), span_of(n_nodes)}, token);
        return true;
    });
}

Result<double> interpolate(const Rows& values, const Integers& n_nodes, const Stop& stop) {
    check_samples(values, n_nodes);
    auto found = unlocked(stop, [&](StopToken& token) {
        return numeric::interpolate(view_of(values), span_of(n_nodes), token);
    });
    return array_of(std::move(found), {values.shape(0), values.shape(1)});
}

}  // namespace

void bind_numeric(nb::module_& room) {
    room.def("evaluate", &evaluate, "polynomials"_a.noconvert(), "rows"_a.noconvert(),
             "points"_a.noconvert(), "stop"_a);
    room.def("add_samples", &add_samples, "polynomials"_a.noconvert(), "cells"_a.noconvert(),
             "values"_a.noconvert(), "n_nodes"_a.noconvert(), "stop"_a);
    room.def("interpolate", &interpolate, "values"_a.noconvert(), "n_nodes"_a.noconvert(),
             "stop"_a);
}

}  // namespace certune::bindings
