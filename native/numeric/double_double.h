#pragma once

// Numbers with twice the digits of a double, as unevaluated sums of two of them.
//
// Sums and products are those of Joldes, Muller and Popescu (2017): with u = 2^-53 their relative
// errors are at most 3 u^2 + 13 u^3 and 4 u^2, below `twice_rounded` = 2^-103 each, unless parts
// under- or overflow. Everything relies on operations that are rounded one by one.

#include <cmath>

#include "numeric/compensated.h"

namespace certune::numeric {

inline constexpr double twice_rounded = 0x1p-103;

struct DoubleDouble {
    double high = 0.0;
    double low = 0.0;  // at most half a unit in the last place of `high`
};

inline DoubleDouble fast_sum(double larger, double smaller) {
    const double sum = larger + smaller;
    return {sum, smaller - (sum - larger)};
}

inline DoubleDouble exact_sum(double a, double b) {
    const double sum = a + b;
    return {sum, sum_error(a, b, sum)};
}

inline DoubleDouble exact_product(double a, double b) {
    const double product = a * b;
    return {product, std::fma(a, b, -product)};
}

inline DoubleDouble operator-(DoubleDouble x) { return {-x.high, -x.low}; }

inline DoubleDouble operator+(DoubleDouble x, DoubleDouble y) {
    const DoubleDouble high = exact_sum(x.high, y.high), low = exact_sum(x.low, y.low);
    const DoubleDouble part = fast_sum(high.high, high.low + low.high);
    return fast_sum(part.high, low.low + part.low);
}

inline DoubleDouble operator-(DoubleDouble x, DoubleDouble y) { return x + -y; }

inline DoubleDouble operator*(DoubleDouble x, DoubleDouble y) {
    const DoubleDouble product = exact_product(x.high, y.high);
    const double mixed = std::fma(x.low, y.high, std::fma(x.high, y.low, x.low * y.low));
    return fast_sum(product.high, product.low + mixed);
}

// exp(x) for |x| <= 640, with a relative error of at most `exp_error`; no number for others.
inline constexpr double exp_error = 0x1p-94;
DoubleDouble exp(DoubleDouble x);

// log(x) for |log x| <= 640, with an absolute error of at most `log_error`; no number for
// others.
inline constexpr double log_error = 0x1p-92;
DoubleDouble log(double x);

}  // namespace certune::numeric
