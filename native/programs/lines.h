#pragma once

// Straight lines offset + slope * t whose coefficients are known to about 106 digits, and the sign
// of the difference of two of them. Floats propose where it vanishes, signs at two floats prove it.

#include <optional>

namespace certune::programs {

// A real number within `radius` of high + low, where low is about a unit of high or less.
struct Enclosed {
    double high, low, radius;
};

struct Line {
    Enclosed offset, slope;
};

// The difference of two numbers.
Enclosed difference(const Enclosed& first, const Enclosed& second);

Line difference(const Line& first, const Line& second);

// The proved sign of a line at t, 0 if it is not proved.
int sign_at(const Line& line, double t);

// Floats with the one root of a line strictly between them, and the proved sign behind it.
struct Crossing {
    double below, above;
    int sign_after;
};

// Where a line crosses 0, if its slope and signs at two floats close to the root are proved.
std::optional<Crossing> crossing(const Line& line);

}  // namespace certune::programs
