#include "linkage/search/near_ties.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace certune::linkage {

namespace {

using numeric::DoubleDouble;
using numeric::twice_rounded;

constexpr double units_beside = 12.0;  // that a zone has to spare, see `Decider::inquire`
constexpr int most_widenings = 24;

// Within 2^-105 of itself; counts have 127 digits at most.
DoubleDouble widened(Wide count) {
    const double high = static_cast<double>(count);
    return {high, static_cast<double>(count - static_cast<Wide>(high))};
}

double ulp(double x) {
    const double size = std::abs(x);
    return std::nextafter(size, std::numeric_limits<double>::infinity()) - size;
}

}  // namespace

// On |t| |rate| <= reach <= 1/8 a power exp(y + rate t) is its Taylor polynomial of degree three up
// to exp(y) (rate t)^4 / 24 exp(1/8). With A the sum of |count| exp(y) and R the largest |rate|:
//   - a, the sum of count exp(y): `relative` A (powers, products, sums);
//   - b, the sum of count exp(y) rate: `relative` A R;
//   - c and d in plain doubles, n terms with below 8 roundings each: (n + 8) 2^-52 A R^2 / 2 and
//     (n + 8) 2^-52 A R^3 / 6.
struct NearTies::Line {
    DoubleDouble a, b;
    double c = 0.0, d = 0.0;
    double size = 0.0;      // A, not below
    double rate = 0.0;      // R, not below
    double relative = 0.0;  // error of a over A, and of b over A R
    double n_terms = 0.0;

    double error_at(double t) const {
        const double x = std::abs(t) * rate, x2 = x * x;
        const double plain = (n_terms + 8.0) * 0x1p-52;
        return size * 1.0625 *
               (relative * (1.0 + x) + plain * (x2 + x2 * x) + 0.0625 * x2 * x2 +
                4.0 * twice_rounded * (1.0 + x));
    }
    // 1, -1, or 0 if it is not certain.
    int sign_at(double t) const {
        const DoubleDouble bent{(c + d * t) * t * t, 0.0};
        const DoubleDouble value = a + b * DoubleDouble{t, 0.0} + bent;
        const double error = error_at(t);
        return value.high > error ? 1 : value.high < -error ? -1 : 0;
    }
    // The same on an interval, where it moves by at most A R exp(1/8) for each unit of t.
    int sign_on(double low, double high) const {
        const double middle = low + 0.5 * (high - low);
        const double value =
            (a + b * DoubleDouble{middle, 0.0}).high + (c + d * middle) * middle * middle;
        const double bound =
            error_at(middle) + 0.75 * (high - low) * size * rate + 0x1p-51 * std::abs(value);
        return value > bound ? 1 : value < -bound ? -1 : 0;
    }
    // The derivative differs from b by at most |t| A R^2 exp(1/8).
    bool is_monotone(double reach) const {
        return std::abs(b.high) > 1.25 * size * rate * (reach * rate + relative);
    }
    double zero() const {
        double t = -a.high / b.high;
        t -= (c + d * t) * t * t / b.high;
        return t;
    }
};

NearTies::NearTies(Kind kind, const PairFunctions& pairs, NearExponent alpha, ExactLayer& next)
    : kind_(kind), pairs_(pairs), alpha_(alpha), next_(next) {}

std::size_t NearTies::power_of(std::uint64_t code) {
    const auto [entry, is_new] = place_of_.try_emplace(code, powers_.size());
    if (is_new) {
        if (powers_.empty()) {
            const Extent extent = extent_of_pairs(pairs_, pairs_.twins, {});
            middle_ = 0.5 * extent.smallest + 0.5 * extent.largest;
        }
        const DoubleDouble log =
            numeric::log(std::bit_cast<double>(code)) - DoubleDouble{middle_, 0.0};
        powers_.push_back(
            {numeric::exp(alpha_.value * log), log * DoubleDouble{alpha_.slope, 0.0}});
        counts_.push_back(0);
    }
    return entry->second;
}

void NearTies::add(std::uint64_t code, Wide count) {
    const std::size_t power = power_of(code);
    if (counts_[power] == 0) used_.push_back(power);
    counts_[power] += count;
}

void NearTies::gather_extremes(const ComparedMembers& compared) {
    const auto of_pair = [&](std::span<const int> x, std::span<const int> y, Wide count) {
        std::uint64_t smallest = ~std::uint64_t{0}, largest = 0;
        for (const int p : x) {
            const auto row = pairs_.codes.row(static_cast<std::size_t>(p));
            for (const int q : y) {
                smallest = std::min(smallest, row[static_cast<std::size_t>(q)]);
                largest = std::max(largest, row[static_cast<std::size_t>(q)]);
            }
        }
        add(smallest, count);
        add(largest, count);
    };
    of_pair(compared.row, compared.near, 1);
    of_pair(compared.rival_row, compared.rival, -1);
}

// Counts how often each distance occurs in the difference of the two values.
void NearTies::gather(std::span<const std::uint8_t> marks) {
    for (auto& own : members_) own.clear();
    for (std::size_t p = 0; p < marks.size(); ++p) {
        if (marks[p] != 0) members_[marks[p] - 1].push_back(static_cast<int>(p));
    }
    for (const std::size_t power : used_) counts_[power] = 0;
    used_.clear();
    const auto& [row, near, rival, other] = members_;
    const bool share_row = other.empty();
    const ComparedMembers compared{row, near, share_row ? row : other, rival, share_row};
    if (kind_ == Kind::minmax) {
        gather_extremes(compared);
    } else {
        for_each_term(kind_, compared, [&](int p, int q, Wide weight) {
            if (kind_ == Kind::energy && pairs_.identical(p, q)) return;
            add(pairs_.codes(static_cast<std::size_t>(p), static_cast<std::size_t>(q)), weight);
        });
    }
    // A count that was 0 for a while has been listed twice.
    std::sort(used_.begin(), used_.end());
    used_.erase(std::unique(used_.begin(), used_.end()), used_.end());
    std::erase_if(used_, [&](std::size_t power) { return counts_[power] == 0; });
}

// The exponent y = alpha log d is at most 600 and has an error below (|alpha| + 1) `log_error` and
// one rounding, 2^-93; so its power has the relative error (|alpha| + 2) 2^-91. A product with a
// count and with a rate adds below 2^-100, a sum of n terms n `twice_rounded` of A.
NearTies::Line NearTies::line() const {
    Line found;
    for (const std::size_t i : used_) {
        const auto& [value, rate] = powers_[i];
        const DoubleDouble weight = widened(counts_[i]) * value, slope = weight * rate;
        found.a = found.a + weight;
        found.b = found.b + slope;
        found.c += 0.5 * slope.high * rate.high;
        found.d += slope.high * rate.high * rate.high / 6.0;
        found.size += std::abs(weight.high);
        found.rate = std::max(found.rate, std::abs(rate.high));
    }
    const auto n = static_cast<double>(used_.size());
    found.size *= 1.0 + (n + 4.0) * 0x1p-52;
    found.rate *= 1.0 + 0x1p-50;
    found.relative = (std::abs(alpha_.value.high) + 3.0) * 0x1p-91 + (n + 4.0) * twice_rounded;
    found.n_terms = n;
    return found;
}

Answer NearTies::decide(const Question& question) {
    constexpr Answer unknown{Answer::Kind::unknown, 0, {}};
    gather(question.marks);
    if (used_.empty()) return {Answer::Kind::order, 0, {}};
    const Line own = line();
    const auto [low, high] = question.interval;
    const double reach = std::max(std::abs(low), std::abs(high));
    if (!(std::isfinite(own.size) && own.size > 0.0 && reach * own.rate <= 0.125)) return unknown;
    // The pair with the smaller sum is nearer if alpha > 0.
    const int sense = alpha_.value.high > 0.0 ? -1 : 1;
    const int left = own.sign_at(low), right = low == high ? left : own.sign_at(high);
    if (low == high) {
        return left == 0 ? unknown : Answer{Answer::Kind::order, sense * left, {}};
    }
    if (const int sign = own.sign_on(low, high); sign != 0) {
        return {Answer::Kind::order, sense * sign, {}};
    }
    if ((left == 0 && right == 0) || !own.is_monotone(reach)) return unknown;
    if (left == right) return {Answer::Kind::order, sense * left, {}};
    if (question.kind == Question::Kind::at_low_end ||
        question.kind == Question::Kind::at_high_end) {
        return unknown;
    }
    open_at_end_ = left == 0 || right == 0;
    // One change: signs are proved on both sides of the zone, or it reaches an end of the interval.
    const double zero = std::clamp(own.zero(), low, high);
    double margin = units_beside * ulp(reach) + 0x1p-48 * std::abs(zero);
    for (int i = 0; i < most_widenings; ++i, margin *= 4.0) {
        const double before = left == 0 ? low : std::max(low, zero - margin);
        const double after = right == 0 ? high : std::min(high, zero + margin);
        const bool proved_before = before == low || own.sign_at(before) == left;
        const bool proved_after = after == high || own.sign_at(after) == right;
        if (proved_before && proved_after) {
            const double spare = units_beside * ulp(reach);
            const int order = left != 0 ? sense * left : -sense * right;
            return {Answer::Kind::crosses, order, {before - spare, after + spare}};
        }
    }
    return unknown;
}

Answer NearTies::ask(const Question& question) {
    const Answer own = decide(question);
    if (own.kind == Answer::Kind::order) {
        const bool at_end = question.kind == Question::Kind::at_low_end ||
                            question.kind == Question::Kind::at_high_end;
        if (!at_end || own.order == question.expected) return own;
    }
    if (own.kind != Answer::Kind::crosses) return next_.ask(question);
    if (!open_at_end_) return own;
    // There may be an exact tie at that end.
    const Answer other = next_.ask(question);
    return other.kind == Answer::Kind::unknown ? own : other;
}

}  // namespace certune::linkage
