#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "graph/elimination.h"
#include "graph/graph.h"
#include "numeric/compensated.h"

namespace certune::graph {

// Numbers in twice the precision of a double: unevaluated sums high + low.
struct DoubledRow {
    explicit DoubledRow(std::size_t size) : high(size), low(size) {}

    std::vector<double> high;
    std::vector<double> low;
};

// Writes shift - sum_k rates[k] * row_of(k)[j] to the first entries of a row, in twice the
// precision of a double. `row_of` gives the lengths of some edges in a metric.
template <class RowOf>
void fill_exponents(const RowOf& row_of, const Rates& rates, double shift, std::size_t count,
                    DoubledRow& out) {
    double* high = out.high.data();
    double* low = out.low.data();
    std::fill_n(high, count, shift);
    std::fill_n(low, count, 0.0);
    for (std::size_t k = 0; k < rates.high.size(); ++k) {
        const double rate = -rates.high[k], error = -rates.low[k];
        if (rate == 0.0 && error == 0.0) continue;
        const numeric::Halves parts = numeric::halves(rate);
        const double* lengths = row_of(k);
        for (std::size_t j = 0; j < count; ++j) {
            const double length = lengths[j];
            const double product = rate * length;
            const double remainder =
                numeric::product_error(parts, numeric::halves(length), product);
            const double total = high[j] + product;
            const double lost = numeric::sum_error(high[j], product, total);
            low[j] += lost + (remainder + error * length);
            high[j] = total;
        }
    }
}

}  // namespace certune::graph
