#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "matrix_view.h"
#include "stop_token.h"

namespace certune::learning {

using Integers = std::span<const std::int64_t>;

// Many step functions with integer values on one list of events, ordered along the parameter.
//
// Event e changes what is known of function function[e] by step_lower[e] and step_upper[e], and
// opens (+1) or closes (-1) a gap of it. complete[e] says that no further event belongs to the same
// place; then a new state begins. Before the first event is state 0. Values are integers, so that a
// running sum has no rounding error; the caller sees to it that none overflows. A weighted sum
// costs one pass over the events, whatever the number of functions.
struct JointSteps {
    Integers first_lower;  // of every function, bounds in state 0
    Integers first_upper;
    Integers function;
    Integers step_lower;
    Integers step_upper;
    Integers opening;
    std::span<const bool> complete;
};

struct SupremumBounds {
    std::vector<std::int64_t> lower;
    std::vector<std::int64_t> upper;
};

// Bounds of the supremum of sum_i weights(draw, i) u_i over the states that contain a setting, for
// each row of weights of any sign. State 0 contains one. In a state in which u_i is only known to
// lie in an interval, the sum lies between the sums of the respective ends.
SupremumBounds signed_suprema(const JointSteps& steps, std::span<const bool> is_setting,
                              MatrixView<const std::int64_t> weights, StopToken& stop);

// Where the states lie: each begins at begins[state], the last one ends at high.
struct StatePlaces {
    std::span<const double> begins;
    double high = 0.0;
};

struct WeightedOptima {
    explicit WeightedOptima(std::size_t n_rows, std::size_t n_states)
        : values(n_rows),
          starts(n_rows),
          stops(n_rows),
          n_candidates(n_rows),
          hits_lower(n_states),
          hits_upper(n_states) {}

    std::vector<std::int64_t> values;  // best decided value of each row
    std::vector<double> starts;        // widest interval on which it is attained
    std::vector<double> stops;
    // Pieces of the sum that may attain the value: if values are rounded, the answer is certain
    // only if there is just one.
    std::vector<std::int64_t> n_candidates;
    // For each state in how many rows it certainly, or possibly, attains the best decided value.
    std::vector<std::int64_t> hits_lower;
    std::vector<std::int64_t> hits_upper;
};

// Maximum of sum_i weights(row, i) u_i for each row of weights >= 0.
WeightedOptima weighted_optima(const JointSteps& steps, const StatePlaces& places,
                               MatrixView<const std::int64_t> weights, StopToken& stop);

}  // namespace certune::learning
