#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <optional>
#include <tuple>
#include <vector>

#include "bindings/arrays.h"
#include "bindings/calls.h"
#include "bindings/rooms.h"
#include "programs/kinetic_order.h"
#include "programs/lines.h"

namespace certune::bindings {

namespace {

using namespace nb::literals;

// Offset and slope of a line, each as its leading part, the rest, and a radius.
using Coefficients = std::array<double, 6>;

programs::Line line_of(const double* numbers) {
    return {{numbers[0], numbers[1], numbers[2]}, {numbers[3], numbers[4], numbers[5]}};
}

std::optional<std::tuple<double, double, int>> crossing(const Coefficients& first,
                                                        const Coefficients& second) {
    const auto found =
        programs::crossing(programs::difference(line_of(first.data()), line_of(second.data())));
    if (!found) return std::nullopt;
    return std::tuple(found->below, found->above, found->sign_after);
}

int sign_at(const Coefficients& first, const Coefficients& second, double t) {
    return programs::sign_at(programs::difference(line_of(first.data()), line_of(second.data())),
                             t);
}

using Order = std::tuple<bool, Result<std::int64_t>, Result<double>, Result<std::int64_t>, double>;

Order kinetic_order(const Matrix<const double>& lines, const Vector<const std::int64_t>& forms,
                    const std::tuple<double, double, std::int64_t>& stretch, const Stop& stop) {
    expect(lines.shape(1) == 6, "A line has six numbers.");
    expect(forms.size() == lines.shape(0), "There must be a form for each line.");
    const auto [start, end, most] = stretch;
    expect(start <= end && most >= 0, "A stretch goes from left to right.");
    std::vector<programs::Line> all;
    all.reserve(lines.shape(0));
    for (std::size_t row = 0; row < lines.shape(0); ++row) {
        all.push_back(line_of(lines.data() + 6 * row));
    }
    const programs::Stretch own{start, end, static_cast<std::size_t>(most)};
    auto found = unlocked(stop, [&](StopToken& token) {
        return programs::kinetic_order(all, span_of(forms), own, token);
    });
    std::vector<double> brackets;
    std::vector<std::int64_t> places;
    for (const programs::Exchange& exchange : found.exchanges) {
        brackets.push_back(exchange.below);
        brackets.push_back(exchange.above);
        places.push_back(exchange.place);
    }
    const std::size_t count = places.size();
    return {found.is_proved, array_of(std::move(found.order)),
            array_of(std::move(brackets), {count, 2}), array_of(std::move(places)), found.until};
}

}  // namespace

void bind_programs(nb::module_& room) {
    room.def("crossing", &crossing, "first"_a, "second"_a);
    room.def("sign_at", &sign_at, "first"_a, "second"_a, "t"_a);
    room.def("kinetic_order", &kinetic_order, "lines"_a.noconvert(), "forms"_a.noconvert(),
             "stretch"_a, "stop"_a);
}

}  // namespace certune::bindings
