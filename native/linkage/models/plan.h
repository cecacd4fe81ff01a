#pragma once

// How values are modelled on an interval: in which form, on which interval, with what error.

#include <cstdint>
#include <span>
#include <vector>

#include "linkage/models/averages.h"
#include "linkage/models/pair_functions.h"
#include "stop_token.h"

namespace certune::linkage {

// +1 if smaller values are nearer on the interval, -1 if larger ones are. Values are
// exp(alpha log d): for alpha < 0 the order flips; so it does for a negative sum of exponents.
int order_sign(const Affine& power, bool box_cox, Interval interval);

// Is alpha so close to 0 that powers are nearly equal on the interval?
bool needs_box_cox(const PairFunctions& pairs, double span, Interval interval);

// Relative error of values that comes from the rounding of t itself.
double shift_error(const PairFunctions& pairs, double span, Interval interval);

// Relative model error on an interval, and the common scale (log) to divide values by.
struct ModelError {
    double error = 0.0;
    double scale = 0.0;
};
ModelError error_of_models(const PairFunctions& pairs, std::span<const std::int64_t> labels,
                           bool box_cox, Extent extent, Interval interval);

// Around a zero of alpha the Box-Cox form needs an interval that is centred there. If distances are
// not positive on all of that, the other form has to do where alpha has one sign.
ModelPlan plan_models(const Source& source, std::span<const std::int64_t> labels,
                      Interval interval);

// Edges of panels on an interval on which models have at most the error `tolerance`, or twice the
// error of the inputs. A panel around a zero of alpha, where powers are compared in their Box-Cox
// form, is centred there; the others have equal widths on each side, as long as they are few.
std::vector<double> panel_edges(const PairFunctions& pairs, std::span<const std::int64_t> labels,
                                Interval interval, double tolerance, StopToken& stop);

}  // namespace certune::linkage
