#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "bindings/arrays.h"
#include "bindings/calls.h"
#include "bindings/rooms.h"
#include "logistic/coordinate_descent.h"
#include "logistic/newton.h"
#include "numeric/products.h"

namespace certune::bindings {

namespace {

using namespace nb::literals;

using Reals = Vector<const double>;
using Rows = Matrix<const double>;

// Arrays that are checked once and kept as long as Python keeps this.
class HeldDesign {
   public:
    HeldDesign(Rows rows, Rows columns, Reals weights, double largest_row)
        : rows_(std::move(rows)),
          columns_(std::move(columns)),
          weights_(std::move(weights)),
          largest_row_(largest_row) {
        expect(rows_.shape(0) == columns_.shape(1) && rows_.shape(1) == columns_.shape(0),
               "The design and its transpose must have matching shapes.");
        expect(rows_.shape(0) > 0, "The design must have a row.");
        expect(weights_.size() == 0 || weights_.size() == rows_.shape(0),
               "There must be one weight for each row of the design, or none.");
    }

    logistic::Design view() const {
        return {view_of(rows_), view_of(columns_), span_of(weights_), largest_row_};
    }
    void check(const Reals& vector, const char* message) const {
        expect(vector.size() == rows_.shape(1), message);
    }

   private:
    Rows rows_;
    Rows columns_;
    Reals weights_;
    double largest_row_;
};

class HeldFactor {
   public:
    HeldFactor(Rows columns, double inverse_norm)
        : columns_(std::move(columns)), inverse_norm_(inverse_norm) {
        expect(columns_.shape(0) == columns_.shape(1), "A factor must be square.");
    }

    logistic::Factor view() const { return {view_of(columns_), inverse_norm_}; }
    void check(const HeldDesign& design) const {
        expect(columns_.shape(0) == design.view().n_columns(),
               "The factor must have a row for each column of the design.");
    }

   private:
    Rows columns_;
    double inverse_norm_;
};

constexpr const char* one_a_column = "There must be one number for each column of the design.";

nb::tuple accurate_residual(const HeldDesign& design, const Reals& point, const Reals& penalty,
                            const Stop& stop) {
    design.check(point, one_a_column);
    design.check(penalty, one_a_column);
    auto found = unlocked(stop, [&](StopToken&) {
        return logistic::accurate_residual(design.view(), span_of(point), span_of(penalty));
    });
    return nb::make_tuple(array_of(std::move(found.gradient)), found.rounding, found.spread,
                          array_of(std::move(found.chances)));
}

nb::tuple refined(const HeldDesign& design, const std::tuple<double, Reals, Reals>& penalty,
                  const HeldFactor& factor, const Reals& start, double moved, double target,
                  const Stop& stop) {
    const auto& [lam, linear, quadratic] = penalty;
    for (const Reals& vector : {linear, quadratic, start}) design.check(vector, one_a_column);
    const logistic::Penalty own{lam, span_of(linear), span_of(quadratic)};
    factor.check(design);
    auto found = unlocked(stop, [&](StopToken& token) {
        return logistic::refined(design.view(), own, factor.view(), {span_of(start), moved, target},
                                 token);
    });
    return nb::make_tuple(array_of(std::move(found.point)), found.radius,
                          array_of(std::move(found.slope)), array_of(std::move(found.chances)));
}

// One row for each solution; where there is none, the radius is infinite and the rest NaN.
nb::tuple solved_near(const HeldDesign& design, const HeldFactor& factor,
                      std::pair<Reals, Reals> linear_and_anchor, const Reals& lams,
                      const Rows& starts, double target, const Stop& stop) {
    const auto& [linear, anchor] = linear_and_anchor;
    design.check(linear, one_a_column);
    design.check(anchor, one_a_column);
    factor.check(design);
    const std::size_t count = lams.size(), size = linear.size();
    const std::size_t n_rows = design.view().n_rows();
    expect(starts.shape(0) == count && starts.shape(1) == size,
           "There must be a start for each lam.");
    const logistic::NearProblems problems{span_of(linear), span_of(anchor), span_of(lams),
                                          view_of(starts), target};
    const auto solutions = unlocked(stop, [&](StopToken& token) {
        return logistic::solved_near(design.view(), factor.view(), problems, token);
    });
    const double nothing = std::numeric_limits<double>::quiet_NaN();
    std::vector<double> points(count * size, nothing), slopes(count * size, nothing);
    std::vector<double> radii, chances(count * n_rows, nothing);
    for (std::size_t k = 0; k < count; ++k) {
        const logistic::Solution& own = solutions[k];
        radii.push_back(own.radius);
        const auto place = [k](std::vector<double>& all, const std::vector<double>& part) {
            const auto row = static_cast<std::ptrdiff_t>(k * part.size());
            std::copy(part.begin(), part.end(), all.begin() + row);
        };
        place(points, own.point);
        place(slopes, own.slope);
        place(chances, own.chances);
    }
    return nb::make_tuple(array_of(std::move(points), {count, size}), array_of(std::move(radii)),
                          array_of(std::move(slopes), {count, size}),
                          array_of(std::move(chances), {count, n_rows}));
}

Result<double> penalised_minimum(const Rows& hessian, const Reals& linear, const Reals& start,
                                 const Reals& weights, bool non_negative,
                                 std::pair<std::size_t, double> patience, const Stop& stop) {
    const std::size_t size = start.size();
    expect(hessian.shape(0) == size && hessian.shape(1) == size && linear.size() == size,
           "The Hessian, the linear part and the start must have one size.");
    expect(weights.size() <= size, "There are more weights than coordinates.");
    const logistic::PenalisedQuadratic objective{view_of(hessian), span_of(linear),
                                                 span_of(weights), non_negative};
    return array_of(unlocked(stop, [&](StopToken& token) {
        return logistic::penalised_minimum(objective, span_of(start),
                                           {patience.first, patience.second}, token);
    }));
}

Result<double> accurate_transposed_product(const Rows& matrix, const Reals& vector,
                                           const Stop& stop) {
    expect(matrix.shape(0) == vector.size(), "There must be one number for each row.");
    return array_of(unlocked(stop, [&](StopToken&) {
        return numeric::accurate_transposed_product(view_of(matrix), span_of(vector));
    }));
}

}  // namespace

void bind_logistic(nb::module_& room) {
    nb::class_<HeldDesign>(room, "Design")
        .def(nb::init<Rows, Rows, Reals, double>(), "rows"_a.noconvert(), "columns"_a.noconvert(),
             "weights"_a.noconvert(), "largest_row"_a);
    nb::class_<HeldFactor>(room, "Factor")
        .def(nb::init<Rows, double>(), "columns"_a.noconvert(), "inverse_norm"_a);
    room.attr("FACTOR_SLACK") = logistic::factor_slack;
    room.attr("MOST_REFINEMENTS") = logistic::most_refinements;
    room.def("accurate_residual", &accurate_residual, "design"_a, "point"_a.noconvert(),
             "penalty"_a.noconvert(), "stop"_a);
    room.def("distance_bound", &logistic::distance_bound, "nu"_a, "inverse_norm"_a,
             "largest_row"_a);
    room.def("refined", &refined, "design"_a, "penalty"_a.noconvert(), "factor"_a,
             "start"_a.noconvert(), "moved"_a, "target"_a, "stop"_a);
    room.def("solved_near", &solved_near, "design"_a, "factor"_a, "linear_and_anchor"_a.noconvert(),
             "lams"_a.noconvert(), "starts"_a.noconvert(), "target"_a, "stop"_a);
    room.def("penalised_minimum", &penalised_minimum, "hessian"_a.noconvert(),
             "linear"_a.noconvert(), "start"_a.noconvert(), "weights"_a.noconvert(),
             "non_negative"_a, "patience"_a, "stop"_a);
    room.def("accurate_transposed_product", &accurate_transposed_product, "matrix"_a.noconvert(),
             "vector"_a.noconvert(), "stop"_a);
}

}  // namespace certune::bindings
