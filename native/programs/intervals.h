#pragma once

// Intervals of doubles whose ends are rounded outwards, so that they hold every value of a function
// on their arguments. The whole line stands for "not known", also where a function is not defined.

#include <algorithm>
#include <cmath>
#include <limits>

namespace certune::programs {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

struct Interval {
    double low = -infinity, high = infinity;

    bool is_finite() const { return low > -infinity && high < infinity; }
    // The sign of all its numbers, 0 if there are several.
    int sign() const { return low > 0.0 ? 1 : high < 0.0 ? -1 : 0; }
};

// An operation that is rounded to nearest is off by half a unit; |x| 2**-52 is one or two units, of
// which the subtraction itself can take back half of one.
inline double rounded_down(double x) { return x - (std::fabs(x) * 0x1p-52 + 0x1p-1074); }
inline double rounded_up(double x) { return x + (std::fabs(x) * 0x1p-52 + 0x1p-1074); }

// Ends that are no numbers (inf - inf, 0 * inf) come from unknown or overflowing arguments.
inline Interval outwards(double low, double high) {
    low = rounded_down(low);
    high = rounded_up(high);
    return std::isnan(low) || std::isnan(high) ? Interval{} : Interval{low, high};
}

inline Interval operator+(const Interval& a, const Interval& b) {
    return outwards(a.low + b.low, a.high + b.high);
}

inline Interval operator-(const Interval& a, const Interval& b) {
    return outwards(a.low - b.high, a.high - b.low);
}

inline Interval operator*(const Interval& a, const Interval& b) {
    if (!a.is_finite() || !b.is_finite()) return {};
    const double p = a.low * b.low, q = a.low * b.high, r = a.high * b.low, s = a.high * b.high;
    return outwards(std::min(std::min(p, q), std::min(r, s)),
                    std::max(std::max(p, q), std::max(r, s)));
}

inline Interval operator/(const Interval& a, const Interval& b) {
    if (b.sign() == 0 || !a.is_finite() || !b.is_finite()) return {};
    const double p = a.low / b.low, q = a.low / b.high, r = a.high / b.low, s = a.high / b.high;
    return outwards(std::min(std::min(p, q), std::min(r, s)),
                    std::max(std::max(p, q), std::max(r, s)));
}

inline Interval intersection(const Interval& a, const Interval& b) {
    return {std::max(a.low, b.low), std::min(a.high, b.high)};
}

Interval power(const Interval& base, int exponent);
Interval exponential(const Interval& x);
// Unknown unless all numbers are positive.
Interval logarithm(const Interval& x);
Interval square_root(const Interval& x);

}  // namespace certune::programs
