#include "numeric/double_double.h"

#include <array>
#include <cmath>
#include <limits>

namespace certune::numeric {

namespace {

// log 2 in three parts; the first has 32 digits, so that its product with an exponent is exact.
constexpr double log2_first = 0x1.62e42feep-1;
constexpr double log2_second = 0x1.a39ef35793c76p-33;
constexpr double log2_third = 0x1.cc01f97b57a08p-87;

constexpr double largest_exponent = 640.0;
constexpr double no_number = std::numeric_limits<double>::quiet_NaN();
constexpr int halvings = 9;

// 1 / k! for k = 9, ..., 2.
constexpr std::array<DoubleDouble, 8> inverse_factorials = {{
    {0x1.71de3a556c734p-19, -0x1.c154f8ddc6c00p-73},
    {0x1.a01a01a01a01ap-16, 0x1.a01a01a01a01ap-76},
    {0x1.a01a01a01a01ap-13, 0x1.a01a01a01a01ap-73},
    {0x1.6c16c16c16c17p-10, -0x1.f49f49f49f49fp-65},
    {0x1.1111111111111p-7, 0x1.1111111111111p-63},
    {0x1.5555555555555p-5, 0x1.5555555555555p-59},
    {0x1.5555555555555p-3, 0x1.5555555555555p-57},
    {0x1p-1, 0.0},
}};

}  // namespace

// x = k log 2 + 2^9 r with |r| < 2^-10.5. The parts of k log 2 are exact but for the last one,
// which is below 2^-75 and has 2 roundings, so 2^9 r has an absolute error below 2^-103 times its
// size and 2^-127. Horner's rule makes p = exp(r) - 1 with a relative error of 20 `twice_rounded`;
// what is left out is below |r|^9 / 10! < 2^-116 of it. A step p -> 2 p + p^2 multiplies the
// relative error by at most 1 + |p| and adds 3 `twice_rounded`; all factors together are below 2.2,
// because p ends at |p| <= 0.42 and halves from step to step. That makes 2.2 (20 + 27) 2^-103 <
// 2^-96, and one sum more.
DoubleDouble exp(DoubleDouble x) {
    if (!(std::abs(x.high) <= largest_exponent)) return {no_number, no_number};
    const double k = std::nearbyint(x.high / 0.6931471805599453);
    DoubleDouble r = x + DoubleDouble{-k * log2_first, 0.0};
    r = r + -exact_product(k, log2_second);
    r = r + DoubleDouble{-k * log2_third, 0.0};
    r = {std::ldexp(r.high, -halvings), std::ldexp(r.low, -halvings)};
    DoubleDouble p = inverse_factorials[0];
    for (std::size_t i = 1; i < inverse_factorials.size(); ++i) p = p * r + inverse_factorials[i];
    p = p * r * r + r;
    for (int i = 0; i < halvings; ++i) {
        const DoubleDouble twice{2.0 * p.high, 2.0 * p.low};
        p = twice + p * p;
    }
    p = p + DoubleDouble{1.0, 0.0};
    const int exponent = static_cast<int>(k);
    return {std::ldexp(p.high, exponent), std::ldexp(p.low, exponent)};
}

// With y the logarithm as a double, x exp(-y) = 1 + e, |e| < 2^-40 whatever the platform's log does
// to its last digits. Then log x = y + e - e^2 / 2 up to 2^-120, and e has the error of the
// exponential.
DoubleDouble log(double x) {
    const double y = std::log(x);
    const DoubleDouble e = DoubleDouble{x, 0.0} * exp({-y, 0.0}) - DoubleDouble{1.0, 0.0};
    const DoubleDouble half_square = e * DoubleDouble{0.5 * e.high, 0.0};
    return DoubleDouble{y, 0.0} + (e - half_square);
}

}  // namespace certune::numeric
