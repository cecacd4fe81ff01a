#include "graph/strong_tree.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace certune::graph {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Values of all pairs of nodes, the ground included, that grow along the tree: the value of a node
// and an earlier one is `join(value of the parent and that one, node)`.
template <class Value, class Join>
std::vector<Value> along_paths(const SpanningTree& tree, Value nothing, const Join& join,
                               StopToken& stop) {
    const std::size_t n = tree.n_nodes();
    std::vector<Value> memory((n + 1) * (n + 1), nothing);
    const MatrixView<Value> values{memory.data(), n + 1, n + 1};
    for (std::size_t position = 0; position < tree.order.size() && !stop.stop_requested();
         ++position) {
        const std::size_t i = at(tree.order[position]), p = at(tree.parent[i]);
        values(i, n) = values(n, i) = join(values(p, n), i);
        for (std::size_t earlier = 0; earlier < position; ++earlier) {
            const std::size_t j = at(tree.order[earlier]);
            values(i, j) = values(j, i) = join(values(p, j), i);
        }
    }
    return memory;
}

double edge_above(const Exponents& exponents, const SpanningTree& tree, std::size_t i) {
    return tree.parent[i] == tree.ground() ? exponents.labelled(i, at(tree.via[i]))
                                           : exponents.nodes(i, at(tree.parent[i]));
}

// Ranks of numbers; equal ones in the order of their places.
std::vector<Index> ranks(const std::vector<double>& numbers) {
    std::vector<Index> sorted(numbers.size()), result(numbers.size());
    std::iota(sorted.begin(), sorted.end(), Index{0});
    std::stable_sort(sorted.begin(), sorted.end(),
                     [&](Index i, Index j) { return numbers[at(i)] < numbers[at(j)]; });
    for (std::size_t rank = 0; rank < sorted.size(); ++rank) {
        result[at(sorted[rank])] = static_cast<Index>(rank);
    }
    return result;
}

// Depth-first search from the ground: a subtree from which no edge leads above its parent hangs on
// the parent (Hopcroft and Tarjan).
class GateSearch {
   public:
    explicit GateSearch(const Joined& joined)
        : joined_(joined),
          n_(joined.n_nodes()),
          grounded_(n_),
          number_(n_ + 1, -1),
          lowest_(n_ + 1, 0),
          parent_(n_ + 1, -1),
          next_(n_ + 1, 0) {
        for (std::size_t i = 0; i < n_; ++i) {
            const auto row = joined.labelled.row(i);
            grounded_[i] = std::find(row.begin(), row.end(), true) != row.end();
        }
    }

    void search(StopToken& stop) {
        discover(n_);
        while (!stack_.empty() && !stop.stop_requested()) {
            const std::size_t i = stack_.back();
            if (next_[i] > n_) {
                stack_.pop_back();
                if (parent_[i] >= 0) {
                    Index& above = lowest_[at(parent_[i])];
                    above = std::min(above, lowest_[i]);
                }
                continue;
            }
            look_along_edges(i);
        }
    }

    std::vector<Index> gates() const {
        std::vector<Index> gate(n_);
        std::iota(gate.begin(), gate.end(), Index{0});
        for (std::size_t k = 1; k < order_.size(); ++k) {
            const std::size_t i = order_[k], p = at(parent_[i]);
            if (p == n_) continue;
            if (gate[p] != static_cast<Index>(p)) {
                gate[i] = gate[p];
            } else if (lowest_[i] >= number_[p]) {
                gate[i] = static_cast<Index>(p);
            }
        }
        return gate;
    }

   private:
    bool are_joined(std::size_t i, std::size_t j) const {
        if (i == n_) return grounded_[j];
        if (j == n_) return grounded_[i];
        return joined_.nodes(i, j);
    }

    void discover(std::size_t i) {
        number_[i] = lowest_[i] = static_cast<Index>(order_.size());
        order_.push_back(i);
        stack_.push_back(i);
    }

    // Goes on until a new node is discovered or the edges of i are exhausted.
    void look_along_edges(std::size_t i) {
        while (next_[i] <= n_) {
            const std::size_t j = next_[i]++;
            if (i == j || static_cast<Index>(j) == parent_[i] || !are_joined(i, j)) continue;
            if (number_[j] < 0) {
                parent_[j] = static_cast<Index>(i);
                discover(j);
                return;
            }
            lowest_[i] = std::min(lowest_[i], number_[j]);
        }
    }

    const Joined& joined_;
    std::size_t n_;
    std::vector<bool> grounded_;
    std::vector<Index> number_;  // in the order of discovery
    std::vector<Index> lowest_;  // number that an edge from the subtree reaches
    std::vector<Index> parent_;
    std::vector<std::size_t> next_;  // where the search goes on at each node
    std::vector<std::size_t> order_;
    std::vector<std::size_t> stack_;
};

}  // namespace

SpanningTree spanning_tree(const Exponents& exponents, const Joined& joined, StopToken& stop) {
    const std::size_t n = exponents.n_nodes(), m = exponents.n_labelled();
    SpanningTree tree;
    tree.parent.assign(n, -1);
    tree.via.assign(n, -1);
    tree.depth.assign(n + 1, 0);
    std::vector<double> distance(n, infinity);
    std::vector<bool> done(n, false);
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < m; ++j) {
            if (!joined.labelled(i, j) || !(exponents.labelled(i, j) < distance[i])) continue;
            distance[i] = exponents.labelled(i, j);
            tree.parent[i] = tree.ground();
            tree.via[i] = static_cast<Index>(j);
        }
    }
    for (std::size_t count = 0; count < n && !stop.stop_requested(); ++count) {
        std::size_t nearest = n;
        for (std::size_t i = 0; i < n; ++i) {
            if (done[i] || tree.parent[i] < 0) continue;
            if (nearest == n || distance[i] < distance[nearest]) nearest = i;
        }
        if (nearest == n) break;
        done[nearest] = true;
        tree.order.push_back(static_cast<Index>(nearest));
        tree.depth[nearest] = tree.depth[at(tree.parent[nearest])] + 1;
        for (std::size_t i = 0; i < n; ++i) {
            if (done[i] || !joined.nodes(nearest, i)) continue;
            if (!(exponents.nodes(nearest, i) < distance[i])) continue;
            distance[i] = exponents.nodes(nearest, i);
            tree.parent[i] = static_cast<Index>(nearest);
            tree.via[i] = -1;
        }
    }
    return tree;
}

std::vector<Index> gates(const Joined& joined, StopToken& stop) {
    GateSearch search(joined);
    search.search(stop);
    return search.gates();
}

std::vector<double> tree_exponents(const Exponents& exponents, const SpanningTree& tree) {
    std::vector<double> result(tree.n_nodes(), infinity);
    for (const Index i : tree.order) result[at(i)] = edge_above(exponents, tree, at(i));
    return result;
}

std::vector<double> path_maxima(const Exponents& exponents, const SpanningTree& tree,
                                StopToken& stop) {
    const std::vector<double> edges = tree_exponents(exponents, tree);
    return along_paths(
        tree, -infinity, [&](double largest, std::size_t i) { return std::max(largest, edges[i]); },
        stop);
}

RankedTree::RankedTree(SpanningTree given, const Exponents& exponents, StopToken& stop)
    : tree(std::move(given)), lengths(tree_exponents(exponents, tree)), rank_of(ranks(lengths)) {
    path_rank = along_paths(
        tree, Index{-1},
        [this](Index largest, std::size_t i) { return std::max(largest, rank_of[i]); }, stop);
}

}  // namespace certune::graph
