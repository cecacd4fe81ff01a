#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace certune::learning {

// A step function: values[0] from the left end on, values[i] from edges[i - 1] on.
struct StepFunction {
    std::span<const double> edges;
    std::span<const double> values;
};

// What is known of a step function: lower and upper bounds of its values.
struct BoundedSteps {
    std::span<const double> edges;
    std::span<const double> lower;
    std::span<const double> upper;
};

struct Bounds {
    double lower = 0.0;
    double upper = 0.0;
};

// Pieces of a step function from left to right.
struct Pieces {
    std::vector<double> starts;
    std::vector<double> values;
};

// Exponential weights over an interval, in a search tree that never touches all of its pieces.
//
// The density is proportional to exp(rate * f) for a step function f that grows by one utility
// function a round. f is stored by its jumps: adding a function of k steps inserts or changes k
// jumps. A node of the treap (binary search tree by position, heap by a hash of the node number)
// keeps sums over its subtree, relative to what stands left of it, so that a subtree is moved up or
// down without being visited. An insertion costs O(log n) expected, and no number overflows because
// masses are relative to the largest weight.
class StepWeights {
   public:
    StepWeights(double low, double high, double rate);

    double low() const { return nodes_[0].position; }
    double rate() const { return rate_; }
    // Recomputes all sums, children first. O(n).
    void set_rate(double rate);

    std::size_t n_pieces() const { return nodes_.size(); }
    // The largest value of f, and the integral of exp(rate * (f - top)).
    double top() const { return nodes_[root_].top; }
    double mass() const { return nodes_[root_].mass; }

    // Adds a function, whose edges ascend in the interval. O(k log n) for k edges.
    void add(const StepFunction& function);
    // Masses of the cells between ascending edges, relative to the largest weight. O(k log n).
    std::vector<double> cell_masses(std::span<const double> edges) const;
    // Integrates the bounds against the weights, divided by the mass of all, then adds the middle
    // of the bounds. O(k log n).
    Bounds take_in(const BoundedSteps& steps);
    // The point of the piece at quantile `which`, at the share `where` of its width, both in
    // [0, 1). O(log n).
    double draw(double which, double where) const;
    // O(n).
    Pieces pieces() const;

   private:
    using Index = std::size_t;
    static constexpr Index none = static_cast<Index>(-1);

    struct Node {
        double position = 0.0;
        double width = 0.0;  // of the piece that begins here
        double jump = 0.0;
        double total = 0.0;  // sum of the jumps of the subtree
        double top = 0.0;    // its largest prefix sum S
        double mass = 0.0;   // sum of width * exp(rate * (S - top)) over its pieces
        Index left = none;
        Index right = none;
    };
    // The three parts of a node's mass, relative to its top.
    struct Shares {
        double left, own, right;
    };

    static std::uint64_t priority(Index node);
    double value_at(const Node& node, double before) const;
    Shares shares(const Node& node, double here) const;
    void refresh(Index index);
    void insert(double position, double jump);
    Index new_node(double position, double jump, Index before, Index after);
    void lift(Index added);
    double mass_before(double position) const;

    double rate_;
    Index root_ = 0;
    std::vector<Node> nodes_;  // node 0 is the left end of the domain
    std::vector<Index> path_;  // work space of insert: from the root to the place of insertion
};

}  // namespace certune::learning
