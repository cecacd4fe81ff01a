#include "graph/neighbour_bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "numeric/exponentials.h"
#include "numeric/simd8.h"

namespace certune::graph {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
// Exponents up to which nothing overflows.
constexpr double largest_exponent = 600.0;
// Part of a sum of moduli that is charged for the rounding of the sum and of its terms.
constexpr double rounding = 1e-9;
constexpr int rounds = 3;
constexpr std::size_t lanes = 4;

// Sums are over the edges of one node, those to labelled points last.
struct Row {
    std::vector<double> first, second;  // coefficients
    std::vector<double> joined;         // 1 for an edge, 0 for none
    std::vector<double> most, least;    // moduli of weights, over that of one of the edges
    std::vector<double> cosines;        // lower bounds

    explicit Row(std::size_t size)
        : first(size), second(size), joined(size), most(size), least(size), cosines(size) {}
};

void fill(const Neighbourhood& around, std::size_t node, Row& row) {
    const std::size_t n = around.joined.n_nodes(), m = around.joined.n_labelled();
    const auto& [p, q] = around.coefficients;
    for (std::size_t j = 0; j < n; ++j) {
        row.first[j] = p.nodes(node, j);
        row.second[j] = q.nodes(node, j);
        row.joined[j] = around.joined.nodes(node, j) ? 1.0 : 0.0;
    }
    for (std::size_t j = 0; j < m; ++j) {
        row.first[n + j] = p.labelled(node, j);
        row.second[n + j] = q.labelled(node, j);
        row.joined[n + j] = around.joined.labelled(node, j) ? 1.0 : 0.0;
    }
}

// The edge with the smallest exponent at the centre of a box.
std::size_t strongest(const Row& row, const PowerBox& box) {
    const double a = 0.5 * (box.low[0] + box.high[0]), b = 0.5 * (box.low[1] + box.high[1]);
    std::size_t best = 0;
    double smallest = infinity;
    for (std::size_t j = 0; j < row.first.size(); ++j) {
        const double exponent = a * row.first[j] + b * row.second[j];
        if (row.joined[j] > 0.0 && exponent < smallest) {
            smallest = exponent;
            best = j;
        }
    }
    return best;
}

// Extremes of the logarithms of the moduli of all weights, and cosines of their largest phases.
CERTUNE_HOT void measure(const PowerBox& box, double slack, std::size_t reference, Row& row) {
    const double p = row.first[reference], q = row.second[reference];
    for (std::size_t j = 0; j < row.first.size(); ++j) {
        const double dp = row.first[j] - p, dq = row.second[j] - q;
        const double a = box.low[0] * dp, b = box.high[0] * dp;
        const double c = box.low[1] * dq, d = box.high[1] * dq;
        row.most[j] = slack - (std::min(a, b) + std::min(c, d));
        row.least[j] = -slack - (std::max(a, b) + std::max(c, d));
        const double phase =
            std::abs(dp) * box.imaginary[0] + std::abs(dq) * box.imaginary[1] + slack;
        // Taylor's series up to a negative term is below the cosine everywhere.
        const double square = phase * phase;
        const double series = 1.0 - square * (0.5 - square * (1.0 / 24.0 - square * (1.0 / 720.0)));
        row.cosines[j] = std::max(series, -1.0);
    }
}

// Turns the largest moduli into coefficients of the bounds of the neighbours, or says that the sum
// of the weights may vanish.
bool normalize(Row& row) {
    const std::size_t size = row.most.size();
    for (std::size_t j = 0; j < size; ++j) {
        if (row.joined[j] > 0.0 && !(row.most[j] <= largest_exponent)) return false;
    }
    numeric::exponentials(row.most);
    numeric::exponentials(row.least);
    double real = 0.0, moduli = 0.0;
    for (std::size_t j = 0; j < size; ++j) {
        const bool is_edge = row.joined[j] > 0.0;
        const double cosine = row.cosines[j];
        const double term = cosine * (cosine > 0.0 ? row.least[j] : row.most[j]);
        row.most[j] = is_edge ? row.most[j] : 0.0;
        if (!is_edge) continue;
        real += term;
        moduli += std::abs(term);
    }
    const double sum = real - rounding * moduli;
    if (!(sum > 0.0)) return false;
    const double factor = (1.0 + rounding) / sum;
    for (double& share : row.most) share *= factor;
    return true;
}

// Bounds may be infinite where the shares are 0.
CERTUNE_HOT double product(std::span<const double> shares, std::span<const double> bounds) {
    double sums[lanes] = {};
    const auto term = [&](std::size_t j) { return shares[j] > 0.0 ? shares[j] * bounds[j] : 0.0; };
    std::size_t j = 0;
    for (; j + lanes <= shares.size(); j += lanes) {
        for (std::size_t k = 0; k < lanes; ++k) sums[k] += term(j + k);
    }
    for (; j < shares.size(); ++j) sums[0] += term(j);
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// Is every neighbour bounded?
bool all_known(const Row& row, std::span<const double> bounds) {
    for (std::size_t j = 0; j < bounds.size(); ++j) {
        if (row.joined[j] > 0.0 && !(bounds[j] < infinity)) return false;
    }
    return true;
}

}  // namespace

std::vector<double> bounds_by_neighbours(const Neighbourhood& around,
                                         std::span<const PowerBox> boxes, StopToken& stop) {
    const std::size_t n = around.joined.n_nodes(), size = n + around.joined.n_labelled();
    const std::size_t count = around.chosen.size();
    Row row(size);
    std::vector<double> memory(count * size), bounds(size), largest(n, 0.0);
    std::vector<bool> usable(count);
    for (const PowerBox& box : boxes) {
        for (std::size_t j = 0; j < size; ++j) {
            const double log = j < n ? around.bounds[j] : 0.0;
            bounds[j] = log <= largest_exponent ? std::exp(std::max(log, 0.0)) : infinity;
        }
        for (std::size_t k = 0; k < count && !stop.stop_requested(); ++k) {
            fill(around, at(around.chosen[k]), row);
            measure(box, around.slack, strongest(row, box), row);
            usable[k] = all_known(row, bounds) && normalize(row);
            std::copy(row.most.begin(), row.most.end(), memory.begin() + k * size);
        }
        for (int round = 0; round < rounds && !stop.stop_requested(); ++round) {
            for (std::size_t k = 0; k < count; ++k) {
                if (!usable[k]) continue;
                const std::span<const double> shares{memory.data() + k * size, size};
                const double found = (1.0 + rounding) * product(shares, bounds);
                double& own = bounds[at(around.chosen[k])];
                if (found < own) own = std::max(found, 1.0);
            }
        }
        for (std::size_t j = 0; j < n; ++j) largest[j] = std::max(largest[j], bounds[j]);
    }
    std::vector<double> result(around.bounds.begin(), around.bounds.end());
    for (const Index chosen : around.chosen) {
        const std::size_t node = at(chosen);
        result[node] = std::min(result[node], std::log(largest[node]) + rounding);
    }
    return result;
}

}  // namespace certune::graph
