#include "programs/lines.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "numeric/compensated.h"

namespace certune::programs {

namespace {

using numeric::unit_roundoff;

// Products below it may lose digits to underflow; so much is added to every error bound.
constexpr double underflow = 0x1p-1000;

// A root at 0 is looked for within this distance, at which products keep their digits.
constexpr double least_unit = 0x1p-900;

// Units of the guess within which its root is looked for: a quotient of two rounded numbers is off
// by less than three units, unless digits cancel.
constexpr double reaches[] = {1.0, 2.0, 4.0, 16.0};

int sign_of(const Enclosed& number) {
    const double value = number.high + number.low;
    // The last sum is rounded once; a nan compares as unproved.
    const double error = number.radius + 2.0 * unit_roundoff * std::fabs(value);
    return value > error ? 1 : value < -error ? -1 : 0;
}

double unit_of(double number) {
    const double size = std::fabs(number);
    return std::nextafter(size, std::numeric_limits<double>::infinity()) - size;
}

}  // namespace

Enclosed difference(const Enclosed& first, const Enclosed& second) {
    const double high = first.high - second.high;
    const double lost = numeric::sum_error(first.high, -second.high, high);
    const double low = lost + (first.low - second.low);
    // `lost` is exact; two sums of small parts are rounded, and so are the sums of the bound.
    const double parts = std::fabs(lost) + std::fabs(first.low) + std::fabs(second.low);
    const double radius = first.radius + second.radius + 4.0 * unit_roundoff * parts;
    return {high, low, radius * (1.0 + 16.0 * unit_roundoff) + underflow};
}

Line difference(const Line& first, const Line& second) {
    return {difference(first.offset, second.offset), difference(first.slope, second.slope)};
}

int sign_at(const Line& line, double t) {
    const double product = line.slope.high * t;
    const double product_lost =
        numeric::product_error(numeric::halves(line.slope.high), numeric::halves(t), product);
    const double high = line.offset.high + product;
    const double sum_lost = numeric::sum_error(line.offset.high, product, high);
    const double small = line.slope.low * t;
    const double low = ((sum_lost + product_lost) + small) + line.offset.low;
    // Both losses are exact; the product of the small part and three sums of small parts are
    // rounded, each by at most a unit roundoff of the sum of their sizes.
    const double parts = std::fabs(sum_lost) + std::fabs(product_lost) + std::fabs(small) +
                         std::fabs(line.offset.low);
    const double radius =
        line.offset.radius + line.slope.radius * std::fabs(t) + 8.0 * unit_roundoff * parts;
    return sign_of({high, low, radius * (1.0 + 16.0 * unit_roundoff) + underflow});
}

std::optional<Crossing> crossing(const Line& line) {
    const int sign = sign_of(line.slope);
    if (sign == 0) return std::nullopt;
    const double guess = -(line.offset.high + line.offset.low) / (line.slope.high + line.slope.low);
    if (!std::isfinite(guess)) return std::nullopt;
    const double unit = std::max(unit_of(guess), least_unit);
    for (const double reach : reaches) {
        const double below = guess - reach * unit, above = guess + reach * unit;
        // A line with these signs at the ends has its root strictly between them.
        if (sign_at(line, below) == -sign && sign_at(line, above) == sign) {
            return Crossing{below, above, sign};
        }
    }
    return std::nullopt;
}

}  // namespace certune::programs
