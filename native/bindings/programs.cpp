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
#include "programs/tape.h"

namespace certune::bindings {

namespace {

using namespace nb::literals;

// Tapes know of every step on which parameters it depends.
constexpr std::int64_t most_parameters = 1 << 16;

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

programs::Tape tape_of(const Matrix<const std::int64_t>& steps,
                       const Matrix<const double>& constants, std::int64_t n_parameters) {
    expect(steps.shape(1) == 3 && constants.shape(1) == 2, "Steps are triples, constants pairs.");
    expect(steps.shape(0) > 0 && n_parameters > 0 && n_parameters <= most_parameters,
           "A tape has steps and parameters, at most 65,536 of them.");
    std::vector<programs::Step> all;
    for (std::size_t row = 0; row < steps.shape(0); ++row) {
        const std::int64_t* entry = steps.data() + 3 * row;
        expect(0 <= entry[0] && entry[0] < programs::n_operators, "There is no such operator.");
        const auto operation = static_cast<programs::Operator>(entry[0]);
        const bool is_parameter = operation == programs::Operator::parameter;
        const bool is_constant = operation == programs::Operator::constant;
        const auto limit = is_parameter  ? n_parameters
                           : is_constant ? static_cast<std::int64_t>(constants.shape(0))
                                         : static_cast<std::int64_t>(row);
        expect(0 <= entry[1] && entry[1] < limit, "A step refers to earlier steps.");
        if (operation == programs::Operator::integer_power) {
            expect(-1000 <= entry[2] && entry[2] <= 1000, "Exponents are whole and small.");
        } else if (!is_parameter && !is_constant) {
            expect(0 <= entry[2] && entry[2] < limit, "A step refers to earlier steps.");
        }
        all.push_back({operation, entry[1], entry[2]});
    }
    std::vector<programs::Interval> numbers;
    for (std::size_t row = 0; row < constants.shape(0); ++row) {
        numbers.push_back({constants.data()[2 * row], constants.data()[2 * row + 1]});
    }
    return programs::Tape(std::move(all), std::move(numbers),
                          static_cast<std::size_t>(n_parameters));
}

// Rows (low, high) of each side, for each box; returns rows of value and slopes.
Result<double> on_boxes(const programs::Tape& tape, const Matrix<const double>& boxes,
                        const Stop& stop) {
    const std::size_t n = boxes.shape(0), sides = tape.n_parameters();
    expect(boxes.shape(1) == 2 * sides, "A box has two ends for each parameter.");
    auto found = unlocked(stop, [&](StopToken& token) {
        std::vector<double> rows(n * (2 + 2 * sides));
        std::vector<programs::Interval> box(sides);
        for (std::size_t row = 0; row < n; ++row) {
            if (row % 64 == 63 && token.stop_requested()) break;
            for (std::size_t p = 0; p < sides; ++p) {
                const double* ends = boxes.data() + (row * sides + p) * 2;
                box[p] = {ends[0], ends[1]};
            }
            const programs::Enclosure enclosure = tape.on_box(box);
            double* own = rows.data() + row * (2 + 2 * sides);
            own[0] = enclosure.value.low;
            own[1] = enclosure.value.high;
            for (std::size_t p = 0; p < sides; ++p) {
                own[2 + 2 * p] = enclosure.slopes[p].low;
                own[3 + 2 * p] = enclosure.slopes[p].high;
            }
        }
        return rows;
    });
    return array_of(std::move(found), {n, 2 + 2 * sides});
}

std::tuple<double, double, double, double> on_interval(const programs::Tape& tape, double low,
                                                       double high) {
    expect(tape.n_parameters() == 1, "An interval is a box of one parameter.");
    const programs::Interval box[1] = {{low, high}};
    const programs::Enclosure found = tape.on_box(box);
    return {found.value.low, found.value.high, found.slopes[0].low, found.slopes[0].high};
}

}  // namespace

void bind_programs(nb::module_& room) {
    nb::class_<programs::Tape>(room, "Tape")
        .def(nb::new_(&tape_of), "steps"_a.noconvert(), "constants"_a.noconvert(), "n_parameters"_a)
        .def("on_boxes", &on_boxes, "boxes"_a.noconvert(), "stop"_a)
        .def("on_interval", &on_interval, "low"_a, "high"_a);
    room.def("crossing", &crossing, "first"_a, "second"_a);
    room.def("sign_at", &sign_at, "first"_a, "second"_a, "t"_a);
    room.def("kinetic_order", &kinetic_order, "lines"_a.noconvert(), "forms"_a.noconvert(),
             "stretch"_a, "stop"_a);
}

}  // namespace certune::bindings
