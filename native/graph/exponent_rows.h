#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "graph/elimination.h"
#include "graph/graph.h"

namespace certune::graph {

// Numbers in twice the precision of a double: unevaluated sums high + low.
struct DoubledRow {
    explicit DoubledRow(std::size_t size) : high(size), low(size) {}

    std::vector<double> high;
    std::vector<double> low;
};

// Adds rate * lengths[j] to the first entries of a row; the rate is the sum high + low.
void add_scaled(const double* lengths, double high, double low, std::size_t count, DoubledRow& row);

// Writes shift - sum_k rates[k] * row_of(k)[j] to the first entries of a row, in twice the
// precision of a double. `row_of` gives the lengths of some edges in a metric.
template <class RowOf>
void fill_exponents(const RowOf& row_of, const Rates& rates, double shift, std::size_t count,
                    DoubledRow& out) {
    std::fill_n(out.high.data(), count, shift);
    std::fill_n(out.low.data(), count, 0.0);
    for (std::size_t k = 0; k < rates.high.size(); ++k) {
        if (rates.high[k] == 0.0 && rates.low[k] == 0.0) continue;
        add_scaled(row_of(k), -rates.high[k], -rates.low[k], count, out);
    }
}

}  // namespace certune::graph
