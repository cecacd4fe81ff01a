#include "linkage/compare/evidence.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "linkage/models/fixed_extremes.h"
#include "numeric/simd8.h"

namespace certune::linkage {

namespace {

using Coefficients = std::array<double, degree>;

constexpr int most_halvings = 8;  // of [0, 1] until a polynomial is not proved positive

double value_at(const Coefficients& coefficients, double u) {
    Coefficients work = coefficients;
    for (std::size_t r = 1; r < degree; ++r) {
        for (std::size_t k = 0; k < degree - r; ++k) {
            work[k] = (1.0 - u) * work[k] + u * work[k + 1];
        }
    }
    return work[0];
}

void keep_below(Coefficients& coefficients, double high) {
    for (std::size_t r = 1; r < degree; ++r) {
        for (std::size_t k = degree - 1; k >= r; --k) {
            coefficients[k] = (1.0 - high) * coefficients[k - 1] + high * coefficients[k];
        }
    }
}

void keep_above(Coefficients& coefficients, double low) {
    for (std::size_t r = 1; r < degree; ++r) {
        for (std::size_t k = 0; k < degree - r; ++k) {
            coefficients[k] = (1.0 - low) * coefficients[k] + low * coefficients[k + 1];
        }
    }
}

// Polynomial at u, from Bernstein coefficients times binomial ones, by Horner's rule.
double scaled_value(const Coefficients& scaled, double u) {
    const double rest = 1.0 - u;
    double value = 0.0, power = 1.0;
    const bool upwards = u <= rest;
    const double ratio = upwards ? u / rest : rest / u;
    for (std::size_t k = 0; k < degree; ++k) {
        value = value * ratio + scaled[upwards ? degree - 1 - k : k];
    }
    for (int i = 0; i < degree - 1; ++i) power *= upwards ? rest : u;
    return value * power;
}

// A point near the end of the stretch from 0 where the polynomial is positive.
double last_positive(const Coefficients& coefficients) {
    double at_low = coefficients.front(), at_high = coefficients.back();
    if (at_high > 0.0) return 1.0;
    Coefficients scaled;
    double choices = 1.0;
    for (std::size_t k = 0; k < degree; ++k) {
        scaled[k] = choices * coefficients[k];
        choices *= static_cast<double>(degree - 1 - k) / (static_cast<double>(k) + 1.0);
    }
    double low = 0.0, high = 1.0;
    int side = 0;
    const double noise = 4.0 * unit * (at_low - at_high);
    for (int i = 0; i < 60 && high - low >= 1e-15; ++i) {
        double u = (low * at_high - high * at_low) / (at_high - at_low);
        if (!(low < u && u < high)) u = 0.5 * (low + high);
        const double value = scaled_value(scaled, u);
        if (std::abs(value) <= noise) return u;
        double step;
        if (value > 0.0) {
            step = u - low;
            low = u;
            at_low = value;
            if (side == 1) at_high *= 0.5;
            side = 1;
        } else {
            step = high - u;
            high = u;
            at_high = value;
            if (side == -1) at_low *= 0.5;
            side = -1;
        }
        if (step < 1e-13) break;
    }
    return low;
}

Coefficients mirrored(const Coefficients& coefficients) {
    Coefficients result;
    std::reverse_copy(coefficients.begin(), coefficients.end(), result.begin());
    return result;
}

// Orders on both sides of a zone: what is not proved is the opposite of what is.
void set_zone(Zone& zone, double low, double high, int left, int right) {
    zone = {low, high, left != 0 ? left : -right, right != 0 ? right : -left};
}

// Orders of two fixed extremes inside an interval.
struct Inside {
    const Reading& reading;
    const RecordPair& pair;
    Interval interval;

    struct Found {
        double difference;
        int order;  // proved, else 0
    };
    Found at(double share) const {
        const double alpha = reading.power.at(interval.low + share * interval.width());
        const double first = value_inside(reading, pair.near, alpha);
        const double second = value_inside(reading, pair.rival, alpha);
        const double difference = reading.sign * (second - first);
        const double bound = (reading.error + 4.0 * unit) * (first + second);
        return {difference, difference > bound ? 1 : difference < -bound ? -1 : 0};
    }

    // Between different orders at the ends: points before and behind the root.
    Interval bracket(int left) const {
        Interval found{0.0, 1.0};
        double at_low = at(0.0).difference, at_high = at(1.0).difference;
        int side = 0;
        for (int i = 0; i < 60 && found.width() >= 1e-14; ++i) {
            double u = 0.5 * (found.low + found.high);
            if (at_low != at_high) {
                const double guess =
                    (found.low * at_high - found.high * at_low) / (at_high - at_low);
                if (found.low < guess && guess < found.high) u = guess;
            }
            const auto [value, order] = at(u);
            if (order == 0) return {u, u};
            if (order == left) {
                found.low = u;
                at_low = value;
                if (side == 1) at_high *= 0.5;
                side = 1;
            } else {
                found.high = u;
                at_high = value;
                if (side == -1) at_low *= 0.5;
                side = -1;
            }
        }
        return found;
    }

    // Nearest point found on one side of the root where the order there is proved.
    double proved_beside(Interval root, bool right, int order) const {
        double margin = std::max(root.width(), 4.0 * unit);
        double u = right ? 1.0 : 0.0;
        for (int i = 0; i < 40; ++i, margin *= 4.0) {
            u = right ? std::min(1.0, root.high + margin) : std::max(0.0, root.low - margin);
            if (u == (right ? 1.0 : 0.0) || at(u).order == order) break;
        }
        return u;
    }
};

}  // namespace

double lower_value(const Reading& reading, const double* record, int k) {
    switch (reading.form) {
        case Form::average:
        case Form::energy:
            return record[k];
        case Form::fixed_extremes:
            if (reading.kind == Kind::minmax) return record[k] + record[lane::max_low + k];
            return reading.kind == Kind::minimum ? record[k] : record[lane::max_low + k];
        case Form::moving_extremes:
            break;
    }
    return reading.kind == Kind::minmax ? record[k] + record[degree + k] : record[k];
}

double upper_value(const Reading& reading, const double* record, int k) {
    if (reading.form != Form::moving_extremes) return lower_value(reading, record, k);
    if (reading.kind == Kind::minmax) return record[2 * degree + k] + record[3 * degree + k];
    return record[degree + k];
}

Evidence::Evidence(const Reading& reading, const RecordPair& pair)
    : count(reading.form == Form::fixed_extremes ? 2 : degree) {
    if (reading.form == Form::energy) {
        weigh_energies(reading.error, pair);
        return;
    }
    for (int k = 0; k < count; ++k) {
        const double low_y = lower_value(reading, pair.near, k) * (1.0 - reading.error);
        const double high_y = upper_value(reading, pair.near, k) * (1.0 + reading.error);
        const double low_z = lower_value(reading, pair.rival, k) * (1.0 - reading.error);
        const double high_z = upper_value(reading, pair.rival, k) * (1.0 + reading.error);
        largest = std::max(largest, high_y + high_z);
        const double guard = 4.0 * unit * (high_y + high_z);
        const double below = low_z - high_y - guard, above = low_y - high_z - guard;
        const auto place = static_cast<std::size_t>(k);
        nearer[place] = reading.sign > 0 ? below : above;
        farther[place] = reading.sign > 0 ? above : below;
    }
}

// A mean that both energies have counts once, with the difference of its two coefficients.
void Evidence::weigh_energies(double error, const RecordPair& pair) {
    const auto& [near, rival, near_within, rival_within] = pair;
    const double near_factor = near_within.factor(), rival_factor = rival_within.factor();
    const bool shared = near_within.first == rival_within.first;
    const double shift = near_factor - rival_factor;
    for (std::size_t k = 0; k < degree; ++k) {
        double above = 2.0 * rival_factor * rival[k] + near_factor * near_within.second[k];
        double below = 2.0 * near_factor * near[k] + rival_factor * rival_within.second[k];
        if (shared) {
            (shift > 0.0 ? above : below) += std::abs(shift) * near_within.first[k];
        } else {
            above += near_factor * near_within.first[k];
            below += rival_factor * rival_within.first[k];
        }
        // `shift` may have cancelled: its rounding is relative to the two factors.
        double size = above + below;
        if (shared) size += (near_factor + rival_factor) * near_within.first[k];
        const double guard = error * (above + below) + energy_rounding * unit * size;
        largest = std::max(largest, size * (1.0 + error));
        nearer[k] = above - below - guard;
        farther[k] = below - above - guard;
    }
}

// The entries of the matrix have at most 42 roundings each and add up to 1 per column, products and
// sums have 15 more: 64 units times the largest coefficient bound the error.
CERTUNE_HOT void Evidence::restrict_to(const Restriction& part) {
    const double guard = 64.0 * unit * largest;
    for (auto* coefficients : {&nearer, &farther}) {
        simd8::transform(coefficients->data(), part.matrix.data(), coefficients->data(),
                         coefficients->data());
        for (double& c : *coefficients) c -= guard;
    }
}

// Twice seven levels of convex combinations, at most four roundings each, of numbers up to
// `largest`; 64 are charged.
void Evidence::restrict_to(double low, double high) {
    const double guard = 64.0 * unit * largest;
    for (auto* coefficients : {&nearer, &farther}) {
        if (high < 1.0) keep_below(*coefficients, high);
        keep_above(*coefficients, low / high);
        for (double& c : *coefficients) c -= guard;
    }
}

void Evidence::move_end(const Reading& reading, const RecordPair& pair, bool high_end, double t) {
    const double alpha = reading.power.at(t);
    const double first = value_inside(reading, pair.near, alpha);
    const double second = value_inside(reading, pair.rival, alpha);
    const double bound = (reading.error + 4.0 * unit) * (first + second);
    const std::size_t end = high_end ? 1 : 0;
    nearer[end] = reading.sign * (second - first) - bound;
    farther[end] = reading.sign * (first - second) - bound;
}

Order Evidence::verdict() const {
    bool all_nearer = true, all_farther = true, nothing = true;
    for (int i = 0; i < count; ++i) {
        const auto k = static_cast<std::size_t>(i);
        all_nearer = all_nearer && nearer[k] > 0.0;
        all_farther = all_farther && farther[k] > 0.0;
        nothing = nothing && !(nearer[k] > 0.0 || farther[k] > 0.0);
    }
    if (all_nearer) return Order::nearer;
    if (all_farther) return Order::farther;
    return nothing ? Order::too_wide : Order::crossing;
}

bool is_positive(const Coefficients& coefficients, double low, double high) {
    if (low >= high) return low > high || value_at(coefficients, low) > 0.0;
    struct Part {
        Coefficients coefficients;
        int halvings;
    };
    std::array<Part, most_halvings + 2> parts;
    parts[0] = {coefficients, 0};
    if (high < 1.0) keep_below(parts[0].coefficients, high);
    if (low > 0.0) keep_above(parts[0].coefficients, low / high);
    std::size_t n = 1;
    while (n > 0) {
        auto& [row, halvings] = parts[n - 1];
        if (row.front() <= 0.0 || row.back() <= 0.0) return false;
        if (std::all_of(row.begin(), row.end(), [](double c) { return c > 0.0; })) {
            --n;
            continue;
        }
        if (halvings == most_halvings) return false;
        ++halvings;
        parts[n] = parts[n - 1];
        auto& right = parts[n].coefficients;
        for (std::size_t r = 1; r < degree; ++r) {
            for (std::size_t k = 0; k < degree - r; ++k) right[k] = 0.5 * (right[k] + right[k + 1]);
        }
        for (std::size_t r = 1; r < degree; ++r) {
            for (std::size_t k = degree - 1; k >= r; --k) row[k] = 0.5 * (row[k - 1] + row[k]);
        }
        ++n;
    }
    return true;
}

Order locate(const Evidence& evidence, Zone& zone) {
    const int left = evidence.sign_at(0), right = evidence.sign_at(degree - 1);
    if (left == 0 && right == 0) return Order::too_wide;
    const Coefficients& on_left = left > 0 ? evidence.nearer : evidence.farther;
    const Coefficients& on_right = right > 0 ? evidence.nearer : evidence.farther;
    if (left == right) {
        return is_positive(on_left, 0.0, 1.0) ? order_of(left > 0) : Order::too_wide;
    }
    double low = 0.0, high = 1.0;
    if (left != 0) low = last_positive(on_left);
    if (right != 0) high = 1.0 - last_positive(mirrored(on_right));
    if (low > high) std::swap(low, high);
    double margin = std::max(high - low, 4.0 * unit);
    for (int i = 0; i < 4; ++i, margin *= 8.0) {
        const double new_low = left != 0 ? std::max(0.0, low - margin) : 0.0;
        const double new_high = right != 0 ? std::min(1.0, high + margin) : 1.0;
        if ((left == 0 || is_positive(on_left, 0.0, new_low)) &&
            (right == 0 || is_positive(on_right, new_high, 1.0))) {
            set_zone(zone, new_low, new_high, left, right);
            return Order::crossing;
        }
    }
    return Order::too_wide;
}

Order locate_extremes(const Reading& reading, const RecordPair& pair, Interval interval,
                      const Evidence& at_ends, Zone& zone) {
    int left = at_ends.sign_at(0), right = at_ends.sign_at(1);
    if (left == 0 && right == 0) return Order::too_wide;
    if (left == right) return order_of(left > 0);
    const Inside inside{reading, pair, interval};
    if (left == 0 || right == 0) {
        // The root is near the undecided end: step away from it until the order is proved.
        double step = 4.0 * unit;
        const int known = left == 0 ? right : left;
        for (; step < 0.5; step *= 4.0) {
            const double u = left == 0 ? step : 1.0 - step;
            const int order = inside.at(u).order;
            if (order == known) {
                set_zone(zone, left == 0 ? 0.0 : u, left == 0 ? u : 1.0, left, right);
                return Order::crossing;
            }
            if (order == -known) break;
        }
        if (step >= 0.5) return Order::too_wide;
        // The one root lies further inside, so the order at this end is the opposite one.
        (left == 0 ? left : right) = -known;
    }
    const Interval root = inside.bracket(left);
    zone = {inside.proved_beside(root, false, left), inside.proved_beside(root, true, right), left,
            right};
    return Order::crossing;
}

int order_at(const Reading& reading, const RecordPair& pair, double t) {
    return Inside{reading, pair, {t, t}}.at(0.0).order;
}

bool comes_first(int a, int b, int c, int d) {
    return std::pair(std::min(a, b), std::max(a, b)) < std::pair(std::min(c, d), std::max(c, d));
}

}  // namespace certune::linkage
