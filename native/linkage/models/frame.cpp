#include "linkage/models/frame.h"

#include <algorithm>
#include <limits>

#include "linkage/models/fixed_extremes.h"
#include "linkage/models/moving_extremes.h"
#include "linkage/models/plan.h"
#include "numeric/simd8.h"

namespace certune::linkage {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

Reading reading_of(const Source& source, Form form, const ModelPlan& plan) {
    Reading reading;
    reading.form = form;
    reading.kind = kind_of_values(source.kind, plan.sign);
    reading.sign = plan.sign;
    reading.error = plan.error;
    reading.box_cox = plan.box_cox;
    reading.power = source.pairs.power;
    return reading;
}

// Part of the interval of the models that is asked for; there is none if it is all of it.
bool is_wider(const ModelPlan& plan, Interval interval) {
    return plan.interval.low < interval.low || plan.interval.high > interval.high;
}

Restriction restriction_of(const ModelPlan& plan, Interval interval) {
    const Interval& whole = plan.interval;
    return Restriction(std::max(0.0, (interval.low - whole.low) / whole.width()),
                       std::min(1.0, (interval.high - whole.low) / whole.width()));
}

CERTUNE_HOT void restrict_all(const AverageTable& table, const Restriction& part) {
    for (int x = 0; x < table.slots; ++x) {
        for (int z = 0; z < x; ++z) {
            simd8::transform(table.record(x, z), part.matrix.data(), table.record(x, z),
                             table.mirror(x, z));
        }
    }
}

// Comparisons of coefficients as integers need this.
bool all_positive(const double* numbers, std::size_t count) {
    return std::all_of(numbers, numbers + count, [](double number) { return number > 0.0; });
}

// The same for values at a point, which may be 0.
bool none_negative(const Frame& frame) {
    for (int x = 0; x < frame.slots; ++x) {
        for (int z = 0; z < x; ++z) {
            if (!(*frame.record(x, z) >= 0.0)) return false;
        }
    }
    return true;
}

Reading build_moving(const Frame& frame, const Source& source, std::span<const std::int64_t> labels,
                     Interval interval, StopToken& stop) {
    const ModelPlan plan = plan_models(source, labels, interval);
    Reading reading = reading_of(source, Form::moving_extremes, plan);
    if (plan.error == infinity) return reading;
    build_moving_extremes(frame, source, labels, plan, stop);
    const int channels = n_channels(frame);
    if (is_wider(plan, interval)) {
        const Restriction part = restriction_of(plan, interval);
        for (int x = 0; x < frame.slots; ++x) {
            for (int z = x + 1; z < frame.slots; ++z) {
                for (int channel = 0; channel < channels; ++channel) {
                    double* own = frame.record(x, z) + channel * degree;
                    simd8::transform(own, part.matrix.data(), own,
                                     frame.record(z, x) + channel * degree);
                }
            }
        }
    }
    for (int x = 0; x < frame.slots; ++x) {
        for (int z = 0; z < frame.slots; ++z) {
            if (!all_positive(frame.record(x, z), static_cast<std::size_t>(channels * degree))) {
                reading.error = infinity;
                return reading;
            }
        }
    }
    set_moving_codes(frame, source, labels, plan.sign, interval, stop);
    reading.error += restriction_error + shift_error(source.pairs, source.span, interval);
    return reading;
}

}  // namespace

Form form_of(Kind kind, Mode mode) {
    if (kind == Kind::mean) return Form::average;
    if (kind == Kind::energy) return Form::energy;
    return mode == Mode::moving ? Form::moving_extremes : Form::fixed_extremes;
}

int record_width(Kind kind, Form form) {
    if (form != Form::moving_extremes) return degree;
    return (kind == Kind::minmax ? 4 : 2) * degree + 2;
}

Kind kind_of_values(Kind kind, int sign) {
    if (sign < 0 && kind == Kind::minimum) return Kind::maximum;
    if (sign < 0 && kind == Kind::maximum) return Kind::minimum;
    return kind;
}

Reading build_average_records(const AverageTable& table, const Source& source,
                              std::span<const std::int64_t> labels, Interval interval,
                              StopToken& stop) {
    const auto modelled = source.kind == Kind::energy ? source.pairs.twins : labels;
    const ModelPlan plan = plan_models(source, modelled, interval);
    Reading reading = reading_of(source, form_of(source.kind, source.pairs.mode), plan);
    if (plan.error == infinity) return reading;
    build_averages(table, source, labels, plan, stop);
    if (is_wider(plan, interval)) restrict_all(table, restriction_of(plan, interval));
    if (source.pairs.mode == Mode::moving) {
        // Exponentials are positive by themselves.
        for (int x = 0; x < table.slots; ++x) {
            if (!all_positive(table.row(x), static_cast<std::size_t>(x * degree))) {
                reading.error = infinity;
                return reading;
            }
        }
    }
    reading.error += restriction_error + shift_error(source.pairs, source.span, interval);
    return reading;
}

Reading build_frame(const Frame& frame, const Source& source, std::span<const std::int64_t> labels,
                    Interval interval, StopToken& stop) {
    switch (form_of(source.kind, source.pairs.mode)) {
        case Form::average:
        case Form::energy:
            return build_average_records({frame.data, frame.slots, true}, source, labels, interval,
                                         stop);
        case Form::fixed_extremes:
            build_logs(frame, source, labels, stop);
            return fill_both_ends(frame, source, interval, stop);
        case Form::moving_extremes:
            break;
    }
    return build_moving(frame, source, labels, interval, stop);
}

Reading build_point_frame(const Frame& frame, const Source& source,
                          std::span<const std::int64_t> labels, MatrixView<const double> values,
                          double error, double t, StopToken& stop) {
    Reading reading;
    reading.form = form_of(source.kind, source.pairs.mode);
    reading.power = source.pairs.power;
    reading.error = error < 1.0 ? error : infinity;  // or signs are unknown, and so is the order
    reading.sign = order_sign(reading.power, source.span < 0.0, {t, t});
    reading.kind = kind_of_values(source.kind, reading.sign);
    if (is_polynomial(reading.form)) {
        build_point_averages({frame.data, frame.slots, true}, values, labels);
        if (reading.form == Form::average && !none_negative(frame)) reading.error = infinity;
    } else {
        build_logs(frame, source, labels, stop);
        build_point_extremes(frame, values, labels);
    }
    return reading;
}

CERTUNE_HOT void restrict_averages(const Frame& source, std::span<const int> active, double low,
                                   double high, const Frame& target) {
    const Restriction part(low, high);
    const int n_active = static_cast<int>(active.size());
    for (int i = 0; i < n_active; ++i) {
        const int x = active[static_cast<std::size_t>(i)];
        for (int j = i; j < n_active; ++j) {
            simd8::transform(source.record(x, active[static_cast<std::size_t>(j)]),
                             part.matrix.data(), target.record(i, j), target.record(j, i));
        }
    }
}

int Panels::last_joint(const Source& source, int panel) const {
    const auto differs = [&](int i) {
        return needs_box_cox(source.pairs, source.span, interval(i));
    };
    if (differs(panel)) return panel;
    while (panel + 1 < count() && !may_tie(static_cast<std::size_t>(panel), 1) &&
           interval(panel).high == interval(panel + 1).low && !differs(panel + 1)) {
        ++panel;
    }
    return panel;
}

}  // namespace certune::linkage
