#pragma once

// Sums and products whose rounding errors are carried along. Everything here relies on operations
// that are rounded one by one (-ffp-contract=off, no fast-math).

namespace certune::numeric {

inline constexpr double unit_roundoff = 0x1p-53;

// 2**27 + 1: the halves of a number that it splits off have exact products (Dekker).
inline constexpr double splitter = 134217729.0;

// A number as an exact sum of two with at most 26 digits each, unless it exceeds 2**996.
struct Halves {
    double high, low;
};

inline Halves halves(double number) {
    const double scaled = splitter * number;
    const double high = scaled - (scaled - number);
    return {high, number - high};
}

// What is lost when a * b is rounded to `product`: exactly, unless parts overflow or underflow.
inline double product_error(Halves a, Halves b, double product) {
    return (((a.high * b.high - product) + a.high * b.low) + a.low * b.high) + a.low * b.low;
}

// What is lost when a + b is rounded to `sum`: exactly (Knuth).
inline double sum_error(double a, double b, double sum) {
    const double part = sum - a;
    return (a - (sum - part)) + (b - part);
}

// A sum of non-negative terms within 2 units of roundoff, however many they are (Kahan).
struct CompensatedSum {
    double total = 0.0;
    double lost = 0.0;

    void add(double term) {
        const double corrected = term - lost;
        const double raised = total + corrected;
        lost = (raised - total) - corrected;
        total = raised;
    }
};

}  // namespace certune::numeric
