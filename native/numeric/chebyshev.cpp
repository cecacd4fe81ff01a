#include "numeric/chebyshev.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace certune::numeric {

namespace {

using std::numbers::pi;

double clenshaw(std::span<const double> series, double s) {
    double ahead = 0.0, after = 0.0;
    const double twice = 2.0 * s;
    for (std::size_t k = series.size(); k-- > 1;) {
        const double next = series[k] + (twice * ahead - after);
        after = ahead;
        ahead = next;
    }
    return series[0] + (s * ahead - after);
}

// cos(pi i / (2 count)) for i < 4 count: all cosines at the Chebyshev points.
void fill_cosines(std::size_t count, std::vector<double>& cosines) {
    cosines.resize(4 * count);
    const auto half_turn = static_cast<double>(2 * count);
    for (std::size_t i = 0; i < 4 * count; ++i) {
        cosines[i] = std::cos(pi * static_cast<double>(i) / half_turn);
    }
}

}  // namespace

std::vector<double> evaluate(const ChebyshevRows& polynomials, std::span<const std::int64_t> rows,
                             std::span<const double> points, StopToken& stop) {
    std::vector<double> values(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (i % 1024 == 0 && stop.stop_requested()) break;
        values[i] = clenshaw(polynomials.terms(static_cast<std::size_t>(rows[i])), points[i]);
    }
    return values;
}

void add_samples(const ChebyshevRows& polynomials, const Cells& cells, const Samples& samples,
                 StopToken& stop) {
    for (std::size_t cell = 0; cell < cells.rows.size(); ++cell) {
        if (cell % 64 == 0 && stop.stop_requested()) return;
        if (cells.rows[cell] < 0) continue;
        const auto series = polynomials.terms(static_cast<std::size_t>(cells.rows[cell]));
        const double middle = 0.5 * cells.left[cell] + 0.5 * cells.right[cell];
        const double half = 0.5 * cells.right[cell] - 0.5 * cells.left[cell];
        const auto count = static_cast<std::size_t>(samples.n_nodes[cell]);
        for (std::size_t j = 0; j < count; ++j) {
            const double node =
                std::cos(pi * static_cast<double>(2 * j + 1) / static_cast<double>(2 * count));
            const double s = std::min(std::max(middle + half * node, -1.0), 1.0);
            samples.values(cell, j) += clenshaw(series, s);
        }
    }
}

std::vector<double> interpolate(MatrixView<const double> values,
                                std::span<const std::int64_t> n_nodes, StopToken& stop) {
    const std::size_t n_cells = values.rows, widest = values.columns;
    std::vector<double> coefficients(n_cells * widest, 0.0), cosines;
    std::size_t known = 0;  // for which number of nodes the cosines are
    for (std::size_t cell = 0; cell < n_cells && !stop.stop_requested(); ++cell) {
        const auto count = static_cast<std::size_t>(n_nodes[cell]);
        if (count != known) fill_cosines(known = count, cosines);
        for (std::size_t k = 0; k < count; ++k) {
            double total = 0.0;
            for (std::size_t j = 0; j < count; ++j) {
                total += values(cell, j) * cosines[k * (2 * j + 1) % (4 * count)];
            }
            coefficients[cell * widest + k] =
                total * (k > 0 ? 2.0 : 1.0) / static_cast<double>(count);
        }
    }
    return coefficients;
}

}  // namespace certune::numeric
