#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "linkage/tree/tree.h"
#include "matrix_view.h"
#include "numeric/buffer.h"
#include "stop_token.h"

namespace certune::linkage {

enum class Objective { k_means = 0, k_median = 1, k_center = 2, cut = 3, ruler = 4 };

// Does an objective undo the last merges, so that it knows no costs?
inline bool is_plain_cut(Objective objective) {
    return objective == Objective::cut || objective == Objective::ruler;
}

// What trees are pruned to: the k clusters of lowest cost, those before the last k - 1 merges, or
// those before the merge of the ruler, the points 0 and 1, whose distance is the height of the cut.
// Reference distances are fixed-point integers (for k-means their squares), so costs are integers
// that do not depend on the order of summation: equal trees give equal clusters.
struct Pruning {
    Objective objective = Objective::k_median;
    MatrixView<const std::int64_t> reference;
    int k = 1;
};

// Numbers labels 0..count-1 in the order of their lowest member index, so that equal partitions
// have equal labels.
void number_by_first_member(std::span<std::int64_t> labels, std::int64_t count);

// Costs of the nodes of a tree as one cluster, and of their best prunings into 1..k clusters.
//
// For every node and every point of the instance the sum of the reference distances from the point
// to the members is kept (k-center: the largest of them), so that a union costs O(n) and nothing
// has to be taken back when a node is made anew. Plain cuts know no costs.
class Costs {
   public:
    Costs(const Pruning& pruning, const Tree& tree);

    // Cost and prunings of a node that was united from others, which have theirs.
    void unite(const Tree& tree, int node);
    // Only its cost, or only its prunings; children and their prunings may have changed since.
    void set_cost(const Tree& tree, int node);
    void set_prunings(const Tree& tree, int node);

    // Writes the labels of the best pruning below a root into k clusters, numbered in the order of
    // their lowest member index, so that equal partitions have equal labels.
    void cut(const Tree& tree, int root, std::span<std::int64_t> labels);

    int k() const { return pruning_.k; }
    std::int64_t cost(int node) const { return cost_[at(node)]; }

   private:
    struct Pending {
        int node, clusters;
    };

    static std::size_t at(int node) { return static_cast<std::size_t>(node); }
    std::int64_t* sums(int node) { return sums_.data() + at(node) * at(n_points_); }
    std::int64_t& best(int node, int clusters) {
        return best_[at(node) * at(pruning_.k + 1) + at(clusters)];
    }
    int& to_left(int node, int clusters) {
        return to_left_[at(node) * at(pruning_.k + 1) + at(clusters)];
    }
    void set_point(int node, int point);
    void copy_node(int from, int to);
    std::int64_t together(std::int64_t first, std::int64_t second) const;

    Pruning pruning_;
    int n_points_;
    std::vector<std::int64_t> cost_;
    std::vector<std::int64_t> pair_sum_;  // k-means: over unordered pairs of members
    Buffer<std::int64_t> sums_;           // (nodes, points)
    Buffer<std::int64_t> best_;           // (nodes, k + 1): lowest cost of so many clusters
    Buffer<int> to_left_;                 // (nodes, k + 1): clusters that the left child gets then
    std::vector<Pending> pending_;
};

// Labels of the best prunings of finished trees, one after the other: in row t, node n + i has the
// children left(t, n + i) and right(t, n + i), children before parents.
std::vector<std::int64_t> prune(const Pruning& pruning, MatrixView<const std::int64_t> left,
                                MatrixView<const std::int64_t> right, StopToken& stop);

}  // namespace certune::linkage
