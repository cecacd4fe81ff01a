#include "linkage/models/series.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "linkage/models/pair_functions.h"
#include "numeric/simd8.h"

namespace certune::linkage {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

constexpr std::int64_t choose(int n, int k) {
    if (k < 0 || k > n) return 0;
    std::int64_t result = 1;
    for (int i = 1; i <= k; ++i) result = result * (n - k + i) / i;
    return result;
}

// All coefficients are integers over 105 * 2^11 (105 is a multiple of C(7, i), and 2^(k-1) divides
// 2^11 for k <= 12), hence exact in int64 and rounded once, by the last division.
constexpr std::int64_t common_bottom = 105;
constexpr std::int64_t dyadic_bottom = 1 << terms;

struct EconomisedMonomials {
    std::array<std::array<double, degree>, terms> coefficients{};
    std::array<double, terms> errors{};  // of the truncation, per monomial
};

constexpr EconomisedMonomials economise() {
    // Bernstein coefficients of (2 s - 1)^k on [0, 1], times 105.
    std::int64_t monomial[degree][degree] = {};
    for (int k = 0; k < degree; ++k) {
        for (int j = 0; j < degree; ++j) {
            for (int i = 0; i <= std::min(j, k); ++i) {
                const std::int64_t sign = (k - i) % 2 == 0 ? 1 : -1;
                monomial[k][j] += choose(j, i) * (common_bottom / choose(degree - 1, i)) *
                                  choose(k, i) * (std::int64_t{1} << i) * sign;
            }
        }
    }
    std::int64_t chebyshev[degree][degree] = {};
    chebyshev[0][0] = 1;
    chebyshev[1][1] = 1;
    for (int j = 2; j < degree; ++j) {
        for (int i = 0; i < degree; ++i) {
            chebyshev[j][i] = (i > 0 ? 2 * chebyshev[j - 1][i - 1] : 0) - chebyshev[j - 2][i];
        }
    }
    EconomisedMonomials found;
    for (int k = 0; k < terms; ++k) {
        // u^k = 2^(1-k) * sum over j = k, k-2, ... of C(k, (k-j)/2) T_j, halved at j = 0
        std::int64_t total[degree] = {};
        std::int64_t lost = 0;
        for (int j = k % 2; j <= k; j += 2) {
            std::int64_t weight = choose(k, (k - j) / 2) * (dyadic_bottom >> k) * 2;
            if (j == 0) weight /= 2;
            if (j >= degree) {
                lost += weight;
                continue;
            }
            for (int b = 0; b < degree; ++b) {
                std::int64_t value = 0;
                for (int i = 0; i < degree; ++i) value += chebyshev[j][i] * monomial[i][b];
                total[b] += weight * value;
            }
        }
        const auto row = static_cast<std::size_t>(k);
        for (std::size_t b = 0; b < degree; ++b) {
            found.coefficients[row][b] =
                static_cast<double>(total[b]) / static_cast<double>(common_bottom * dyadic_bottom);
        }
        found.errors[row] =
            static_cast<double>(lost) / static_cast<double>(dyadic_bottom) * (1.0 + 1e-15);
    }
    return found;
}

constexpr EconomisedMonomials monomials = economise();

constexpr double factorial(int k) {
    double result = 1.0;
    for (int i = 2; i <= k; ++i) result *= i;
    return result;
}

constexpr FoldedTable folded(int shift) {
    FoldedTable table{};
    constexpr std::size_t half = degree / 2;
    for (std::size_t k = 0; k < terms; ++k) {
        for (std::size_t j = 0; j < half; ++j) {
            table[k / 2 * degree + k % 2 * half + j] =
                monomials.coefficients[k][j] / factorial(static_cast<int>(k) + shift);
        }
    }
    return table;
}

constexpr double twelfth_power(double x) {
    const double fourth = (x * x) * (x * x);
    return fourth * (fourth * fourth);
}

// Shares of a disc's radius that h can be, for Cauchy's estimate of the tail and of coefficients.
struct Discs {
    static constexpr std::size_t n_tails = 39, n_sizes = 24;
    std::array<double, n_tails> tail_share, log_tail;
    std::array<double, n_sizes> share, log_share;
    std::array<double, terms> log_factorial, monomial_size;

    Discs() {
        for (std::size_t i = 0; i < n_tails; ++i) {
            tail_share[i] = 1.0 / (1.0 + 0.4 * static_cast<double>(i + 1));
            log_tail[i] = terms * std::log(tail_share[i]) - std::log1p(-tail_share[i]);
        }
        for (std::size_t i = 0; i < n_sizes; ++i) {
            share[i] = 1.0 / (1.0 + 0.5 * static_cast<double>(i + 1));
            log_share[i] = std::log(share[i]);
        }
        for (std::size_t k = 0; k < terms; ++k) {
            log_factorial[k] = std::log(factorial(static_cast<int>(k)));
            monomial_size[k] = 0.0;
            for (const double c : monomials.coefficients[k]) {
                monomial_size[k] = std::max(monomial_size[k], std::abs(c));
            }
        }
    }
};

const Discs discs;

// Bound of the sum of the Taylor coefficients from `terms` on, times h^k. Every disc gives one;
// logarithms are enough to find the best.
double tail(const ExponentBound& bound) {
    double best = infinity, exponent = 0.0, share = 0.0;
    for (std::size_t i = 0; i < Discs::n_tails; ++i) {
        const double here = bound.on_disc(bound.half_width / discs.tail_share[i]);
        if (here < 600.0 && here + discs.log_tail[i] < best) {
            best = here + discs.log_tail[i];
            exponent = here;
            share = discs.tail_share[i];
        }
    }
    if (share == 0.0) return infinity;
    return std::exp(exponent) * twelfth_power(share) / (1.0 - share);
}

}  // namespace

const std::array<std::array<double, degree>, terms> economised_monomials = monomials.coefficients;
const FoldedTable exponential_table = folded(0);
const FoldedTable difference_quotient_table = folded(1);

double ExponentBound::on_disc(double radius) const {
    if (ratio * radius >= 1.0) return infinity;
    const double log_growth = ratio > 0.0 ? -std::log1p(-ratio * radius) : 0.0;
    return rate * radius + power * log_growth + power_rate * radius * (log_size + log_growth);
}

// With |y| <= B on discs the value stays within exp(+-B(h)) of its centre value, its Taylor
// coefficients are bounded by those of exp(B), and the tail by Cauchy's estimate on any disc of
// radius R > h.
double model_error(const ExponentBound& bound, int n_points, double input_error) {
    const double spread = bound.on_disc(bound.half_width);
    if (!(spread < 8.0)) return infinity;
    double lost = tail(bound);
    double size = 0.0;
    const bool fixed = bound.ratio == 0.0 && bound.power_rate == 0.0;
    const double log_spread = std::log(std::max(bound.half_width * bound.rate, 1e-300));
    std::array<double, Discs::n_sizes> exponents{};
    if (!fixed) {
        for (std::size_t i = 0; i < Discs::n_sizes; ++i) {
            exponents[i] = bound.on_disc(bound.half_width / discs.share[i]);
        }
    }
    for (std::size_t k = 0; k < terms; ++k) {
        // The disc of radius h itself bounds every coefficient.
        double exponent = spread;
        if (fixed) {
            exponent = static_cast<double>(k) * log_spread - discs.log_factorial[k];
        } else {
            for (std::size_t i = 0; i < Discs::n_sizes; ++i) {
                exponent =
                    std::min(exponent, exponents[i] + static_cast<double>(k) * discs.log_share[i]);
            }
        }
        const double coefficient = std::exp(exponent);
        lost += coefficient * monomials.errors[k];
        size += coefficient * discs.monomial_size[k];
    }
    const double rounding = unit * (6.0 * terms + 16.0 * n_points + 64.0);
    return std::exp(spread) * (lost + rounding * size) + input_error;
}

void MovingPower::series(double distance, double slope, Taylor& out) const {
    const double shrink = slope / distance * half_width;
    // The coefficients of log d, then of the exponent y = alpha log d.
    double exponent[terms + 1];
    exponent[0] = std::log(distance);
    double term = 1.0;
    for (int k = 1; k <= terms; ++k) {
        term *= -shrink;
        exponent[k] = -term / k;
    }
    if (box_cox && power_rate == 0.0) {
        std::copy_n(exponent, terms, out.begin());
        return;
    }
    const double start = box_cox ? 0.0 : power;
    const double scaled_rate = power_rate * half_width;
    for (int k = terms; k > 0; --k) {
        exponent[k] = start * exponent[k] + scaled_rate * exponent[k - 1];
    }
    exponent[0] = start * exponent[0];
    // e_k = (1/k) sum_j j y_j e_(k-j); in Box-Cox form the series starts at e_1 and is shifted.
    double value[terms + 1];
    value[0] = std::exp(exponent[0]);
    for (int k = 1; k <= terms; ++k) {
        double total = 0.0;
        for (int j = 1; j <= k; ++j) total += j * exponent[j] * value[k - j];
        value[k] = total / k;
    }
    for (std::size_t k = 0; k < terms; ++k) {
        out[k] = box_cox ? value[k + 1] / scaled_rate : value[k];
    }
}

void add_series(const Taylor& series, double* target) {
    for (std::size_t j = 0; j < degree; ++j) {
        double total = 0.0;
        for (std::size_t k = 0; k < terms; ++k) total += series[k] * monomials.coefficients[k][j];
        target[j] += total;
    }
}

}  // namespace certune::linkage
