#include "numeric/exponentials.h"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "numeric/simd8.h"

namespace certune::numeric {

namespace {

// Largest whole number that is not above x, for |x| < 2**51; other than std::floor it vectorises on
// every x86-64.
CERTUNE_INLINE double whole_below(double x) {
    constexpr double shift = 0x1.8p52;  // x + shift has no room for digits after the point
    const double near = (x + shift) - shift;
    return near - (near > x ? 1.0 : 0.0);
}

}  // namespace

// Written out (reduction by log 2, Taylor polynomial of degree 13) so that the loop vectorises,
// which calls of std::exp do not. With |r| < 0.35 the last two operations and what Horner's rule
// hands on add up to 2.6 units absolutely, on values of at least 0.7; the reduction adds half a
// unit and the truncated tail, 0.35^14 / 14!, nothing.
CERTUNE_HOT void exponentials(std::span<double> values) {
    constexpr double log2_high = 6.93147180369123816490e-01;  // its last 32 bits are zero
    constexpr double log2_low = 1.90821492927058770002e-10;
    for (double& value : values) {
        const double y = std::min(std::max(value, -700.0), 700.0);
        const double n = whole_below(y * 1.4426950408889634 + 0.5);
        const double r = (y - n * log2_high) - n * log2_low;
        double p = 1.0 / 6227020800.0;
        p = p * r + 1.0 / 479001600.0;
        p = p * r + 1.0 / 39916800.0;
        p = p * r + 1.0 / 3628800.0;
        p = p * r + 1.0 / 362880.0;
        p = p * r + 1.0 / 40320.0;
        p = p * r + 1.0 / 5040.0;
        p = p * r + 1.0 / 720.0;
        p = p * r + 1.0 / 120.0;
        p = p * r + 1.0 / 24.0;
        p = p * r + 1.0 / 6.0;
        p = p * r + 0.5;
        p = p * r + 1.0;
        p = p * r + 1.0;
        // Times 2**n: n into the exponent. The low bits of n + 1.5 * 2**52 are those of n.
        const auto power = std::bit_cast<std::uint64_t>(n + 0x1.8p52) << 52;
        value = std::bit_cast<double>(std::bit_cast<std::uint64_t>(p) + power);
    }
}

}  // namespace certune::numeric
