#include "graph/exponent_rows.h"

#include "numeric/compensated.h"
#include "numeric/simd8.h"

namespace certune::graph {

CERTUNE_HOT void add_scaled(const double* __restrict lengths, double high, double low,
                            std::size_t count, DoubledRow& row) {
    double* __restrict highs = row.high.data();
    double* __restrict lows = row.low.data();
    const numeric::Halves parts = numeric::halves(high);
    for (std::size_t j = 0; j < count; ++j) {
        const double length = lengths[j];
        const double product = high * length;
        const double remainder = numeric::product_error(parts, numeric::halves(length), product);
        const double total = highs[j] + product;
        const double lost = numeric::sum_error(highs[j], product, total);
        lows[j] += lost + (remainder + low * length);
        highs[j] = total;
    }
}

}  // namespace certune::graph
