#pragma once

// An expression as a list of steps, evaluated on boxes of its parameters: an interval with all
// values, and intervals with all partial derivatives.

#include <cstdint>
#include <span>
#include <vector>

#include "programs/intervals.h"

namespace certune::programs {

enum class Operator : std::int64_t {
    parameter,
    constant,
    add,
    subtract,
    multiply,
    divide,
    integer_power,  // the second argument is the exponent itself
    exponential,
    logarithm,
    square_root,
};
inline constexpr std::int64_t n_operators = 10;

// `first` and `second` are numbers of earlier steps; of a parameter or a constant its number.
struct Step {
    Operator operation;
    std::int64_t first, second;
};

// Interval of a function on a box, and of its partial derivatives.
struct Enclosure {
    Interval value;
    std::vector<Interval> slopes;
};

class Tape {
   public:
    Tape(std::vector<Step> steps, std::vector<Interval> constants, std::size_t n_parameters);

    std::size_t n_parameters() const { return n_parameters_; }
    // On a box: the natural form, and where that is finite the mean value form besides it, a value
    // at the centre plus slopes on the box times distances.
    Enclosure on_box(std::span<const Interval> box) const;
    // The natural form alone, without slopes.
    Interval value_on(std::span<const Interval> box) const;

   private:
    Interval step_value(const Step& step, std::span<const Interval> values,
                        std::span<const Interval> box) const;
    Interval step_slope(const Step& step, std::size_t place, std::span<const Interval> values,
                        std::span<const Interval> slopes) const;

    std::vector<Step> steps_;
    std::vector<Interval> constants_;
    std::size_t n_parameters_;
    // Whether a step depends on a parameter, by step and parameter.
    std::vector<char> depends_;
};

}  // namespace certune::programs
