#include "learning/joint_steps.h"

#include <algorithm>

namespace certune::learning {

namespace {

std::size_t as_index(std::int64_t number) { return static_cast<std::size_t>(number); }

// A sum known to lie between two others: terms of negative weight swap their ends.
struct Sum {
    std::int64_t lower = 0;
    std::int64_t upper = 0;

    void add(std::int64_t weight, std::int64_t least, std::int64_t most) {
        lower += weight * (weight > 0 ? least : most);
        upper += weight * (weight > 0 ? most : least);
    }
};

Sum first_sum(const JointSteps& steps, std::span<const std::int64_t> weights) {
    Sum sum;
    for (std::size_t i = 0; i < weights.size(); ++i) {
        sum.add(weights[i], steps.first_lower[i], steps.first_upper[i]);
    }
    return sum;
}

// A weighted sum in one state.
struct State {
    Sum sum;
    std::int64_t n_open = 0;     // gaps that are open
    std::int64_t n_changes = 0;  // changes of the sum so far
};

void fill_states(const JointSteps& steps, std::span<const std::int64_t> weights,
                 std::vector<State>& states) {
    State now{first_sum(steps, weights), 0, 0};
    states[0] = now;
    std::size_t state = 0;
    for (std::size_t event = 0; event < steps.function.size(); ++event) {
        const std::int64_t weight = weights[as_index(steps.function[event])];
        if (weight != 0) {
            now.sum.add(weight, steps.step_lower[event], steps.step_upper[event]);
            now.n_open += steps.opening[event];
            ++now.n_changes;
        }
        if (steps.complete[event]) states[++state] = now;
    }
}

// Best value of a state without an open gap; state 0 has none.
std::int64_t best_decided(const std::vector<State>& states) {
    std::int64_t level = states[0].sum.lower;
    for (const State& state : states) {
        if (state.n_open == 0) level = std::max(level, state.sum.lower);
    }
    return level;
}

void find_widest(const std::vector<State>& states, const StatePlaces& places, std::size_t row,
                 WeightedOptima& found) {
    const std::size_t n_states = states.size();
    const std::int64_t level = found.values[row];
    double widest = -1.0, start = places.begins[0], stop = places.begins[0];
    bool inside = false;
    const auto leave = [&] {
        if (inside && stop - start > widest) {
            widest = stop - start;
            found.starts[row] = start;
            found.stops[row] = stop;
        }
        inside = false;
    };
    for (std::size_t k = 0; k < n_states; ++k) {
        if (states[k].sum.lower < level) {
            leave();
        } else if (states[k].n_open == 0) {
            if (!inside) start = places.begins[k];
            inside = true;
            stop = k + 1 < n_states ? places.begins[k + 1] : places.high;
        }
    }
    leave();
}

void count_hits(const std::vector<State>& states, std::size_t row, WeightedOptima& found) {
    const std::int64_t level = found.values[row];
    std::int64_t last = -1;
    for (std::size_t k = 0; k < states.size(); ++k) {
        const State& state = states[k];
        found.hits_lower[k] += state.sum.lower >= level;
        if (state.sum.upper < level) continue;
        ++found.hits_upper[k];
        if (state.n_open == 0 && state.n_changes != last) {
            ++found.n_candidates[row];
            last = state.n_changes;
        }
    }
}

}  // namespace

SupremumBounds signed_suprema(const JointSteps& steps, std::span<const bool> is_setting,
                              MatrixView<const std::int64_t> weights, StopToken& stop) {
    SupremumBounds bounds;
    for (std::size_t draw = 0; draw < weights.rows && !stop.stop_requested(); ++draw) {
        const auto own = weights.row(draw);
        Sum sum = first_sum(steps, own);
        Sum best = sum;
        std::size_t state = 0;
        for (std::size_t event = 0; event < steps.function.size(); ++event) {
            const std::int64_t weight = own[as_index(steps.function[event])];
            sum.add(weight, steps.step_lower[event], steps.step_upper[event]);
            if (steps.complete[event] && is_setting[++state]) {
                best.lower = std::max(best.lower, sum.lower);
                best.upper = std::max(best.upper, sum.upper);
            }
        }
        bounds.lower.push_back(best.lower);
        bounds.upper.push_back(best.upper);
    }
    return bounds;
}

WeightedOptima weighted_optima(const JointSteps& steps, const StatePlaces& places,
                               MatrixView<const std::int64_t> weights, StopToken& stop) {
    WeightedOptima found(weights.rows, places.begins.size());
    std::vector<State> states(places.begins.size());
    for (std::size_t row = 0; row < weights.rows && !stop.stop_requested(); ++row) {
        fill_states(steps, weights.row(row), states);
        found.values[row] = best_decided(states);
        find_widest(states, places, row, found);
        count_hits(states, row, found);
    }
    return found;
}

}  // namespace certune::learning
