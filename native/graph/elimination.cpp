#include "graph/elimination.h"

#include <algorithm>

#include "graph/exponent_rows.h"
#include "numeric/compensated.h"
#include "numeric/exponentials.h"
#include "numeric/simd8.h"

namespace certune::graph {

namespace {

using numeric::CompensatedSum;

// Shares below this may have lost digits by underflow.
constexpr double tiny = 0x1p-960;

// Nodes whose shares are added up before they are added to a row.
constexpr std::size_t block = 4;

// Eliminated at a time, so that the rest of the graph passes through memory once for all of them.
constexpr std::size_t panel = 8 * block;

// Sums over a row that go on side by side, because each of them waits for its last addition.
constexpr std::size_t chains = 4;

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
CERTUNE_INLINE void add_four(MatrixView<double> matrix, const double* shares, std::size_t first,
                             std::size_t i, std::size_t from) {
    const double a = shares[0], b = shares[1], c = shares[2], d = shares[3];
    const double* __restrict one = matrix.row(first).data();
    const double* __restrict two = matrix.row(first + 1).data();
    const double* __restrict three = matrix.row(first + 2).data();
    const double* __restrict four = matrix.row(first + 3).data();
    double* __restrict row = matrix.row(i).data();
    for (std::size_t j = from; j < matrix.columns; ++j) {
        row[j] += (a * one[j] + b * two[j]) + (c * three[j] + d * four[j]);
    }
}

// What node i gets when the nodes of a whole block are eliminated.
CERTUNE_INLINE void pass_on_block(const Elimination& graph, std::size_t start, std::size_t i) {
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

// What node i gets when the nodes from `start` to `end`, whole blocks, are eliminated.
CERTUNE_HOT void pass_on_blocks(const Elimination& graph, std::size_t start, std::size_t end,
                                std::size_t i) {
    for (std::size_t first = start; first < end; first += block) pass_on_block(graph, first, i);
}

// Eliminates a block of nodes from the block itself; false if some node has no weight left.
bool eliminate_block(const Elimination& graph, std::size_t start, std::size_t end) {
    for (std::size_t p = start; p < end; ++p) {
        graph.sums[p] = row_sum(graph.weights.row(p).subspan(p + 1), graph.classes.row(p));
        if (!(graph.sums[p] > 0.0)) return false;
        for (std::size_t i = p + 1; i < end; ++i) pass_on(graph, p, i);
    }
    return true;
}

// Adds the products of shares with a few columns of soft labels, those of later nodes, to sums.
template <std::size_t count>
void add_products(std::span<const double> shares, std::size_t first, const double* soft,
                  std::size_t stride, CompensatedSum* result) {
    CompensatedSum sums[count];
    std::copy_n(result, count, sums);
    for (std::size_t j = first; j < shares.size(); ++j) {
        for (std::size_t c = 0; c < count; ++c) sums[c].add(shares[j] * soft[j * stride + c]);
    }
    std::copy_n(sums, count, result);
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
    for (std::size_t start = 0; start < n; start += panel) {
        const std::size_t end = std::min(start + panel, n);
        for (std::size_t first = start; first < end; first += block) {
            const std::size_t last = std::min(first + block, n);
            if (!eliminate_block(graph, first, last)) return false;
            for (std::size_t i = last; i < end; ++i) pass_on_blocks(graph, first, last, i);
        }
        for (std::size_t i = end; i < n; ++i) {
            if (i % 64 == 0 && stop.stop_requested()) return false;
            pass_on_blocks(graph, start, end, i);
        }
    }
    return true;
}

std::vector<double> substitute(const Elimination& done, StopToken& stop) {
    const std::size_t n = done.sums.size(), n_classes = done.classes.columns;
    std::vector<double> soft(n * n_classes, 0.0), shares(n);
    std::vector<CompensatedSum> sums(n_classes);
    for (std::size_t i = n; i-- > 0;) {
        if (i % 64 == 0 && stop.stop_requested()) break;
        // Weights are divided by their sum first: a term then underflows only if the result does.
        for (std::size_t j = i + 1; j < n; ++j) shares[j] = done.weights(i, j) / done.sums[i];
        for (std::size_t c = 0; c < n_classes; ++c) sums[c] = {done.classes(i, c) / done.sums[i]};
        std::size_t c = 0;
        for (; c + chains <= n_classes; c += chains) {
            add_products<chains>(shares, i + 1, soft.data() + c, n_classes, &sums[c]);
        }
        for (; c + 2 <= n_classes; c += 2) {
            add_products<2>(shares, i + 1, soft.data() + c, n_classes, &sums[c]);
        }
        if (c < n_classes) add_products<1>(shares, i + 1, soft.data() + c, n_classes, &sums[c]);
        for (c = 0; c < n_classes; ++c) soft[i * n_classes + c] = sums[c].total;
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

CERTUNE_HOT std::vector<double> inverse_diagonal(const Elimination& done, StopToken& stop) {
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
