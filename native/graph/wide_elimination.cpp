#include "graph/wide_elimination.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "graph/exponent_rows.h"
#include "numeric/compensated.h"
#include "numeric/exponentials.h"

namespace certune::graph {

namespace {

constexpr double log2_high = 0.6931471805599453;
constexpr double log2_low = 2.3190468138462996e-17;
constexpr std::int64_t scale_of_zero = -(std::int64_t{1} << 62);
constexpr std::int64_t negligible = 1100;  // 2**-1100 is below all doubles

// value * 2**scale, the value in [1/2, 1), or zero.
struct Wide {
    double value = 0.0;
    std::int64_t scale = scale_of_zero;
};

Wide normal(double value, std::int64_t scale) {
    if (value == 0.0) return {};
    int exponent = 0;
    const double mantissa = std::frexp(value, &exponent);
    return {mantissa, scale + exponent};
}

double scaled(Wide number, std::int64_t scale) {
    return std::ldexp(number.value, static_cast<int>(number.scale - scale));
}

Wide sum(Wide first, Wide second) {
    if (first.scale < second.scale) std::swap(first, second);
    if (first.scale - second.scale > negligible || second.value == 0.0) return first;
    return normal(first.value + scaled(second, first.scale), first.scale);
}

// Scales of exponents up to 1e13 are kept; of others, and of no number, only the sign is, so that
// sums of scales do not overflow.
std::int64_t whole(double scale) {
    constexpr double limit = 0x1p45;
    return static_cast<std::int64_t>(scale > limit ? limit : scale >= -limit ? scale : -limit);
}

// Weights exp(high + low) of a row, within 8 units of roundoff.
class WideRow {
   public:
    explicit WideRow(std::size_t size) : row_(size), scales_(size) {}

    template <class RowOf>
    void fill(const RowOf& row_of, const Rates& rates, std::size_t count) {
        fill_exponents(row_of, rates, 0.0, count, row_);
        const numeric::Halves log_parts = numeric::halves(log2_high);
        for (std::size_t j = 0; j < count; ++j) {
            const double scale = std::floor(row_.high[j] / log2_high + 0.5);
            const double product = scale * log2_high;
            const double error = numeric::product_error(numeric::halves(scale), log_parts, product);
            row_.high[j] = (row_.high[j] - product) + (row_.low[j] - error - scale * log2_low);
            scales_[j] = whole(scale);
        }
        numeric::exponentials({row_.high.data(), count});
    }
    Wide operator[](std::size_t j) const { return normal(row_.high[j], scales_[j]); }

   private:
    DoubledRow row_;
    std::vector<std::int64_t> scales_;
};

// Weights of all nodes: to later nodes, then to the classes.
std::vector<Wide> wide_weights(const LabelledGraph& graph, const Rates& rates, StopToken& stop) {
    const std::size_t n = graph.n_nodes(), m = graph.n_labelled(), size = n + graph.n_classes;
    std::vector<Wide> memory(n * size);
    WideRow row(std::max(n, m));
    for (std::size_t i = 0; i < n && !stop.stop_requested(); ++i) {
        Wide* own = memory.data() + i * size;
        row.fill([&](std::size_t k) { return graph.lengths(k).nodes.row(i).data(); }, rates, n);
        for (std::size_t j = i + 1; j < n; ++j) {
            if (graph.joined.nodes(i, j)) own[j] = row[j];
        }
        row.fill([&](std::size_t k) { return graph.lengths(k).labelled.row(i).data(); }, rates, m);
        for (std::size_t j = 0; j < m; ++j) {
            if (!graph.joined.labelled(i, j)) continue;
            Wide& weight = own[n + at(graph.class_of[j])];
            weight = sum(weight, row[j]);
        }
    }
    return memory;
}

// A row divided by its sum; returns the sum, in units of 2**scale.
double divide(std::span<const Wide> row, std::int64_t scale, std::span<double> shares) {
    numeric::CompensatedSum total;
    for (const Wide weight : row) {
        if (weight.scale >= scale - negligible) total.add(scaled(weight, scale));
    }
    for (std::size_t j = 0; j < row.size(); ++j) {
        if (row[j].scale >= scale - negligible) shares[j] = scaled(row[j], scale) / total.total;
    }
    return total.total;
}

}  // namespace

std::vector<double> transition_shares(const LabelledGraph& graph, const Rates& rates,
                                      StopToken& stop) {
    const std::size_t n = graph.n_nodes(), size = n + graph.n_classes;
    std::vector<Wide> memory = wide_weights(graph, rates, stop);
    const MatrixView<Wide> weights{memory.data(), n, size};
    std::vector<double> shares(n * size, 0.0);
    for (std::size_t p = 0; p < n; ++p) {
        const std::span<const Wide> later = weights.row(p).subspan(p + 1);
        std::int64_t top = scale_of_zero;
        for (const Wide weight : later) top = std::max(top, weight.scale);
        const double total =
            divide(later, top, std::span(shares).subspan(p * size + p + 1, later.size()));
        for (std::size_t i = p + 1; i < n; ++i) {
            if (stop.stop_requested()) return shares;
            const Wide given = weights(p, i);
            if (given.value == 0.0) continue;
            const Wide ratio = normal(given.value / total, given.scale - top);
            for (std::size_t j = i + 1; j < size; ++j) {
                const Wide weight = weights(p, j);
                if (weight.value == 0.0) continue;
                const Wide added = normal(ratio.value * weight.value, ratio.scale + weight.scale);
                weights(i, j) = sum(weights(i, j), added);
            }
        }
    }
    return shares;
}

}  // namespace certune::graph
