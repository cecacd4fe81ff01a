#include "linkage/search/point_chain.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "linkage/compare/identities.h"
#include "linkage/models/energies.h"
#include "linkage/models/plan.h"
#include "numeric/buffer.h"

namespace certune::linkage {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// What is nearer is smaller; it is certain between the two bounds.
struct Bounds {
    double low = infinity;
    double high = infinity;
};

// Values of the pairs of current clusters, in slots.
//
// Keys are values, or their negatives where larger ones are nearer: averages of them are keys of
// averages. Of min-max there is a second matrix, the first one has the smaller of the two.
class PointTable {
   public:
    PointTable(const Problem& problem, const PointValues& point, std::span<const int> points)
        : kind_(problem.source.kind),
          n_(points.size()),
          // Roundings of a sum of two, of a product, and of the bounds themselves.
          error_(point.error + 8.0 * unit),
          sizes_(points.size(), 0.0),
          within_(points.size(), 0.0) {
        const int sign =
            order_sign(problem.source.pairs.power, problem.source.span < 0.0, {point.t, point.t});
        kind_ = kind_of_values(kind_, sign);
        // Minima of values are maxima of their negatives.
        if (sign < 0 && kind_ == Kind::minimum)
            kind_ = Kind::maximum;
        else if (sign < 0 && kind_ == Kind::maximum)
            kind_ = Kind::minimum;
        keys_.reserve(n_ * n_);
        for (std::size_t x = 0; x < n_; ++x) {
            const auto row = point.values.row(static_cast<std::size_t>(points[x]));
            for (std::size_t z = 0; z < n_; ++z) {
                keys_.data()[x * n_ + z] = sign * row[static_cast<std::size_t>(points[z])];
            }
        }
        if (kind_ == Kind::minmax) {
            others_.reserve(n_ * n_);
            std::copy_n(keys_.data(), n_ * n_, others_.data());
        }
    }

    void set_size(int slot, int size) { sizes_[at(slot)] = size; }

    // Nearest of the active slots to one of them by the values, and by judge(x, y, z) where they do
    // not tell whether y is nearer than z; -1 if that does not know either (0).
    template <class Judge>
    int nearest(int x, std::span<const int> active, Judge& judge) const {
        double least = infinity;
        int found = -1;
        for (const int z : active) {
            if (z == x) continue;
            if (const double key = key_of(x, z); key < least) {
                least = key;
                found = z;
            }
        }
        if (found < 0) return -1;  // no value is a finite number
        // Whoever is in doubt is compared with the nearest so far: what is proved farther than one
        // that lost is farther than the winner.
        const double bar = bounds(x, found).high;
        const int guess = found;
        for (const int z : active) {
            if (z == x || z == guess || bounds(x, z).low > bar) continue;
            const int order = judge(x, found, z);
            if (order == 0) return -1;
            if (order < 0) found = z;
        }
        return found;
    }

    Bounds bounds(int x, int y) const {
        const double key = key_of(x, y);
        if (kind_ != Kind::energy) {
            const double reach = error_ * std::abs(key);
            return {key - reach, key + reach};
        }
        const double mean = keys_.data()[place(x, y)];
        const double size = factor(x, y) * (2.0 * mean + within_[at(x)] + within_[at(y)]);
        const double reach = (error_ + energy_rounding * unit) * size;
        return {key - reach, key + reach};
    }

    // Makes slot x the union of x and y, which is no longer active.
    void unite(int x, int y, std::span<const int> active) {
        const double size_x = sizes_[at(x)], size_y = sizes_[at(y)], total = size_x + size_y;
        const double share_x = size_x / total, share_y = size_y / total;
        if (kind_ == Kind::energy) {
            within_[at(x)] = share_x * share_x * within_[at(x)] +
                             share_y * share_y * within_[at(y)] +
                             2.0 * share_x * share_y * keys_.data()[place(x, y)];
        }
        for (const int z : active) {
            if (z == x) continue;
            double& own = keys_.data()[place(x, z)];
            const double other = keys_.data()[place(y, z)];
            switch (kind_) {
                case Kind::mean:
                case Kind::energy:
                    own = share_x * own + share_y * other;
                    break;
                case Kind::minmax: {
                    double& larger = others_.data()[place(x, z)];
                    larger = std::max(larger, others_.data()[place(y, z)]);
                    others_.data()[place(z, x)] = larger;
                    own = std::min(own, other);
                    break;
                }
                case Kind::minimum:
                    own = std::min(own, other);
                    break;
                case Kind::maximum:
                    own = std::max(own, other);
                    break;
            }
            keys_.data()[place(z, x)] = own;
        }
        sizes_[at(x)] = total;
    }

   private:
    static std::size_t at(int slot) { return static_cast<std::size_t>(slot); }
    std::size_t place(int x, int z) const { return at(x) * n_ + at(z); }
    double factor(int x, int y) const {
        return sizes_[at(x)] * sizes_[at(y)] / (sizes_[at(x)] + sizes_[at(y)]);
    }
    double key_of(int x, int z) const {
        const double key = keys_.data()[place(x, z)];
        if (kind_ == Kind::minmax) return key + others_.data()[place(x, z)];
        if (kind_ != Kind::energy) return key;
        return factor(x, z) * (2.0 * key - within_[at(x)] - within_[at(z)]);
    }

    Kind kind_;
    std::size_t n_;
    double error_;
    std::vector<double> sizes_, within_;
    Buffer<double> keys_, others_;
};

// Decides what values leave open: equal functions by the tie rule, others by the exact layer.
class Judge {
   public:
    Judge(const Problem& problem, const Tree& tree, const std::vector<int>& node, double t,
          ExactLayer& exact, StopToken& stop)
        : source_(problem.source),
          tree_(tree),
          node_(node),
          t_(t),
          exact_(exact),
          stop_(stop),
          marks_(static_cast<std::size_t>(tree.n_points)) {}

    // Is slot y nearer to x than z? 1, -1, or 0 if it is not known.
    int operator()(int x, int y, int z) {
        const Rivals nodes{at(x), at(y), at(z)};
        const bool wins_ties = tie_prefers(tree_, nodes);
        if (is_same(nodes)) return wins_ties ? 1 : -1;
        if (stop_.stop_requested()) return 0;
        mark_members(tree_, nodes, marks_);
        const Answer answer = exact_.ask({Question::Kind::at_point, {t_, t_}, 0, marks_});
        if (answer.kind != Answer::Kind::order) return 0;
        return answer.order == 0 ? (wins_ties ? 1 : -1) : answer.order;
    }

   private:
    int at(int slot) const { return node_[static_cast<std::size_t>(slot)]; }
    bool is_same(const Rivals& nodes) const {
        if (source_.kind == Kind::energy) return same_energies(tree_, nodes, source_.pairs);
        if (source_.kind == Kind::mean) return same_averages(tree_, nodes, source_.pairs.codes);
        if (!source_.pairs.ordered) return false;
        const auto near = extremes(nodes.row, nodes.near), rival = extremes(nodes.row, nodes.rival);
        return (source_.kind == Kind::maximum || near.first == rival.first) &&
               (source_.kind == Kind::minimum || near.second == rival.second);
    }
    // Smallest and largest code of the pairs of two clusters.
    std::pair<std::uint64_t, std::uint64_t> extremes(int first, int second) const {
        std::uint64_t smallest = ~std::uint64_t{0}, largest = 0;
        for (const int p : tree_.members(first)) {
            const auto row = source_.pairs.codes.row(static_cast<std::size_t>(p));
            for (const int q : tree_.members(second)) {
                smallest = std::min(smallest, row[static_cast<std::size_t>(q)]);
                largest = std::max(largest, row[static_cast<std::size_t>(q)]);
            }
        }
        return {smallest, largest};
    }

    const Source& source_;
    const Tree& tree_;
    const std::vector<int>& node_;
    double t_;
    ExactLayer& exact_;
    StopToken& stop_;
    std::vector<std::uint8_t> marks_;
};

// One point of each first cluster, if all its members are copies of it.
std::optional<std::vector<int>> single_points(const Tree& tree, const PairFunctions& pairs) {
    std::vector<int> points;
    for (int x = 0; x < tree.n_first; ++x) {
        const auto members = tree.members(x);
        for (const int member : members) {
            if (!pairs.identical(member, members[0])) return std::nullopt;
        }
        points.push_back(members[0]);
    }
    return points;
}

// Which merges are the last k - 1 ones, if that is certain.
std::optional<std::vector<char>> last_merges(const Tree& tree, const std::vector<Bounds>& heights,
                                             int k) {
    const int n_merges = tree.n_first - 1;
    if (k > tree.n_first) return std::nullopt;
    std::vector<int> order(heights.size());
    std::iota(order.begin(), order.end(), 0);
    const auto first = order.begin() + (n_merges - (k - 1));
    std::nth_element(order.begin(), first, order.end(), [&](int i, int j) {
        return heights[static_cast<std::size_t>(i)].high <
               heights[static_cast<std::size_t>(j)].high;
    });
    std::vector<char> undone(heights.size(), 0);
    double bar = -infinity, least = infinity;
    for (auto i = order.begin(); i != order.end(); ++i) {
        const Bounds& own = heights[static_cast<std::size_t>(*i)];
        if (i < first) {
            bar = std::max(bar, own.high);
        } else {
            least = std::min(least, own.low);
            undone[static_cast<std::size_t>(*i)] = 1;
        }
    }
    if (!(least > bar)) return std::nullopt;
    return undone;
}

// Which merges are not before that of the ruler, if that is certain.
std::optional<std::vector<char>> merges_from_ruler(const Tree& tree,
                                                   const std::vector<Bounds>& heights) {
    const auto number = static_cast<std::size_t>(
        ruler_of(tree, tree.n_first + static_cast<int>(heights.size()) - 1) - tree.n_first);
    std::vector<char> undone(heights.size(), 0);
    for (std::size_t i = 0; i < heights.size(); ++i) {
        undone[i] = i == number || heights[i].low > heights[number].high;
        if (!undone[i] && !(heights[i].high < heights[number].low)) return std::nullopt;
    }
    return undone;
}

// Labels before the last merges, if it is certain which these are.
std::optional<std::vector<std::int64_t>> cut_of(const Tree& tree,
                                                const std::vector<Bounds>& heights,
                                                const Pruning& pruning) {
    const auto found = pruning.objective == Objective::ruler
                           ? merges_from_ruler(tree, heights)
                           : last_merges(tree, heights, pruning.k);
    if (!found) return std::nullopt;
    const std::vector<char>& undone = *found;
    std::vector<std::int64_t> labels(static_cast<std::size_t>(tree.n_points));
    std::int64_t cluster = 0;
    const auto is_undone = [&](int node) {
        return node >= tree.n_first && undone[static_cast<std::size_t>(node - tree.n_first)];
    };
    const auto label = [&](int node) {
        for (const int point : tree.members(node))
            labels[static_cast<std::size_t>(point)] = cluster;
        ++cluster;
    };
    const int root = tree.n_first + static_cast<int>(heights.size()) - 1;
    if (!is_undone(root)) label(root);
    for (int node = tree.n_first; node <= root; ++node) {
        if (!is_undone(node)) continue;
        for (const int child : {tree.left[static_cast<std::size_t>(node)],
                                tree.right[static_cast<std::size_t>(node)]}) {
            if (!is_undone(child)) label(child);
        }
    }
    number_by_first_member(labels, cluster);
    return labels;
}

}  // namespace

std::optional<std::vector<std::int64_t>> chained_at(const Problem& problem,
                                                    const PointValues& point, Tree& tree,
                                                    Costs& costs, ExactLayer& exact,
                                                    StopToken& stop) {
    const auto points = single_points(tree, problem.source.pairs);
    if (!points || tree.n_first < 2 || !(point.error < 0x1p-20)) return std::nullopt;
    PointTable table(problem, point, *points);
    const auto n = static_cast<std::size_t>(tree.n_first);
    std::vector<int> active(n), node(n), chain;
    for (std::size_t x = 0; x < n; ++x) {
        active[x] = node[x] = static_cast<int>(x);
        table.set_size(active[x], tree.size[x]);
    }
    Judge judge(problem, tree, node, point.t, exact, stop);
    std::vector<Bounds> heights;
    const bool is_cut = is_plain_cut(problem.pruning.objective);
    int next = tree.n_first;
    while (active.size() > 1) {
        if (stop.stop_requested()) return std::nullopt;
        if (chain.empty()) chain.push_back(active.front());
        const int x = chain.back();
        const int y = table.nearest(x, active, judge);
        if (y < 0) return std::nullopt;
        if (chain.size() < 2 || chain[chain.size() - 2] != y) {
            if (chain.size() > active.size()) return std::nullopt;
            chain.push_back(y);
            continue;
        }
        chain.resize(chain.size() - 2);
        heights.push_back(table.bounds(x, y));
        active.erase(std::find(active.begin(), active.end(), y));
        table.unite(x, y, active);
        tree.unite(next, node[static_cast<std::size_t>(x)], node[static_cast<std::size_t>(y)]);
        if (!is_cut) costs.unite(tree, next);
        node[static_cast<std::size_t>(x)] = next++;
    }
    if (is_cut) return cut_of(tree, heights, problem.pruning);
    std::vector<std::int64_t> labels(static_cast<std::size_t>(tree.n_points));
    costs.cut(tree, next - 1, labels);
    return labels;
}

}  // namespace certune::linkage
