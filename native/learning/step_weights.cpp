#include "learning/step_weights.h"

#include <algorithm>
#include <cmath>

namespace certune::learning {

StepWeights::StepWeights(double low, double high, double rate) : rate_(rate) {
    Node end;
    end.position = low;
    end.width = end.mass = high - low;
    nodes_.push_back(end);
}

// A hash of the node number (splitmix64): the same tree for the same insertions, on any machine.
std::uint64_t StepWeights::priority(Index node) {
    constexpr std::uint64_t golden = 0x9E3779B97F4A7C15u;
    std::uint64_t z = static_cast<std::uint64_t>(node) * golden + golden;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

// f on the piece of a node, if the sum of the jumps left of its subtree is `before`.
double StepWeights::value_at(const Node& node, double before) const {
    const double here = before + node.jump;
    return node.left == none ? here : here + nodes_[node.left].total;
}

StepWeights::Shares StepWeights::shares(const Node& node, double here) const {
    Shares parts{0.0, node.width * std::exp(rate_ * (here - node.top)), 0.0};
    if (node.left != none) {
        const Node& left = nodes_[node.left];
        parts.left = left.mass * std::exp(rate_ * (left.top - node.top));
    }
    if (node.right != none) {
        const Node& right = nodes_[node.right];
        parts.right = right.mass * std::exp(rate_ * (here + right.top - node.top));
    }
    return parts;
}

// Recomputes what a node says about its subtree from its children.
void StepWeights::refresh(Index index) {
    Node& node = nodes_[index];
    const double before = node.left == none ? 0.0 : nodes_[node.left].total;
    const double here = before + node.jump;
    node.total = node.top = here;
    if (node.left != none) node.top = std::max(node.top, nodes_[node.left].top);
    if (node.right != none) {
        const Node& right = nodes_[node.right];
        node.total += right.total;
        node.top = std::max(node.top, here + right.top);
    }
    const Shares parts = shares(node, here);
    node.mass = parts.own + parts.left + parts.right;
}

void StepWeights::set_rate(double rate) {
    rate_ = rate;
    // Parents before children; refreshed in the opposite order.
    std::vector<Index> order{root_};
    order.reserve(nodes_.size());
    for (std::size_t next = 0; next < order.size(); ++next) {
        const Node& node = nodes_[order[next]];
        if (node.left != none) order.push_back(node.left);
        if (node.right != none) order.push_back(node.right);
    }
    for (std::size_t k = order.size(); k-- > 0;) refresh(order[k]);
}

void StepWeights::add(const StepFunction& function) {
    insert(low(), function.values[0]);
    for (std::size_t i = 0; i < function.edges.size(); ++i) {
        const double jump = function.values[i + 1] - function.values[i];
        if (jump != 0.0) insert(function.edges[i], jump);
    }
}

// Adds a jump at a position, by a new node or to the one that is there.
void StepWeights::insert(double position, double jump) {
    path_.clear();
    Index before = none, after = none;
    for (Index index = root_; index != none;) {
        Node& node = nodes_[index];
        path_.push_back(index);
        if (position == node.position) {
            node.jump += jump;
            for (std::size_t level = path_.size(); level-- > 0;) refresh(path_[level]);
            return;
        }
        (position < node.position ? after : before) = index;
        index = position < node.position ? node.left : node.right;
    }
    lift(new_node(position, jump, before, after));
}

// A node between its neighbours, which divides the piece of the one before. Node 0 lies at the left
// end, so that there is one.
StepWeights::Index StepWeights::new_node(double position, double jump, Index before, Index after) {
    Node& neighbour = nodes_[before];
    Node node;
    const double end =
        after == none ? neighbour.position + neighbour.width : nodes_[after].position;
    node.position = position;
    node.width = std::max(end - position, 0.0);
    node.jump = jump;
    neighbour.width = position - neighbour.position;
    nodes_.push_back(node);
    return nodes_.size() - 1;
}

// Hangs a new node in below `path_` and rotates it up to where its priority belongs.
void StepWeights::lift(Index added) {
    const double position = nodes_[added].position;
    while (!path_.empty() && priority(path_.back()) < priority(added)) {
        const Index parent = path_.back();
        path_.pop_back();
        if (position < nodes_[parent].position) {
            nodes_[parent].left = nodes_[added].right;
            nodes_[added].right = parent;
        } else {
            nodes_[parent].right = nodes_[added].left;
            nodes_[added].left = parent;
        }
        refresh(parent);
    }
    refresh(added);
    if (path_.empty()) {
        root_ = added;
    } else {
        Node& parent = nodes_[path_.back()];
        (position < parent.position ? parent.left : parent.right) = added;
    }
    for (std::size_t level = path_.size(); level-- > 0;) refresh(path_[level]);
}

// Mass left of a position, relative to the largest weight of all.
double StepWeights::mass_before(double position) const {
    double mass = 0.0, prefix = 0.0, beyond = 0.0;
    for (Index index = root_; index != none;) {
        const Node& node = nodes_[index];
        const double here = value_at(node, prefix);
        if (node.position < position) {
            if (node.left != none) {
                const Node& left = nodes_[node.left];
                mass += left.mass * std::exp(rate_ * (prefix + left.top - top()));
            }
            const double weight = std::exp(rate_ * (here - top()));
            mass += node.width * weight;
            beyond = std::max(node.position + node.width - position, 0.0) * weight;
            prefix = here;
            index = node.right;
        } else {
            index = node.left;
        }
    }
    return std::max(mass - beyond, 0.0);
}

std::vector<double> StepWeights::cell_masses(std::span<const double> edges) const {
    std::vector<double> masses;
    masses.reserve(edges.size() + 1);
    double done = 0.0;
    for (const double edge : edges) {
        const double reached = mass_before(edge);
        masses.push_back(std::max(reached - done, 0.0));
        done = std::max(reached, done);
    }
    masses.push_back(std::max(mass() - done, 0.0));
    return masses;
}

Bounds StepWeights::take_in(const BoundedSteps& steps) {
    const std::vector<double> masses = cell_masses(steps.edges);
    std::vector<double> middle(masses.size());
    Bounds mean;
    for (std::size_t i = 0; i < masses.size(); ++i) {
        mean.lower += masses[i] * steps.lower[i];
        mean.upper += masses[i] * steps.upper[i];
        middle[i] = 0.5 * (steps.lower[i] + steps.upper[i]);
    }
    const double total = mass();
    add({steps.edges, middle});
    return {mean.lower / total, mean.upper / total};
}

double StepWeights::draw(double which, double where) const {
    double share = which;
    for (Index index = root_;;) {
        const Node& node = nodes_[index];
        const Shares parts = shares(node, value_at(node, 0.0));
        const double target = share * (parts.left + parts.own + parts.right);
        if (target < parts.left) {
            index = node.left;
            share = target / parts.left;
        } else if (target < parts.left + parts.own || parts.right == 0.0) {
            return node.position + where * node.width;
        } else {
            index = node.right;
            share = (target - parts.left - parts.own) / parts.right;
        }
    }
}

Pieces StepWeights::pieces() const {
    Pieces found;
    found.starts.reserve(nodes_.size());
    found.values.reserve(nodes_.size());
    std::vector<Index> pending;
    double value = 0.0;
    for (Index index = root_; index != none || !pending.empty();) {
        for (; index != none; index = nodes_[index].left) pending.push_back(index);
        const Node& node = nodes_[pending.back()];
        pending.pop_back();
        value += node.jump;
        found.starts.push_back(node.position);
        found.values.push_back(value);
        index = node.right;
    }
    return found;
}

}  // namespace certune::learning
