#include "graph/elimination.h"

#include <algorithm>

#include "graph/exponent_rows.h"
#include "numeric/compensated.h"
#include "numeric/exponentials.h"

namespace certune::graph {

namespace {

using numeric::CompensatedSum;

// Shares below this may have lost digits by underflow.
constexpr double tiny = 0x1p-960;

// Eliminated at a time, so that the rest of the graph passes through memory once for all of them.
constexpr std::size_t block = 4;

double row_sum(std::span<const double> row, std::span<const double> classes) {
    CompensatedSum sum;
    for (const double weight : classes) sum.add(weight);
    for (const double weight : row) sum.add(weight);
    return sum.total;
}

// What node i gets when p is eliminated, with quotients that cannot vanish by underflow. The plain
// order, (w_pi / s_p) w_pj, loses everything if the quotient underflows while w_pj is large; the
// other order loses at most what is negligible.
void pass_on_carefully(const Elimination& graph, std::size_t p, std::size_t i) {
    const double own = graph.weights(p, i);
    if (own == 0.0) return;
    for (std::size_t j = i + 1; j < graph.sums.size(); ++j) {
        graph.weights(i, j) += own * (graph.weights(p, j) / graph.sums[p]);
    }
    for (std::size_t c = 0; c < graph.classes.columns; ++c) {
        graph.classes(i, c) += own * (graph.classes(p, c) / graph.sums[p]);
    }
}

void pass_on(const Elimination& graph, std::size_t p, std::size_t i) {
    const double share = graph.weights(p, i) / graph.sums[p];
    if (share < tiny) {
        pass_on_carefully(graph, p, i);
        return;
    }
    for (std::size_t j = i + 1; j < graph.sums.size(); ++j) {
        graph.weights(i, j) += share * graph.weights(p, j);
    }
    for (std::size_t c = 0; c < graph.classes.columns; ++c) {
        graph.classes(i, c) += share * graph.classes(p, c);
    }
}

// Adds the shares of four rows of a matrix, from `first` on, to row i.
void add_four(MatrixView<double> matrix, const double* shares, std::size_t first, std::size_t i,
              std::size_t from) {
    const double a = shares[0], b = shares[1], c = shares[2], d = shares[3];
    const double* one = matrix.row(first).data();
    const double* two = matrix.row(first + 1).data();
    const double* three = matrix.row(first + 2).data();
    const double* four = matrix.row(first + 3).data();
    double* row = matrix.row(i).data();
    for (std::size_t j = from; j < matrix.columns; ++j) {
        row[j] += (a * one[j] + b * two[j]) + (c * three[j] + d * four[j]);
    }
}

// What node i gets when the nodes of a whole block are eliminated.
void pass_on_block(const Elimination& graph, std::size_t start, std::size_t i) {
    double shares[block];
    bool careful = false;
    for (std::size_t k = 0; k < block; ++k) {
        const double weight = graph.weights(start + k, i);
        shares[k] = weight / graph.sums[start + k];
        // A share of a positive weight may be 0 itself, so that weights say what is there.
        careful = careful || (shares[k] < tiny && weight > 0.0);
    }
    if (careful) {
        for (std::size_t p = start; p < start + block; ++p) pass_on_carefully(graph, p, i);
        return;
    }
    add_four(graph.weights, shares, start, i, i + 1);
    add_four(graph.classes, shares, start, i, 0);
}

}  // namespace

void fill_weights(const LabelledGraph& graph, const Rates& rates, double shift,
                  const Elimination& out, StopToken& stop) {
    const std::size_t n = graph.n_nodes(), m = graph.n_labelled();
    DoubledRow row(std::max(n, m));
    std::vector<CompensatedSum> sums(graph.n_classes);
    for (std::size_t i = 0; i < n && !stop.stop_requested(); ++i) {
        const std::size_t count = n - i - 1;
        const auto to_nodes = [&](std::size_t k) {
            return graph.lengths(k).nodes.row(i).data() + i + 1;
        };
        fill_exponents(to_nodes, rates, shift, count, row);
        numeric::exponentials({row.high.data(), count});
        double* weights = out.weights.row(i).data() + i + 1;
        const bool* joined = graph.joined.nodes.row(i).data() + i + 1;
        for (std::size_t j = 0; j < count; ++j) {
            weights[j] = joined[j] ? row.high[j] + row.high[j] * row.low[j] : 0.0;
        }
        const auto to_labels = [&](std::size_t k) {
            return graph.lengths(k).labelled.row(i).data();
        };
        fill_exponents(to_labels, rates, shift, m, row);
        numeric::exponentials({row.high.data(), m});
        std::fill(sums.begin(), sums.end(), CompensatedSum{});
        for (std::size_t j = 0; j < m; ++j) {
            if (!graph.joined.labelled(i, j)) continue;
            sums[at(graph.class_of[j])].add(row.high[j] + row.high[j] * row.low[j]);
        }
        for (std::size_t c = 0; c < sums.size(); ++c) out.classes(i, c) = sums[c].total;
    }
}

bool eliminate(const Elimination& graph, StopToken& stop) {
    const std::size_t n = graph.sums.size();
    for (std::size_t start = 0; start < n; start += block) {
        const std::size_t end = std::min(start + block, n);
        for (std::size_t p = start; p < end; ++p) {
            graph.sums[p] = row_sum(graph.weights.row(p).subspan(p + 1), graph.classes.row(p));
            if (!(graph.sums[p] > 0.0)) return false;
            for (std::size_t i = p + 1; i < end; ++i) pass_on(graph, p, i);
        }
        for (std::size_t i = end; i < n; ++i) {
            if (i % 64 == 0 && stop.stop_requested()) return false;
            pass_on_block(graph, start, i);
        }
    }
    return true;
}

std::vector<double> substitute(const Elimination& done, StopToken& stop) {
    const std::size_t n = done.sums.size(), n_classes = done.classes.columns;
    std::vector<double> soft(n * n_classes, 0.0), shares(n);
    for (std::size_t i = n; i-- > 0;) {
        if (i % 64 == 0 && stop.stop_requested()) break;
        // Weights are divided by their sum first: a term then underflows only if the result does.
        for (std::size_t j = i + 1; j < n; ++j) shares[j] = done.weights(i, j) / done.sums[i];
        for (std::size_t c = 0; c < n_classes; ++c) {
            CompensatedSum sum{done.classes(i, c) / done.sums[i], 0.0};
            for (std::size_t j = i + 1; j < n; ++j) sum.add(shares[j] * soft[j * n_classes + c]);
            soft[i * n_classes + c] = sum.total;
        }
    }
    return soft;
}

void solve_grounded(const Elimination& done, MatrixView<double> right, StopToken& stop) {
    const std::size_t n = done.sums.size();
    for (std::size_t i = 0; i < n && !stop.stop_requested(); ++i) {
        for (std::size_t j = i + 1; j < n; ++j) {
            const double share = done.weights(i, j) / done.sums[i];
            for (std::size_t c = 0; c < right.columns; ++c) right(j, c) += share * right(i, c);
        }
    }
    for (std::size_t i = n; i-- > 0;) {
        if (stop.stop_requested()) return;
        for (std::size_t c = 0; c < right.columns; ++c) {
            double total = right(i, c);
            for (std::size_t j = i + 1; j < n; ++j) total += done.weights(i, j) * right(j, c);
            right(i, c) = total / done.sums[i];
        }
    }
}

std::vector<double> inverse_diagonal(const Elimination& done, StopToken& stop) {
    // The Laplacian is L diag(sums) L' with L_ik = -weights(k, i) / sums[k], so that the inverse of
    // L has no negative entry and is found without subtraction too.
    const std::size_t n = done.sums.size();
    std::vector<double> memory(n * n, 0.0), diagonal(n, 0.0);
    const MatrixView<double> inverse{memory.data(), n, n};
    for (std::size_t k = 0; k < n; ++k) {
        double* row = inverse.row(k).data();
        for (std::size_t m = 0; m < k; ++m) {
            if (m % 64 == 0 && stop.stop_requested()) return diagonal;
            const double share = done.weights(m, k) / done.sums[m];
            const double* other = inverse.row(m).data();
            for (std::size_t j = 0; j <= m; ++j) row[j] += share * other[j];
        }
        row[k] = 1.0;
        for (std::size_t j = 0; j <= k; ++j) diagonal[j] += row[j] * row[j] / done.sums[k];
    }
    return diagonal;
}

std::vector<double> green_functions(const Elimination& done, StopToken& stop) {
    const std::size_t n = done.sums.size();
    std::vector<double> memory(n * n, 0.0);
    const MatrixView<double> inverse{memory.data(), n, n};
    for (std::size_t k = n; k-- > 0;) {
        double* row = inverse.row(k).data();
        for (std::size_t i = k + 1; i < n; ++i) {
            if (i % 64 == 0 && stop.stop_requested()) return memory;
            const double share = done.weights(k, i) / done.sums[k];
            if (!(share > 0.0)) continue;
            const double* other = inverse.row(i).data();
            for (std::size_t j = k + 1; j < n; ++j) row[j] += share * other[j];
        }
        double own = 1.0 / done.sums[k];
        for (std::size_t i = k + 1; i < n; ++i) {
            own += done.weights(k, i) / done.sums[k] * row[i];
        }
        row[k] = own;
        for (std::size_t j = k + 1; j < n; ++j) inverse(j, k) = row[j];
    }
    return memory;
}

std::vector<double> class_energies(const Elimination& done, StopToken& stop) {
    const std::size_t n_classes = done.classes.columns;
    std::vector<double> energies(n_classes, 0.0);
    for (std::size_t k = 0; k < done.sums.size() && !stop.stop_requested(); ++k) {
        for (std::size_t c = 0; c < n_classes; ++c) {
            double others = 0.0;
            for (std::size_t d = 0; d < n_classes; ++d) {
                if (d != c) others += done.classes(k, d);
            }
            energies[c] += done.classes(k, c) / done.sums[k] * others;
        }
    }
    return energies;
}

}  // namespace certune::graph
