#include "programs/intervals.h"

#include <cstdlib>

#include "numeric/compensated.h"
#include "numeric/exponentials.h"

namespace certune::programs {

namespace {

using numeric::unit_roundoff;

constexpr double largest_exponent = 700.0;  // beyond it `exponentials` clips its arguments

double exponential_below(double x) {
    if (x < -largest_exponent) return 0.0;
    double value[1] = {std::min(x, largest_exponent)};
    numeric::exponentials(value);
    return value[0] * (1.0 - 8.0 * unit_roundoff);
}

double exponential_above(double x) {
    if (x > largest_exponent) return infinity;
    double value[1] = {std::max(x, -largest_exponent)};
    numeric::exponentials(value);
    return value[0] * (1.0 + 8.0 * unit_roundoff);
}

// A guess by the library, which nothing is assumed of: its exponential has to confirm it.
double logarithm_below(double x) {
    const double guess = std::log(x);
    const double end = guess - 32.0 * unit_roundoff * (1.0 + std::fabs(guess));
    return exponential_above(end) <= x ? end : -infinity;
}

double logarithm_above(double x) {
    const double guess = std::log(x);
    const double end = guess + 32.0 * unit_roundoff * (1.0 + std::fabs(guess));
    return exponential_below(end) >= x ? end : infinity;
}

}  // namespace

Interval power(const Interval& base, int exponent) {
    if (exponent < 0) return Interval{1.0, 1.0} / power(base, -exponent);
    if (exponent == 0) return {1.0, 1.0};
    Interval result{1.0, 1.0}, square = base;
    for (int left = exponent; left > 0; left /= 2) {
        if (left % 2 == 1) result = result * square;
        if (left > 1) {
            square = square * square;
            // A square is not negative, which products of intervals do not know.
            square.low = std::max(square.low, 0.0);
        }
    }
    return result;
}

Interval exponential(const Interval& x) {
    if (!x.is_finite()) return {};
    return {exponential_below(x.low), exponential_above(x.high)};
}

Interval logarithm(const Interval& x) {
    if (!(x.low > 0.0) || !x.is_finite()) return {};
    return {logarithm_below(x.low), logarithm_above(x.high)};
}

Interval square_root(const Interval& x) {
    if (!(x.low >= 0.0) || !x.is_finite()) return {};
    const Interval root = outwards(std::sqrt(x.low), std::sqrt(x.high));
    return {std::max(root.low, 0.0), root.high};
}

}  // namespace certune::programs
