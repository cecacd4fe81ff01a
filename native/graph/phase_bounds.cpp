#include "graph/phase_bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace certune::graph {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double largest_argument = 300.0;  // exponentials are kept below exp of this
constexpr double negligible = 45.0;         // terms below exp(-this) of an edge are left out

// Calls visit(i, j, is_labelled) for every edge, until it is stopped; i < j among nodes.
template <class Visit>
void for_each_edge(const Joined& joined, StopToken& stop, const Visit& visit) {
    const std::size_t n = joined.n_nodes(), m = joined.n_labelled();
    for (std::size_t i = 0; i < n && !stop.stop_requested(); ++i) {
        for (std::size_t j = i + 1; j < n; ++j) {
            if (joined.nodes(i, j)) visit(i, j, false);
        }
        for (std::size_t j = 0; j < m; ++j) {
            if (joined.labelled(i, j)) visit(i, j, true);
        }
    }
}

// total * exp(top), which neither overflows nor underflows.
struct LogSum {
    double top = -infinity;
    double total = 0.0;

    void add(double exponent) {
        if (exponent > top) {
            total = total * std::exp(top - exponent) + 1.0;
            top = exponent;
        } else if (exponent > -infinity) {
            total += std::exp(exponent - top);
        }
    }
    double log() const { return total > 0.0 ? top + std::log(total) : -infinity; }
};

void widen(CoefficientRange& range, std::size_t which, double value) {
    range.low[which] = std::min(range.low[which], value);
    range.high[which] = std::max(range.high[which], value);
}

// Adds exp(length - exponent) of the tree edges between i and j to the row of the longest one.
void walk(const RankedTree& ranked, std::size_t i, std::size_t j, double exponent, double* row) {
    const SpanningTree& tree = ranked.tree;
    const Index top = ranked.rank_between(i, j);
    while (i != j) {
        if (tree.depth[i] < tree.depth[j]) std::swap(i, j);
        if (exponent - ranked.lengths[i] < negligible && ranked.rank_of[i] != top) {
            row[at(ranked.rank_of[i])] += std::exp(ranked.lengths[i] - exponent);
        }
        i = at(tree.parent[i]);
    }
}

Index root_of(std::vector<Index>& root, Index i) {
    while (root[at(i)] != i) {
        root[at(i)] = root[at(root[at(i)])];
        i = root[at(i)];
    }
    return i;
}

}  // namespace

void lower_margins(const Exponents& exponents, MatrixView<const double> path_maxima,
                   const EdgeValues<double>& margins, StopToken& stop) {
    const std::size_t n = exponents.n_nodes(), m = exponents.n_labelled();
    for (std::size_t i = 0; i < n && !stop.stop_requested(); ++i) {
        for (std::size_t j = i + 1; j < n; ++j) {
            double& margin = margins.nodes(i, j);
            margin = std::min(margin, exponents.nodes(i, j) - path_maxima(i, j));
        }
        for (std::size_t j = 0; j < m; ++j) {
            double& margin = margins.labelled(i, j);
            margin = std::min(margin, exponents.labelled(i, j) - path_maxima(i, n));
        }
    }
}

std::vector<double> tail_of_margins(const Joined& joined, const Exponents& margins,
                                    StopToken& stop) {
    std::vector<double> tail(margin_bins + 1, 0.0);
    for_each_edge(joined, stop, [&](std::size_t i, std::size_t j, bool labelled) {
        const double margin = labelled ? margins.labelled(i, j) : margins.nodes(i, j);
        if (!(margin > 0.0)) return;
        const double g = std::min(margin, static_cast<double>(margin_bins) + 0.5);
        tail[static_cast<std::size_t>(std::ceil(g)) - 1] += std::exp(-g);
    });
    for (std::size_t k = margin_bins; k-- > 0;) tail[k] += tail[k + 1];
    return tail;
}

std::vector<CoefficientRange> ranges_of_strong(const std::array<Exponents, 2>& coefficients,
                                               const Joined& joined, const Margins& margins,
                                               const RankedTree& ranked,
                                               std::span<const Index> group_of_rank,
                                               StopToken& stop) {
    const Index n_groups = *std::max_element(group_of_rank.begin(), group_of_rank.end()) + 1;
    const CoefficientRange nothing{{infinity, infinity}, {-infinity, -infinity}};
    std::vector<CoefficientRange> ranges(at(n_groups), nothing);
    const std::size_t ground = joined.n_nodes();
    for_each_edge(joined, stop, [&](std::size_t i, std::size_t j, bool labelled) {
        const Exponents& of_edges = margins.of_edges;
        const double margin = labelled ? of_edges.labelled(i, j) : of_edges.nodes(i, j);
        if (!(margin <= margins.cutoff)) return;
        const Index rank = ranked.rank_between(i, labelled ? ground : j);
        CoefficientRange& range = ranges[at(group_of_rank[at(rank)])];
        for (std::size_t which = 0; which < 2; ++which) {
            const Exponents& values = coefficients[which];
            widen(range, which, labelled ? values.labelled(i, j) : values.nodes(i, j));
        }
    });
    return ranges;
}

std::vector<double> phase_links(const Exponents& exponents, const Joined& joined,
                                const RankedTree& ranked, StopToken& stop) {
    const std::size_t n = exponents.n_nodes();
    std::vector<double> links(n * n, 0.0);
    for_each_edge(joined, stop, [&](std::size_t i, std::size_t j, bool labelled) {
        const std::size_t other = labelled ? n : j;
        const double exponent = labelled ? exponents.labelled(i, j) : exponents.nodes(i, j);
        double* row = links.data() + at(ranked.rank_between(i, other)) * n;
        walk(ranked, i, other, exponent, row);
    });
    return links;
}

std::vector<Index> joined_groups(std::size_t n, std::span<const Index> first,
                                 std::span<const Index> second) {
    std::vector<Index> root(n);
    std::iota(root.begin(), root.end(), Index{0});
    for (std::size_t k = 0; k < first.size(); ++k) {
        const Index i = root_of(root, first[k]), j = root_of(root, second[k]);
        root[at(std::max(i, j))] = std::min(i, j);
    }
    for (Index& own : root) own = root[at(own)];
    return root;
}

std::vector<double> path_below(const Exponents& exponents, const RankedTree& ranked,
                               std::span<const Index> group_of_rank, StopToken& stop) {
    const SpanningTree& tree = ranked.tree;
    const std::size_t n = tree.n_nodes();
    const std::vector<double> lengths = tree_exponents(exponents, tree);
    std::vector<double> below_memory((n + 1) * (n + 1), -infinity), top_memory = below_memory;
    const MatrixView<double> below{below_memory.data(), n + 1, n + 1};
    const MatrixView<double> top{top_memory.data(), n + 1, n + 1};
    for (std::size_t position = 0; position < tree.order.size() && !stop.stop_requested();
         ++position) {
        const std::size_t i = at(tree.order[position]), p = at(tree.parent[i]);
        const Index rank = ranked.rank_of[i], group = group_of_rank[at(rank)];
        for (std::size_t earlier = 0; earlier <= position; ++earlier) {
            const std::size_t j = earlier == 0 ? n : at(tree.order[earlier - 1]);
            const Index old = ranked.rank_between(p, j);
            double value = below(p, j);
            if (old >= 0 && group_of_rank[at(old)] != group) {
                value = std::max(value, old > rank ? lengths[i] : top(p, j));
            }
            below(i, j) = below(j, i) = value;
            top(i, j) = top(j, i) = std::max(top(p, j), lengths[i]);
        }
    }
    return below_memory;
}

double crossing_sum(const Exponents& exponents, const Joined& joined,
                    MatrixView<const double> below, StopToken& stop) {
    const std::size_t ground = joined.n_nodes();
    double total = 0.0;
    for_each_edge(joined, stop, [&](std::size_t i, std::size_t j, bool labelled) {
        const double exponent = labelled ? exponents.labelled(i, j) : exponents.nodes(i, j);
        const double bound = below(i, labelled ? ground : j);
        total += std::exp(std::min(bound - exponent, largest_argument));
    });
    return total;
}

LeakSums leak_sums(const Exponents& exponents, const Joined& joined, const Margins& margins,
                   MatrixView<const double> path_maxima, MatrixView<const double> below,
                   StopToken& stop) {
    const std::size_t ground = joined.n_nodes();
    LogSum weak, crossing;
    for_each_edge(joined, stop, [&](std::size_t i, std::size_t j, bool labelled) {
        const std::size_t other = labelled ? ground : j;
        const double exponent = labelled ? exponents.labelled(i, j) : exponents.nodes(i, j);
        const double margin =
            labelled ? margins.of_edges.labelled(i, j) : margins.of_edges.nodes(i, j);
        if (margin > margins.cutoff) weak.add(0.5 * path_maxima(i, other) - exponent);
        crossing.add(0.5 * below(i, other) - exponent);
    });
    return {weak.log(), crossing.log()};
}

std::vector<double> log_conductances(const Exponents& exponents, const Joined& joined,
                                     std::span<const double> resistance,
                                     std::span<const Index> ranked, StopToken& stop) {
    const std::size_t n = exponents.n_nodes(), m = exponents.n_labelled();
    std::vector<LogSum> sums(n);
    for (std::size_t outer = 0; outer < n && !stop.stop_requested(); ++outer) {
        const std::size_t u = at(ranked[outer]);
        const double own = resistance[u];
        const auto conductance = [own](double exponent) {
            return std::exp(std::min(own - exponent, largest_argument));
        };
        double prefix = 0.0;
        for (std::size_t j = 0; j < m; ++j) {
            if (joined.labelled(u, j)) prefix += conductance(exponents.labelled(u, j));
        }
        for (std::size_t inner = 0; inner <= outer; ++inner) {
            if (prefix > 0.0) sums[inner].add(std::log(prefix) - own);
            const std::size_t v = at(ranked[inner]);
            if (inner < outer && joined.nodes(u, v)) prefix += conductance(exponents.nodes(u, v));
        }
    }
    std::vector<double> result(n);
    for (std::size_t i = 0; i < n; ++i) result[i] = sums[i].log();
    return result;
}

std::vector<double> chained_growth(const GrowthChain& chain, StopToken& stop) {
    const std::size_t n = chain.ranked.size();
    std::vector<double> result(n), bound(n + 1, 0.0);  // of all ranks below
    for (std::size_t p = 0; p < n && !stop.stop_requested(); ++p) {
        const std::size_t u = at(chain.ranked[p]);
        double best = chain.single[u];
        const std::size_t n_links = best > bound[p] ? p + 1 : 0;
        for (std::size_t i = 0; i < n_links; ++i) {
            double added = -infinity;
            for (std::size_t c = 0; c < chain.log_conductances.rows; ++c) {
                added =
                    std::max(added, 0.5 * (chain.log_conductances(c, i) + chain.resistance(c, u)));
            }
            added += chain.log_factor;
            const double grown = std::max(added, 0.0) + std::log1p(std::exp(-std::abs(added)));
            best = std::min(best, bound[i] + grown);
        }
        result[u] = best;
        bound[p + 1] = std::max(bound[p], best);
    }
    return result;
}

}  // namespace certune::graph
