#include "programs/tape.h"

#include <utility>

namespace certune::programs {

namespace {

std::size_t index(std::int64_t number) { return static_cast<std::size_t>(number); }

bool is_binary(Operator operation) {
    return operation == Operator::add || operation == Operator::subtract ||
           operation == Operator::multiply || operation == Operator::divide;
}

}  // namespace

Tape::Tape(std::vector<Step> steps, std::vector<Interval> constants, std::size_t n_parameters)
    : steps_(std::move(steps)),
      constants_(std::move(constants)),
      n_parameters_(n_parameters),
      depends_(steps_.size() * n_parameters) {
    for (std::size_t place = 0; place < steps_.size(); ++place) {
        const Step& step = steps_[place];
        char* own = depends_.data() + place * n_parameters_;
        if (step.operation == Operator::parameter) own[index(step.first)] = 1;
        if (step.operation == Operator::parameter || step.operation == Operator::constant) continue;
        for (std::size_t p = 0; p < n_parameters_; ++p) {
            own[p] = depends_[index(step.first) * n_parameters_ + p];
            if (is_binary(step.operation)) {
                own[p] = own[p] || depends_[index(step.second) * n_parameters_ + p];
            }
        }
    }
}

Interval Tape::step_value(const Step& step, std::span<const Interval> values,
                          std::span<const Interval> box) const {
    const std::size_t first = index(step.first);
    switch (step.operation) {
        case Operator::parameter:
            return box[first];
        case Operator::constant:
            return constants_[first];
        case Operator::add:
            return values[first] + values[index(step.second)];
        case Operator::subtract:
            return values[first] - values[index(step.second)];
        case Operator::multiply:
            return values[first] * values[index(step.second)];
        case Operator::divide:
            return values[first] / values[index(step.second)];
        case Operator::integer_power:
            return power(values[first], static_cast<int>(step.second));
        case Operator::exponential:
            return exponential(values[first]);
        case Operator::logarithm:
            return logarithm(values[first]);
        case Operator::square_root:
            return square_root(values[first]);
    }
    return {};
}

// The chain rule, with the slopes of the arguments along one parameter.
Interval Tape::step_slope(const Step& step, std::size_t place, std::span<const Interval> values,
                          std::span<const Interval> slopes) const {
    const std::size_t first = index(step.first);
    const Interval& inner = slopes[first];
    switch (step.operation) {
        case Operator::add:
            return inner + slopes[index(step.second)];
        case Operator::subtract:
            return inner - slopes[index(step.second)];
        case Operator::multiply:
            return inner * values[index(step.second)] + values[first] * slopes[index(step.second)];
        case Operator::divide:
            return (inner - values[place] * slopes[index(step.second)]) /
                   values[index(step.second)];
        case Operator::integer_power: {
            const int exponent = static_cast<int>(step.second);
            const double factor = exponent;
            return Interval{factor, factor} * power(values[first], exponent - 1) * inner;
        }
        case Operator::exponential:
            return values[place] * inner;
        case Operator::logarithm:
            return inner / values[first];
        case Operator::square_root:
            return inner / (values[place] + values[place]);
        default:
            return {0.0, 0.0};
    }
}

Interval Tape::value_on(std::span<const Interval> box) const {
    std::vector<Interval> values(steps_.size());
    for (std::size_t place = 0; place < steps_.size(); ++place) {
        values[place] = step_value(steps_[place], values, box);
    }
    return values.back();
}

Enclosure Tape::on_box(std::span<const Interval> box) const {
    const std::size_t n = steps_.size();
    std::vector<Interval> values(n), slopes(n);
    for (std::size_t place = 0; place < n; ++place) {
        values[place] = step_value(steps_[place], values, box);
    }
    Enclosure found{values.back(), std::vector<Interval>(n_parameters_)};
    for (std::size_t p = 0; p < n_parameters_; ++p) {
        for (std::size_t place = 0; place < n; ++place) {
            const Step& step = steps_[place];
            if (!depends_[place * n_parameters_ + p]) {
                slopes[place] = {0.0, 0.0};
            } else if (step.operation == Operator::parameter) {
                slopes[place] = {1.0, 1.0};
            } else {
                slopes[place] = step_slope(step, place, values, slopes);
            }
        }
        found.slopes[p] = slopes.back();
    }
    // A finite natural form means that the function is smooth on the box: the mean value form
    // holds.
    if (!found.value.is_finite()) return found;
    std::vector<Interval> centre(box.size());
    for (std::size_t p = 0; p < box.size(); ++p) {
        const double middle = 0.5 * box[p].low + 0.5 * box[p].high;
        centre[p] = {middle, middle};
    }
    Interval close = value_on(centre);
    for (std::size_t p = 0; p < box.size() && close.is_finite(); ++p) {
        close = close + found.slopes[p] * (box[p] - centre[p]);
    }
    if (close.is_finite()) found.value = intersection(found.value, close);
    return found;
}

}  // namespace certune::programs
