#include "linkage/models/differences.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "numeric/exponentials.h"
#include "numeric/simd8.h"

namespace certune::linkage {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr int lanes = simd8::lanes;

constexpr std::array<double, terms + 2> inverse_factorials = [] {
    std::array<double, terms + 2> found{};
    double factorial = 1.0;
    for (std::size_t k = 0; k < found.size(); ++k) {
        if (k > 1) factorial *= static_cast<double>(k);
        found[k] = 1.0 / factorial;
    }
    return found;
}();

double power_of(double base, int exponent) {
    double result = 1.0;
    for (; exponent > 0; exponent >>= 1, base *= base) {
        if (exponent & 1) result *= base;
    }
    return result;
}

std::vector<std::size_t> marked(std::span<const std::uint8_t> marks, std::uint8_t role) {
    std::vector<std::size_t> found;
    for (std::size_t p = 0; p < marks.size(); ++p) {
        if (marks[p] == role) found.push_back(p);
    }
    return found;
}

void gather(MatrixView<const double> matrix, std::span<const std::size_t> rows,
            std::span<const std::size_t> columns, std::vector<double>& out) {
    out.reserve(rows.size() * columns.size());
    for (const auto a : rows) {
        const auto row = matrix.row(a);
        for (const auto b : columns) out.push_back(row[b]);
    }
}

// Adds the pairs of different clusters, or those within one, with one coefficient each.
struct EnergyTerms {
    const PairFunctions& pairs;
    PairList& near;
    PairList& far;

    void add(std::size_t a, std::size_t b, double coefficient) {
        if (coefficient == 0.0 || pairs.twins[a] == pairs.twins[b]) return;
        PairList& list = coefficient > 0.0 ? far : near;
        list.first.push_back(pairs.first.row(a)[b]);
        list.second.push_back(pairs.second.row(a)[b]);
        list.coefficients.push_back(std::abs(coefficient));
    }
    void between(const std::vector<std::size_t>& x, const std::vector<std::size_t>& y,
                 double coefficient) {
        for (const auto a : x) {
            for (const auto b : y) add(a, b, coefficient);
        }
    }
    void within(const std::vector<std::size_t>& x, double coefficient) {
        for (std::size_t i = 0; i < x.size(); ++i) {
            for (std::size_t j = 0; j < i; ++j) add(x[i], x[j], coefficient);
        }
    }
};

// Half the energy of (rows_far, columns_far) less half that of (rows, columns): with sums S of
// values between and W within clusters, e(A, B) / 2 = (S - |B| / |A| W(A) - |A| / |B| W(B)) /
// (|A| + |B|). Coefficients have at most six roundings.
void gather_energies(EnergyTerms terms, const std::vector<std::size_t>& rows,
                     const std::vector<std::size_t>& columns,
                     const std::vector<std::size_t>& rows_far,
                     const std::vector<std::size_t>& columns_far) {
    const auto size = [](const auto& cluster) { return static_cast<double>(cluster.size()); };
    const double a = size(rows), b = size(columns), c = size(rows_far), d = size(columns_far);
    terms.between(rows, columns, -1.0 / (a + b));
    terms.between(rows_far, columns_far, 1.0 / (c + d));
    terms.within(columns, a / (b * (a + b)));
    terms.within(columns_far, -c / (d * (c + d)));
    if (&rows == &rows_far) {
        // b / (a (a + b)) - d / (a (a + d))
        terms.within(rows, (b - d) / ((a + b) * (a + d)));
        return;
    }
    terms.within(rows, b / (a * (a + b)));
    terms.within(rows_far, -d / (c * (c + d)));
}

// The pairs that matter for a minimum or maximum of fixed distances.
void gather_extremes(Kind kind, MatrixView<const double> matrix, std::span<const std::size_t> rows,
                     std::span<const std::size_t> columns, PairList& out) {
    double low = infinity, high = -infinity;
    for (const auto a : rows) {
        const auto row = matrix.row(a);
        for (const auto b : columns) {
            low = std::min(low, row[b]);
            high = std::max(high, row[b]);
        }
    }
    out.first = {kind == Kind::maximum ? high : low, kind == Kind::minimum ? low : high};
    out.second = {0.0, 0.0};
}

struct Range {
    double low = infinity;
    double high = -infinity;
    void include(double value) {
        low = std::min(low, value);
        high = std::max(high, value);
    }
};

// Least and largest value of first + t second, or of first alone.
Range range_of(const TwoValues& values, double t) {
    Range found;
    for (const PairList* pairs : {&values.near, &values.far}) {
        for (std::size_t i = 0; i < pairs->size(); ++i) {
            found.include(t == 0.0 ? pairs->first[i] : pairs->first[i] + t * pairs->second[i]);
        }
    }
    return found;
}

Range range_of_slopes(const TwoValues& values) {
    Range found;
    for (const PairList* pairs : {&values.near, &values.far}) {
        for (const double slope : pairs->second) found.include(slope);
    }
    return found;
}

// Sums of weights * rates^k over the pairs, eight at a time; what rounding drops from the sum for
// k = 0 is kept in the last row.
using Moments = std::array<double, (terms + 1) * lanes>;

CERTUNE_HOT void add_moments(const double* weights, const double* rates, std::size_t count,
                             Moments& sums) {
    for (std::size_t i = 0; i < count; i += lanes) {
        double value[lanes];
        for (int lane = 0; lane < lanes; ++lane) {
            value[lane] = weights[i + static_cast<std::size_t>(lane)];
            double& sum = sums[static_cast<std::size_t>(lane)];
            const double before = sum;
            const double after = before + value[lane];
            const double part = after - before;
            sums[static_cast<std::size_t>(terms * lanes + lane)] +=
                (before - (after - part)) + (value[lane] - part);
            sum = after;
        }
        for (int row = 1; row < terms; ++row) {
            for (int lane = 0; lane < lanes; ++lane) {
                value[lane] *= rates[i + static_cast<std::size_t>(lane)];
                sums[static_cast<std::size_t>(row * lanes + lane)] += value[lane];
            }
        }
    }
}

// Adds factor * sum_i weights[i] * rates[i]^k / (k + shift)! / divisor to coefficient k; arrays are
// padded with zeros to full lanes. Returns the sum of the weights, compensated, over the divisor.
double add_power_sums(std::span<const double> weights, std::span<const double> rates,
                      double divisor, int shift, double factor, Taylor& out) {
    Moments sums{};
    add_moments(weights.data(), rates.data(), weights.size(), sums);
    double leading = 0.0;
    for (std::size_t k = 0; k < terms; ++k) {
        double total = 0.0, lost = 0.0;
        for (std::size_t lane = 0; lane < lanes; ++lane) {
            const double value = sums[k * lanes + lane];
            const double next = total + value;
            const double part = next - total;
            lost += (total - (next - part)) + (value - part);
            total = next;
            if (k == 0) lost += sums[terms * lanes + lane];
        }
        total = (total + lost) / divisor;
        if (k == 0) leading = total;
        out[k] += factor * total * inverse_factorials[k + static_cast<std::size_t>(shift)];
    }
    return leading;
}

std::vector<double> padded(std::size_t count) {
    return std::vector<double>((count + lanes - 1) / lanes * lanes, 0.0);
}

// Errors of a sum of exponentials with rates of at most `step`.
void set_errors(double total, double relative, double step, double count, DifferenceModel& model) {
    const double growth = 1.01 * std::exp(std::min(step, 600.0)) * total;
    const double rounding = (count / lanes + 3 * terms + 32) * unit;
    const double tail = power_of(step, terms) * inverse_factorials[terms];
    model.floor = 1.01 * relative * total;
    model.error = growth * (step * (rounding + relative) + tail);
}

double larger_count(const TwoValues& values) {
    return static_cast<double>(std::max(values.near.size(), values.far.size()));
}

// Fixed distances to the power alpha.
DifferenceModel fixed_difference(const PairFunctions& pairs, const TwoValues& values, double centre,
                                 double half) {
    const Affine& power = pairs.power;
    const Range logs = range_of(values, 0.0);
    const double scale = 0.5 * (logs.low + logs.high);
    const double spread = 0.5 * (logs.high - logs.low) * (1.0 + 4.0 * unit);
    const double alpha = power.at(centre);
    double reach = std::abs(alpha) + std::abs(power.slope) * half;
    const double size = std::abs(power.value) + std::abs(power.slope) * (std::abs(centre) + half);
    const double count = larger_count(values);
    DifferenceModel model = no_difference_model(centre, half);
    if (pairs.box_cox && reach * spread <= box_cox_below) {
        // (exp(alpha L) - 1) / alpha = sum_k L (alpha L)^k / (k + 1)!, a polynomial in alpha /
        // reach
        reach = std::max(reach, 1e-300);
        const double step = reach * spread;
        for (const bool is_far : {false, true}) {
            const PairList& list = is_far ? values.far : values.near;
            auto rates = padded(list.size());
            for (std::size_t i = 0; i < list.size(); ++i) {
                rates[i] = reach * (list.first[i] - scale);
            }
            add_power_sums(rates, rates, list.divisor(), 1, is_far ? 1.0 : -1.0,
                           model.coefficients);
        }
        model.floor = 2.0 * step * 16.0 * unit + 2.6 * reach * pairs.input_error;
        model.error = 2.6 * step * step * (count / lanes + 3 * terms + 32) * unit;
        model.error += 2.6 * power_of(step, terms + 1) * inverse_factorials[terms + 1];
        model.origin = power.value;
        model.slope = power.slope;
        model.scale = 1.0 / reach;
        return model;
    }
    const double rate = power.slope * half;
    if (std::abs(alpha) <= std::abs(rate)) return model;
    const double sign = alpha > 0.0 ? 1.0 : -1.0;
    double total = 0.0;
    for (const bool is_far : {false, true}) {
        const PairList& list = is_far ? values.far : values.near;
        auto weights = padded(list.size()), rates = padded(list.size());
        for (std::size_t i = 0; i < list.size(); ++i) {
            weights[i] = alpha * (list.first[i] - scale);
            rates[i] = rate * (list.first[i] - scale);
        }
        numeric::exponentials({weights.data(), list.size()});
        for (std::size_t i = 0; i < list.coefficients.size(); ++i) {
            weights[i] *= list.coefficients[i];
        }
        total += add_power_sums(weights, rates, list.divisor(), 0, is_far ? sign : -sign,
                                model.coefficients);
    }
    const double relative = (16.0 + 6.0 * size * spread) * unit + (1.0 + reach) * pairs.input_error;
    set_errors(total, relative, std::abs(rate) * spread, count, model);
    return model;
}

// Values exp(A + t B), divided by the exponential of one affine function. The smaller value counts
// as the nearer one here, as for a positive total exponent.
DifferenceModel product_difference(const PairFunctions& pairs, const TwoValues& values,
                                   double centre, double half) {
    const Range slopes = range_of_slopes(values);
    const Range exponents = range_of(values, centre), firsts = range_of(values, 0.0);
    const double tilt = 0.5 * (slopes.low + slopes.high);
    const double level = 0.5 * (exponents.low + exponents.high);
    double size = std::max(std::abs(firsts.low), std::abs(firsts.high));
    size += std::abs(centre) * std::max(std::abs(slopes.low), std::abs(slopes.high));
    DifferenceModel model = no_difference_model(centre, half);
    double total = 0.0;
    for (const bool is_far : {false, true}) {
        const PairList& list = is_far ? values.far : values.near;
        auto weights = padded(list.size()), rates = padded(list.size());
        for (std::size_t i = 0; i < list.size(); ++i) {
            weights[i] = (list.first[i] + centre * list.second[i]) - level;
            rates[i] = half * (list.second[i] - tilt);
        }
        numeric::exponentials({weights.data(), list.size()});
        total += add_power_sums(weights, rates, list.divisor(), 0, is_far ? 1.0 : -1.0,
                                model.coefficients);
    }
    const double relative = (16.0 + 6.0 * size) * unit + 1.01 * pairs.input_error;
    const double step = half * 0.5 * (slopes.high - slopes.low) * (1.0 + 4.0 * unit);
    set_errors(total, relative, step, larger_count(values), model);
    return model;
}

}  // namespace

TwoValues::TwoValues(Kind kind, const PairFunctions& pairs, std::span<const std::uint8_t> marks) {
    const auto first_rows = marked(marks, 1), other_rows = marked(marks, 4);
    const auto& far_rows = other_rows.empty() ? first_rows : other_rows;
    const std::vector<std::size_t> columns[] = {marked(marks, 2), marked(marks, 3)};
    if (kind == Kind::energy) {
        gather_energies({pairs, near, far}, first_rows, columns[0], far_rows, columns[1]);
        return;
    }
    PairList* lists[] = {&near, &far};
    for (std::size_t side = 0; side < 2; ++side) {
        const auto& rows = side == 0 ? first_rows : far_rows;
        if (kind != Kind::mean && pairs.mode == Mode::power) {
            gather_extremes(kind, pairs.first, rows, columns[side], *lists[side]);
            continue;
        }
        gather(pairs.first, rows, columns[side], lists[side]->first);
        if (pairs.mode != Mode::power) {
            gather(pairs.second, rows, columns[side], lists[side]->second);
        }
    }
}

DifferenceModel::Value DifferenceModel::evaluated(double u) const {
    Value found{0.0, 0.0};
    for (std::size_t k = terms; k-- > 0;) {
        found.slope = found.slope * u + found.value;
        found.value = found.value * u + coefficients[k];
    }
    return found;
}

DifferenceModel no_difference_model(double centre, double half) {
    DifferenceModel model;
    model.origin = -centre;
    model.scale = 1.0 / half;
    model.floor = model.error = infinity;
    return model;
}

DifferenceModel difference_model(Kind kind, const PairFunctions& pairs, const TwoValues& values,
                                 double centre, double half) {
    DifferenceModel model;
    switch (pairs.mode) {
        case Mode::power:
            model = fixed_difference(pairs, values, centre, half);
            break;
        case Mode::affine:
            model = product_difference(pairs, values, centre, half);
            break;
        case Mode::moving:
            model = moving_difference(kind, pairs, values, centre, half);
            break;
    }
    double size = 0.0, slope = 0.0;
    for (std::size_t k = 0; k < terms; ++k) {
        size += std::abs(model.coefficients[k]);
        slope += static_cast<double>(k) * std::abs(model.coefficients[k]);
    }
    // Horner's rule, and the rounding of u: t moves by a few units of its last place.
    const double moved =
        (std::abs(model.origin) + std::abs(model.slope) * (std::abs(centre) + half)) * model.scale;
    const double reading = (2.0 * terms * size + 4.0 * (1.0 + moved) * slope) * unit;
    model.error = 1.01 * (model.floor + model.error + reading);
    model.floor += reading;
    return model;
}

}  // namespace certune::linkage
