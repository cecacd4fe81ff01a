#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "bindings/arrays.h"
#include "bindings/calls.h"
#include "bindings/rooms.h"
#include "learning/joint_steps.h"
#include "learning/step_weights.h"
#include "learning/windows.h"

namespace certune::bindings {

namespace {

using namespace nb::literals;

using Reals = Vector<const double>;
using Integers = Vector<const std::int64_t>;
using Flags = Vector<const bool>;
using IntegerRows = Matrix<const std::int64_t>;

bool are_below(std::span<const std::int64_t> numbers, std::size_t count) {
    return std::all_of(numbers.begin(), numbers.end(), [count](std::int64_t number) {
        return number >= 0 && static_cast<std::size_t>(number) < count;
    });
}

bool ascend(std::span<const double> numbers) {
    if (!numbers.empty() && std::isnan(numbers[0])) return false;
    for (std::size_t i = 1; i < numbers.size(); ++i) {
        if (!(numbers[i - 1] <= numbers[i])) return false;
    }
    return true;
}

bool are_finite(std::span<const double> numbers) {
    return std::all_of(numbers.begin(), numbers.end(), [](double x) { return std::isfinite(x); });
}

// Windows.

learning::OwnedEnds ends_of(const Reals& places, const Integers& owners, std::size_t n_owners) {
    const learning::OwnedEnds ends{span_of(places), span_of(owners)};
    expect(ends.places.size() == ends.owners.size(), "There must be one owner for each end.");
    expect(ascend(ends.places), "Ends must be numbers, and sorted.");
    expect(are_below(ends.owners, n_owners), "Owners must be numbers from 0 to n_owners - 1.");
    return ends;
}

std::pair<std::int64_t, double> fullest_window(std::pair<Reals, Integers> entries,
                                               std::pair<Reals, Integers> exits,
                                               std::size_t n_owners, double width, bool closed,
                                               const Stop& stop) {
    const auto entered = ends_of(entries.first, entries.second, n_owners);
    const auto left = ends_of(exits.first, exits.second, n_owners);
    // Only those that own an entry can be met, however many there are.
    const auto last = std::max_element(entered.owners.begin(), entered.owners.end());
    const auto gone = std::max_element(left.owners.begin(), left.owners.end());
    const auto n_met = std::max(last == entered.owners.end() ? 0 : *last + 1,
                                gone == left.owners.end() ? 0 : *gone + 1);
    const learning::SlidingWindow window{width, closed};
    const auto found = unlocked(stop, [&](StopToken& token) {
        return window.fullest(entered, left, static_cast<std::size_t>(n_met), token);
    });
    return {found.n_owners, found.exit};
}

// Weights. Their methods take microseconds and change the tree, so that they keep the lock.

void check_edges(const learning::StepWeights& weights, std::span<const double> edges) {
    expect(ascend(edges) && are_finite(edges) && (edges.empty() || edges[0] >= weights.low()),
           "Edges must be numbers in the interval, and sorted.");
}

void check_values(std::span<const double> edges, std::span<const double> values) {
    expect(values.size() == edges.size() + 1, "There must be one more value than edges.");
    expect(are_finite(values), "Values must be finite.");
}

void add(learning::StepWeights& weights, const Reals& edges, const Reals& values) {
    const learning::StepFunction function{span_of(edges), span_of(values)};
    check_edges(weights, function.edges);
    check_values(function.edges, function.values);
    weights.add(function);
}

std::pair<double, double> take_in(learning::StepWeights& weights, const Reals& edges,
                                  const Reals& lower, const Reals& upper) {
    const learning::BoundedSteps steps{span_of(edges), span_of(lower), span_of(upper)};
    check_edges(weights, steps.edges);
    check_values(steps.edges, steps.lower);
    check_values(steps.edges, steps.upper);
    const learning::Bounds mean = weights.take_in(steps);
    return {mean.lower, mean.upper};
}

void set_rate(learning::StepWeights& weights, double rate) {
    expect(std::isfinite(rate), "The rate must be finite.");
    weights.set_rate(rate);
}

double draw(const learning::StepWeights& weights, double which, double where) {
    expect(which >= 0.0 && which < 1.0 && where >= 0.0 && where < 1.0,
           "Quantile and share must be in [0, 1).");
    return weights.draw(which, where);
}

Result<double> cell_masses(const learning::StepWeights& weights, const Reals& edges) {
    expect(ascend(span_of(edges)), "Edges must be numbers, and sorted.");
    return array_of(weights.cell_masses(span_of(edges)));
}

std::pair<Result<double>, Result<double>> pieces(const learning::StepWeights& weights) {
    learning::Pieces found = weights.pieces();
    return {array_of(std::move(found.starts)), array_of(std::move(found.values))};
}

void bind_weights(nb::module_& room) {
    using learning::StepWeights;
    nb::class_<StepWeights>(room, "StepWeights")
        .def(
            "__init__",
            [](StepWeights* memory, double low, double high, double rate) {
                expect(std::isfinite(low) && std::isfinite(high) && low <= high,
                       "The interval must be finite.");
                expect(std::isfinite(rate), "The rate must be finite.");
                new (memory) StepWeights(low, high, rate);
            },
            "low"_a, "high"_a, "rate"_a)
        .def_prop_ro("n_pieces", &StepWeights::n_pieces)
        .def_prop_ro("rate", &StepWeights::rate)
        .def_prop_ro("top", &StepWeights::top)
        .def_prop_ro("mass", &StepWeights::mass)
        .def("set_rate", &set_rate, "rate"_a)
        .def("add", &add, "edges"_a.noconvert(), "values"_a.noconvert())
        .def("take_in", &take_in, "edges"_a.noconvert(), "lower"_a.noconvert(),
             "upper"_a.noconvert())
        .def("cell_masses", &cell_masses, "edges"_a.noconvert())
        .def("draw", &draw, "which"_a, "where"_a)
        .def("pieces", &pieces);
}

// Joint steps.

// Arrays that are checked once and kept as long as Python keeps this.
class HeldSteps {
   public:
    HeldSteps(std::pair<Integers, Integers> first, Integers function,
              std::pair<Integers, Integers> steps, Integers opening, Flags complete)
        : first_(std::move(first)),
          function_(std::move(function)),
          steps_(std::move(steps)),
          opening_(std::move(opening)),
          complete_(std::move(complete)) {
        const std::size_t n_functions = first_.first.size(), n_events = function_.size();
        expect(first_.second.size() == n_functions, "Both bounds must be of the same functions.");
        expect(steps_.first.size() == n_events && steps_.second.size() == n_events &&
                   opening_.size() == n_events && complete_.size() == n_events,
               "All arrays of events must have the same length.");
        expect(are_below(span_of(function_), n_functions), "There are events of no function.");
        const auto flags = span_of(complete_);
        n_states_ = 1 + static_cast<std::size_t>(std::count(flags.begin(), flags.end(), true));
    }

    learning::JointSteps view() const {
        return {span_of(first_.first), span_of(first_.second), span_of(function_),
                span_of(steps_.first), span_of(steps_.second), span_of(opening_),
                span_of(complete_)};
    }
    std::size_t n_states() const { return n_states_; }
    void check_weights(const IntegerRows& weights) const {
        expect(weights.shape(1) == first_.first.size(), "There must be a weight a function.");
    }

   private:
    std::pair<Integers, Integers> first_;
    Integers function_;
    std::pair<Integers, Integers> steps_;
    Integers opening_;
    Flags complete_;
    std::size_t n_states_ = 0;
};

std::pair<Result<std::int64_t>, Result<std::int64_t>> signed_suprema(const HeldSteps& steps,
                                                                     const Flags& is_setting,
                                                                     const IntegerRows& weights,
                                                                     const Stop& stop) {
    steps.check_weights(weights);
    expect(is_setting.size() == steps.n_states(), "There must be a flag for each state.");
    const auto view = steps.view();
    auto bounds = unlocked(stop, [&](StopToken& token) {
        return learning::signed_suprema(view, span_of(is_setting), view_of(weights), token);
    });
    return {array_of(std::move(bounds.lower)), array_of(std::move(bounds.upper))};
}

nb::tuple weighted_optima(const HeldSteps& steps, const Reals& begins, double high,
                          const IntegerRows& weights, const Stop& stop) {
    steps.check_weights(weights);
    expect(begins.size() == steps.n_states(), "There must be a place for each state.");
    const auto view = steps.view();
    const learning::StatePlaces places{span_of(begins), high};
    auto found = unlocked(stop, [&](StopToken& token) {
        return learning::weighted_optima(view, places, view_of(weights), token);
    });
    return nb::make_tuple(array_of(std::move(found.values)), array_of(std::move(found.starts)),
                          array_of(std::move(found.stops)), array_of(std::move(found.n_candidates)),
                          array_of(std::move(found.hits_lower)),
                          array_of(std::move(found.hits_upper)));
}

void bind_joint_steps(nb::module_& room) {
    nb::class_<HeldSteps>(room, "JointSteps")
        .def(nb::init<std::pair<Integers, Integers>, Integers, std::pair<Integers, Integers>,
                      Integers, Flags>(),
             "first"_a.noconvert(), "function"_a.noconvert(), "steps"_a.noconvert(),
             "opening"_a.noconvert(), "complete"_a.noconvert())
        .def("signed_suprema", &signed_suprema, "is_setting"_a.noconvert(), "weights"_a.noconvert(),
             "stop"_a)
        .def("weighted_optima", &weighted_optima, "begins"_a.noconvert(), "high"_a,
             "weights"_a.noconvert(), "stop"_a);
}

}  // namespace

void bind_learning(nb::module_& room) {
    room.def("fullest_window", &fullest_window, "entries"_a.noconvert(), "exits"_a.noconvert(),
             "n_owners"_a, "width"_a, "closed"_a, "stop"_a);
    bind_weights(room);
    bind_joint_steps(room);
}

}  // namespace certune::bindings
