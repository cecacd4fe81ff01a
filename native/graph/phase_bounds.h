#pragma once

// Sums over the edges of a graph from which certune.families.graph_ssl.certificate bounds soft
// labels at complex parameters. Edges whose exponents exceed those of a path between their ends
// count little; the bound of phases has to look at the others only.

#include <array>
#include <span>
#include <vector>

#include "graph/graph.h"
#include "graph/strong_tree.h"
#include "stop_token.h"

namespace certune::graph {

inline constexpr std::size_t margin_bins = 64;  // whole exponents up to here are told apart

// How much weaker each edge is than the tree path between its ends, at least: exponent minus the
// largest one on the path. Lowers the margins to those at one more setting of the exponents.
void lower_margins(const Exponents& exponents, MatrixView<const double> path_maxima,
                   const EdgeValues<double>& margins, StopToken& stop);

// tail[k], k <= margin_bins: the sum of exp(-g) over the edges with a margin g > k.
std::vector<double> tail_of_margins(const Joined& joined, const Exponents& margins,
                                    StopToken& stop);

// Strong edges have a margin of at most `cutoff`.
struct Margins {
    Exponents of_edges;
    double cutoff = 0.0;
};

// Smallest and largest values of two coefficients.
struct CoefficientRange {
    std::array<double, 2> low;
    std::array<double, 2> high;
};

// Ranges of both coefficients over the strong edges of each group; an edge is in the group of the
// highest rank on its path.
std::vector<CoefficientRange> ranges_of_strong(const std::array<Exponents, 2>& coefficients,
                                               const Joined& joined, const Margins& margins,
                                               const RankedTree& ranked,
                                               std::span<const Index> group_of_rank,
                                               StopToken& stop);

// How much it costs (n, n) if two tree edges, known by their ranks, have different phases: for
// every edge of the graph, the longest tree edge on its path against each of the others.
std::vector<double> phase_links(const Exponents& exponents, const Joined& joined,
                                const RankedTree& ranked, StopToken& stop);

// Group numbers of 0, ..., n - 1 when first[k] and second[k] are to be in one group.
std::vector<Index> joined_groups(std::size_t n, std::span<const Index> first,
                                 std::span<const Index> second);

// Bound (n + 1, n + 1) of the exponents, on the path of every two nodes, of other groups than that
// of the highest rank; -infinity if there is one group only.
std::vector<double> path_below(const Exponents& exponents, const RankedTree& ranked,
                               std::span<const Index> group_of_rank, StopToken& stop);

// Sum of exp(below - exponent) over all edges.
double crossing_sum(const Exponents& exponents, const Joined& joined,
                    MatrixView<const double> below, StopToken& stop);

// Logarithms of sums over edges that bound what phases change on the right-hand side.
struct LeakSums {
    double weak = 0.0;      // of exp(path maximum / 2 - exponent) over weak edges
    double crossing = 0.0;  // of exp(below / 2 - exponent) over all
};

LeakSums leak_sums(const Exponents& exponents, const Joined& joined, const Margins& margins,
                   MatrixView<const double> path_maxima, MatrixView<const double> below,
                   StopToken& stop);

// Logarithms of the conductances between the nodes of rank i and above, and all others.
// `resistance` is the largest exponent on the way of a node to the ground, near the smallest
// exponent from the node to nodes of lower rank; `ranked` lists the nodes.
std::vector<double> log_conductances(const Exponents& exponents, const Joined& joined,
                                     std::span<const double> resistance,
                                     std::span<const Index> ranked, StopToken& stop);

// Logarithms of bounds of all soft labels: nodes from the ground outwards, each by the best.
// Rows of conductances and resistances belong to the corners of a box of exponents; `single` bounds
// each node without a chain. A node of rank p is bounded by what bounds all ranks below i, for some
// i <= p, times 1 + factor sqrt(conductance resistance).
struct GrowthChain {
    MatrixView<const double> log_conductances;  // (corners, n), by rank
    MatrixView<const double> resistance;        // (corners, n), by node
    std::span<const Index> ranked;
    std::span<const double> single;
    double log_factor = 0.0;
};

std::vector<double> chained_growth(const GrowthChain& chain, StopToken& stop);

}  // namespace certune::graph
