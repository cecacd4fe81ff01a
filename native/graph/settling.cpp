#include "graph/settling.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "numeric/compensated.h"

namespace certune::graph {

namespace {

using numeric::unit_roundoff;

constexpr int deepest = 48;          // halvings of a panel
constexpr int most_bisections = 60;  // more than a double has digits
constexpr double rounded_up = 1 + 1e-12;

double clenshaw(std::span<const double> series, double x) {
    double first = 0.0, second = 0.0;
    for (std::size_t k = series.size(); k-- > 1;) {
        const double next = series[k] + 2.0 * x * first - second;
        second = first;
        first = next;
    }
    return series[0] + x * first - second;
}

// Bound of the rounding in `clenshaw` for |x| <= 1. A rounding in step k is passed on by a
// Chebyshev polynomial of the second kind, at most k + 1, and intermediate results are at most sums
// of (j - k + 1) |series[j]|.
double clenshaw_error(std::span<const double> series) {
    double error = 0.0, tail = 0.0, ramp = 0.0;
    for (std::size_t k = series.size(); k-- > 0;) {
        tail += std::abs(series[k]);
        ramp += tail;
        error += static_cast<double>(k + 1) * ramp;
    }
    return 8.0 * unit_roundoff * error;
}

// A point between `inside` and `outside` beyond which |series| > level, nearly the best.
double edge_of_zone(std::span<const double> series, double level, double inside, double outside) {
    for (int step = 0; step < most_bisections; ++step) {
        const double middle = 0.5 * (inside + outside);
        if (middle == inside || middle == outside) break;
        (std::abs(clenshaw(series, middle)) > level ? outside : inside) = middle;
    }
    return outside;
}

// Where a monotone series is nearest to zero, up to rounding.
double root_of(std::span<const double> series) {
    double low = -1.0, high = 1.0;
    const bool rising = clenshaw(series, 1.0) > clenshaw(series, -1.0);
    for (int step = 0; step < most_bisections; ++step) {
        const double middle = 0.5 * (low + high);
        ((clenshaw(series, middle) < 0.0) == rising ? low : high) = middle;
    }
    return 0.5 * (low + high);
}

// The series of all classes on a part of the panel.
struct Part {
    std::vector<double> memory;
    double low = -1.0;
    double high = 1.0;
    double error = 0.0;
    int depth = 0;
};

// Who can win on a part.
struct Contest {
    std::int64_t best = open_zone;
    std::int64_t rival = open_zone;  // the last of the rivals
    int n_rivals = 0;                // classes that the best is not proved to beat
    int n_equal = 0;                 // those of them that cannot be told from it at all
};

class NodeSettler {
   public:
    NodeSettler(std::size_t node, const NodeSeries& given, MatrixView<const double> halving,
                std::vector<Leaf>& leaves)
        : node_(node),
          n_classes_(given.series.rows),
          count_(given.series.columns),
          admitted_(given.admitted),
          halving_(halving),
          difference_(count_),
          leaves_(leaves) {}

    void settle(const NodeSeries& given, StopToken& stop) {
        Part whole;
        whole.memory.assign(given.series.data, given.series.data + n_classes_ * count_);
        whole.error = given.error;
        std::vector<Part> pending{std::move(whole)};
        while (!pending.empty() && !stop.stop_requested()) {
            const Part part = std::move(pending.back());
            pending.pop_back();
            if (!settle_part(part)) halve(part, pending);
        }
    }

   private:
    const double* series(const Part& part, std::int64_t c) const {
        return part.memory.data() + static_cast<std::size_t>(c) * count_;
    }
    void append(double low, double high, std::int64_t winner, std::int64_t rival) {
        leaves_.push_back({node_, low, high, winner, rival});
    }

    Contest contest_on(const Part& part) const {
        Contest contest;
        const auto n_classes = static_cast<std::int64_t>(n_classes_);
        for (std::int64_t c = 0; c < n_classes; ++c) {
            if (!admitted_[static_cast<std::size_t>(c)]) continue;
            if (contest.best < 0 || series(part, c)[0] > series(part, contest.best)[0]) {
                contest.best = c;
            }
        }
        const double* best = series(part, std::max<std::int64_t>(contest.best, 0));
        for (std::int64_t c = 0; c < n_classes; ++c) {
            if (c == contest.best || !admitted_[static_cast<std::size_t>(c)]) continue;
            const double* other = series(part, c);
            double spread = 0.0;
            for (std::size_t k = 1; k < count_; ++k) spread += std::abs(best[k] - other[k]);
            const double lead = best[0] - other[0];
            if (lead > (spread + 2.0 * part.error) * rounded_up) continue;
            contest.rival = c;
            ++contest.n_rivals;
            contest.n_equal += lead + spread <= 2.0 * part.error;
        }
        return contest;
    }

    // Appends the leaves of a part unless it has to be halved.
    bool settle_part(const Part& part) {
        const Contest contest = contest_on(part);
        if (contest.n_rivals == 0) {
            append(part.low, part.high, contest.best, contest.best);
            return true;
        }
        if (contest.n_rivals == 1 && is_monotone(part, contest)) {
            append_monotone(part, contest);
            return true;
        }
        if (contest.n_equal == contest.n_rivals || part.depth == deepest) {
            // Nothing more can be known: all differences are smaller than the error.
            const bool both = contest.n_rivals == 1;
            append(part.low, part.high, both ? contest.best : open_zone,
                   both ? contest.rival : open_zone);
            return true;
        }
        return false;
    }

    // Is the difference of the two monotone? Leaves it in `difference_`.
    bool is_monotone(const Part& part, const Contest& contest) {
        const double* best = series(part, contest.best);
        const double* rival = series(part, contest.rival);
        double slope = 0.0;
        for (std::size_t k = 0; k < count_; ++k) {
            difference_[k] = best[k] - rival[k];
            if (k > 1) slope += static_cast<double>(k * k) * std::abs(difference_[k]);
        }
        return count_ > 1 && std::abs(difference_[1]) > slope * rounded_up;
    }

    void append_monotone(const Part& part, const Contest& contest) {
        const double level = (2.0 * part.error + clenshaw_error(difference_)) * rounded_up;
        const double at_low = clenshaw(difference_, -1.0), at_high = clenshaw(difference_, 1.0);
        const std::int64_t first = at_low > 0 ? contest.best : contest.rival;
        const std::int64_t last = at_high > 0 ? contest.best : contest.rival;
        if (std::min(std::abs(at_low), std::abs(at_high)) > level && first == last) {
            append(part.low, part.high, first, first);
            return;
        }
        const double root = root_of(difference_);
        const double start =
            std::abs(at_low) <= level ? -1.0 : edge_of_zone(difference_, level, root, -1.0);
        const double stop =
            std::abs(at_high) <= level ? 1.0 : edge_of_zone(difference_, level, root, 1.0);
        const double half = 0.5 * (part.high - part.low), centre = 0.5 * (part.high + part.low);
        // Four units cover the rounding of the two operations, as all numbers are at most 1.
        const double room = 4 * unit_roundoff;
        const double zone_low =
            start == -1.0 ? part.low : std::max(part.low, centre + half * start - room);
        const double zone_high =
            stop == 1.0 ? part.high : std::min(part.high, centre + half * stop + room);
        if (zone_low > part.low) append(part.low, zone_low, first, first);
        append(zone_low, zone_high, contest.best, contest.rival);
        if (zone_high < part.high) append(zone_high, part.high, last, last);
    }

    // Bound of the rounding when a part is halved. The coefficients of a polynomial that is bounded
    // by 1, as T_k on a half, have a sum of at most sqrt(2 (k + 1)); the term of degree k goes
    // through at most k + 3 roundings because sums run from high to low degree.
    double halving_error(const Part& part) const {
        double worst = 0.0;
        for (std::size_t c = 0; c < n_classes_; ++c) {
            const double* own = part.memory.data() + c * count_;
            double error = 0.0;
            for (std::size_t k = 0; k < count_; ++k) {
                const auto degree = static_cast<double>(k);
                error += (degree + 3) * std::sqrt(2.0 * (degree + 1)) * std::abs(own[k]);
            }
            worst = std::max(worst, error);
        }
        return worst * unit_roundoff * rounded_up;
    }

    void halve(const Part& part, std::vector<Part>& pending) const {
        Part left, right;
        left.error = right.error = part.error + halving_error(part);
        left.depth = right.depth = part.depth + 1;
        left.low = part.low;
        left.high = right.low = 0.5 * (part.low + part.high);
        right.high = part.high;
        left.memory.resize(part.memory.size());
        right.memory.resize(part.memory.size());
        for (std::size_t c = 0; c < n_classes_; ++c) {
            const double* own = part.memory.data() + c * count_;
            for (std::size_t i = 0; i < count_; ++i) {
                double on_left = 0.0, on_right = 0.0;
                for (std::size_t k = count_; k-- > i;) {
                    const double term = halving_(i, k) * own[k];
                    on_left += term;
                    on_right += k % 2 == 1 ? -term : term;
                }
                left.memory[c * count_ + i] = on_left;
                // The right half is the left half of the mirrored series.
                right.memory[c * count_ + i] = i % 2 == 1 ? -on_right : on_right;
            }
        }
        pending.push_back(std::move(right));
        pending.push_back(std::move(left));
    }

    std::size_t node_;
    std::size_t n_classes_;
    std::size_t count_;
    std::span<const bool> admitted_;
    MatrixView<const double> halving_;
    std::vector<double> difference_;
    std::vector<Leaf>& leaves_;
};

}  // namespace

void settle(std::size_t node, const NodeSeries& given, MatrixView<const double> halving,
            std::vector<Leaf>& leaves, StopToken& stop) {
    NodeSettler(node, given, halving, leaves).settle(given, stop);
}

std::vector<double> chebyshev_coefficients(MatrixView<const double> values, StopToken& stop) {
    const std::size_t count = values.rows, columns = values.columns, degree = count - 1;
    std::vector<double> result(columns * count);
    std::vector<numeric::CompensatedSum> sums(columns);
    for (std::size_t k = 0; k < count && !stop.stop_requested(); ++k) {
        std::fill(sums.begin(), sums.end(), numeric::CompensatedSum{});
        for (std::size_t j = 0; j < count; ++j) {
            const auto turn = static_cast<double>((j * k) % (2 * degree));
            const auto whole = static_cast<double>(degree);
            double factor = std::cos(std::numbers::pi * turn / whole) * 2.0 / whole;
            if (j == 0 || j == degree) factor *= 0.5;
            if (k == 0 || k == degree) factor *= 0.5;
            for (std::size_t i = 0; i < columns; ++i) sums[i].add(factor * values(j, i));
        }
        for (std::size_t i = 0; i < columns; ++i) result[i * count + k] = sums[i].total;
    }
    return result;
}

}  // namespace certune::graph
