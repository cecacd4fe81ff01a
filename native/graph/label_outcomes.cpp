#include "graph/label_outcomes.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace certune::graph {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
// Room for the rounding of a comparison; and how close soft labels are that may be tied.
constexpr double comparison_rounding = 0x1p-48, closeness = 1e-9;
// A mixture of two functions is negative if it is so by this share of their moduli.
constexpr double mixture_rounding = 1e-12;

// How far one class can be ahead of another at the vertices.
struct Lead {
    std::vector<double> ahead;
    double most = -infinity;  // largest of them
    double distance = 0.0;    // largest difference of the soft labels
};

void fill_lead(const LinearLabels& labels, std::size_t node, std::size_t first, std::size_t second,
               Lead& lead) {
    const double margin = labels.errors(node, first) + labels.errors(node, second);
    lead.most = -infinity;
    lead.distance = 0.0;
    for (std::size_t v = 0; v < labels.n_vertices; ++v) {
        const double difference = labels.value(v, node, first) - labels.value(v, node, second);
        const double size = std::abs(difference);
        // A few roundings of numbers of this size are charged here.
        lead.ahead[v] = difference + (margin + comparison_rounding * (size + 1.0));
        lead.most = std::max(lead.most, lead.ahead[v]);
        lead.distance = std::max(lead.distance, size);
    }
}

// Is a mixture of two rows negative at every vertex?
bool is_negative(std::span<const double> first, std::span<const double> second, double share) {
    for (std::size_t x = 0; x < first.size(); ++x) {
        const double mixed = (1.0 - share) * first[x] + share * second[x];
        if (mixed > -mixture_rounding * (std::abs(first[x]) + std::abs(second[x]))) return false;
    }
    return true;
}

// Is some mixture of two rows negative everywhere? The best one balances two vertices.
bool exclude(std::span<const double> first, std::span<const double> second) {
    for (std::size_t v = 0; v < first.size(); ++v) {
        for (std::size_t w = 0; w < v; ++w) {
            const double slope_v = second[v] - first[v], slope_w = second[w] - first[w];
            if (slope_v == slope_w) continue;
            const double share = (first[v] - first[w]) / (slope_w - slope_v);
            if (share > 0.0 && share < 1.0 && is_negative(first, second, share)) return true;
        }
    }
    return false;
}

}  // namespace

Ruling rule_out(const LinearLabels& labels, std::span<const Index> truth, MatrixView<bool> possible,
                StopToken& stop) {
    const std::size_t n_nodes = labels.n_nodes(), n_classes = labels.n_classes();
    const std::size_t n_vertices = labels.n_vertices;
    Ruling ruling{std::vector<double>(n_nodes * n_vertices, infinity),
                  std::vector<std::uint8_t>(n_nodes, 0)};
    Lead lead{std::vector<double>(n_vertices)};
    for (std::size_t u = 0; u < n_nodes && !stop.stop_requested(); ++u) {
        double least = infinity;
        for (std::size_t c = 0; c < n_classes; ++c) {
            if (!possible(u, c)) continue;
            for (std::size_t d = 0; d < n_classes; ++d) {
                if (c == d) continue;
                fill_lead(labels, u, c, d, lead);
                if (lead.most < 0.0) {
                    possible(u, c) = false;
                } else if (lead.distance <= closeness) {
                    ruling.close[u] = 1;
                }
                if (truth[u] == static_cast<Index>(c) && lead.most < least) {
                    least = lead.most;
                    std::copy(lead.ahead.begin(), lead.ahead.end(),
                              ruling.room.begin() + static_cast<std::ptrdiff_t>(u * n_vertices));
                }
            }
        }
    }
    return ruling;
}

std::size_t conflicts(MatrixView<const double> room, StopToken& stop) {
    std::vector<bool> taken(room.rows, false);
    std::size_t count = 0;
    for (std::size_t a = 0; a < room.rows && !stop.ended(); ++a) {
        for (std::size_t b = a + 1; b < room.rows && !taken[a]; ++b) {
            if (b % 256 == 0 && stop.stop_requested()) break;
            if (taken[b] || !exclude(room.row(a), room.row(b))) continue;
            taken[a] = taken[b] = true;
            ++count;
        }
    }
    return count;
}

}  // namespace certune::graph
