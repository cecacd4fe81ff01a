#include "graph/dominance.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace certune::graph {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
// Terms below exp(-negligible) of the weakest edge of the path are counted by their number.
constexpr double negligible = 40.0;
constexpr Index nothing = -1;

// A tree grown from a node by the strongest edges, until labels of two classes are reached.
class Growth {
   public:
    Growth(const LabelledGraph& graph, MatrixView<const double> exponents)
        : graph_(graph),
          exponents_(exponents),
          n_(graph.n_nodes()),
          key_(n_),
          label_key_(graph.n_labelled()),
          label_parent_(graph.n_labelled()),
          seen_(n_),
          parent(n_) {}

    void grow(std::size_t start);

   private:
    void reset(std::size_t start);
    void take(std::size_t node);
    Index nearest_node() const;
    Index nearest_label() const;

    const LabelledGraph& graph_;
    MatrixView<const double> exponents_;
    std::size_t n_;
    std::vector<double> key_;  // smallest exponent to the tree
    std::vector<double> label_key_;
    std::vector<std::size_t> label_parent_;
    std::vector<bool> seen_;

   public:
    Index winner = nothing;  // class reached first
    std::size_t last = 0;    // node and label of the edge that reached it
    std::size_t label = 0;
    std::size_t size = 0;  // nodes that come before the weakest edge after it
    std::vector<std::size_t> order;
    std::vector<std::size_t> parent;
};

void Growth::reset(std::size_t start) {
    std::fill(key_.begin(), key_.end(), infinity);
    std::fill(label_key_.begin(), label_key_.end(), infinity);
    std::fill(seen_.begin(), seen_.end(), false);
    order.clear();
    winner = nothing;
    size = 0;
    take(start);
}

void Growth::take(std::size_t node) {
    seen_[node] = true;
    order.push_back(node);
    for (std::size_t j = 0; j < n_; ++j) {
        if (!graph_.joined.nodes(node, j) || seen_[j] || !(exponents_(node, j) < key_[j])) continue;
        key_[j] = exponents_(node, j);
        parent[j] = node;
    }
    for (std::size_t j = 0; j < label_key_.size(); ++j) {
        const double exponent = exponents_(node, n_ + j);
        if (!graph_.joined.labelled(node, j) || !(exponent < label_key_[j])) continue;
        label_key_[j] = exponent;
        label_parent_[j] = node;
    }
}

Index Growth::nearest_node() const {
    Index near = nothing;
    for (std::size_t j = 0; j < n_; ++j) {
        if (seen_[j] || !(key_[j] < infinity)) continue;
        if (near < 0 || key_[j] < key_[at(near)]) near = static_cast<Index>(j);
    }
    return near;
}

// Nearest label of another class than the winner.
Index Growth::nearest_label() const {
    Index near = nothing;
    for (std::size_t j = 0; j < label_key_.size(); ++j) {
        if (graph_.class_of[j] == winner || !(label_key_[j] < infinity)) continue;
        if (near < 0 || label_key_[j] < label_key_[at(near)]) near = static_cast<Index>(j);
    }
    return near;
}

void Growth::grow(std::size_t start) {
    reset(start);
    double weakest = -infinity;
    while (true) {
        const Index near = nearest_node(), near_label = nearest_label();
        const bool by_label =
            near_label >= 0 && (near < 0 || label_key_[at(near_label)] <= key_[at(near)]);
        if (winner < 0 && by_label) {
            label = at(near_label);
            winner = graph_.class_of[label];
            last = label_parent_[label];
            continue;
        }
        if (winner >= 0) {
            double step = infinity;
            if (by_label) {
                step = label_key_[at(near_label)];
            } else if (near >= 0) {
                step = key_[at(near)];
            }
            if (step > weakest) {
                weakest = step;
                size = order.size();
            }
        }
        if (by_label || near < 0) return;
        take(at(near));
    }
}

// Does the winner have more than half of the soft label at one vertex of the box?
class Cut {
   public:
    Cut(const LabelledGraph& graph, const Growth& growth, std::size_t start)
        : graph_(graph), growth_(growth), start_(start), inside_(graph.n_nodes(), false) {
        for (std::size_t k = 0; k < growth.size; ++k) inside_[growth.order[k]] = true;
    }

    bool is_proved(MatrixView<const double> exponents, double slack) const {
        const double to_label = exponents(growth_.last, graph_.n_nodes() + growth_.label);
        double weakest = to_label;
        for (std::size_t node = growth_.last; node != start_; node = growth_.parent[node]) {
            weakest = std::max(weakest, exponents(growth_.parent[node], node));
        }
        double path = std::exp(to_label - weakest);
        for (std::size_t node = growth_.last; node != start_; node = growth_.parent[node]) {
            path += std::exp(exponents(growth_.parent[node], node) - weakest);
        }
        return weight(exponents, weakest, path) * path * slack < 0.5;
    }

   private:
    // Weight of the cut, relative to the weakest edge of the path; enough of it if it is too large.
    double weight(MatrixView<const double> exponents, double weakest, double path) const {
        const std::size_t n = graph_.n_nodes();
        double cut = 0.0;
        std::size_t n_small = 0;
        const auto add = [&](double exponent) {
            if (weakest - exponent < -negligible) {
                ++n_small;
            } else {
                cut += std::exp(weakest - exponent);
            }
        };
        for (std::size_t k = 0; k < growth_.size && cut * path < 0.5; ++k) {
            const std::size_t i = growth_.order[k];
            for (std::size_t j = 0; j < n; ++j) {
                if (graph_.joined.nodes(i, j) && !inside_[j]) add(exponents(i, j));
            }
            for (std::size_t j = 0; j < graph_.n_labelled(); ++j) {
                if (graph_.joined.labelled(i, j) && graph_.class_of[j] != growth_.winner) {
                    add(exponents(i, n + j));
                }
            }
        }
        return cut + static_cast<double>(n_small) * std::exp(-negligible);
    }

    const LabelledGraph& graph_;
    const Growth& growth_;
    std::size_t start_;
    std::vector<bool> inside_;
};

}  // namespace

std::vector<double> exponents_at(const LabelledGraph& graph, MatrixView<const double> rates,
                                 StopToken& stop) {
    const std::size_t n = graph.n_nodes(), m = graph.n_labelled(), n_ends = n + m;
    std::vector<double> result(rates.rows * n * n_ends, 0.0);
    for (std::size_t v = 0; v < rates.rows; ++v) {
        const MatrixView<double> table{result.data() + v * n * n_ends, n, n_ends};
        for (std::size_t k = 0; k < graph.n_metrics && !stop.stop_requested(); ++k) {
            const double rate = rates(v, k);
            if (rate == 0.0) continue;
            const Exponents lengths = graph.lengths(k);
            for (std::size_t i = 0; i < n; ++i) {
                for (std::size_t j = 0; j < n; ++j) table(i, j) += rate * lengths.nodes(i, j);
                for (std::size_t j = 0; j < m; ++j) {
                    table(i, n + j) += rate * lengths.labelled(i, j);
                }
            }
        }
    }
    return result;
}

std::vector<Index> dominant_classes(const LabelledGraph& graph, const BoxExponents& exponents,
                                    std::span<const Index> nodes, double slack, StopToken& stop) {
    std::vector<Index> result(nodes.size(), nothing);
    Growth growth(graph, exponents.at_point(0));
    for (std::size_t place = 0; place < nodes.size() && !stop.stop_requested(); ++place) {
        const std::size_t start = at(nodes[place]);
        growth.grow(start);
        if (growth.winner < 0 || growth.size == 0) continue;
        const Cut cut(graph, growth, start);
        bool proved = true;
        for (std::size_t v = 1; v < exponents.n_points && proved; ++v) {
            proved = cut.is_proved(exponents.at_point(v), slack);
        }
        if (proved) result[place] = growth.winner;
    }
    return result;
}

}  // namespace certune::graph
