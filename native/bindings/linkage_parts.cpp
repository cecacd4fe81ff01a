// Parts of the linkage room that are checked by themselves: bounds of roundings, zones, records.

#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/arrays.h"
#include "bindings/rooms.h"
#include "linkage/compare/evidence.h"
#include "linkage/compare/identities.h"
#include "linkage/following/chords.h"
#include "linkage/following/following.h"
#include "linkage/following/meetings.h"
#include "linkage/following/outlook.h"
#include "linkage/following/tree_records.h"
#include "linkage/models/averages.h"
#include "linkage/models/plan.h"
#include "linkage/search/level.h"
#include "linkage/tree/costs.h"
#include "numeric/double_double.h"
#include "numeric/simd8.h"

namespace certune::bindings {

namespace {

using namespace nb::literals;
using namespace certune::linkage;

using Coefficients = std::array<double, degree>;

Evidence evidence_of(const Coefficients& nearer, const Coefficients& farther, double largest) {
    const Coefficients ones{1, 1, 1, 1, 1, 1, 1, 1};
    Evidence evidence(Reading{}, {ones.data(), ones.data()});
    evidence.nearer = nearer;
    evidence.farther = farther;
    evidence.largest = largest;
    return evidence;
}

std::tuple<int, double, double, int, int> locate_(const Coefficients& nearer,
                                                  const Coefficients& farther) {
    Zone zone;
    const Order order = locate(evidence_of(nearer, farther, 0.0), zone);
    return {static_cast<int>(order), zone.low, zone.high, zone.before, zone.after};
}

using TwoParts = std::pair<double, double>;

TwoParts accurate_exp(double high, double low) {
    const auto found = numeric::exp({high, low});
    return {found.high, found.low};
}

TwoParts accurate_log(double x) {
    const auto found = numeric::log(x);
    return {found.high, found.low};
}

std::vector<double> restriction_(double low, double high) {
    const Restriction part(low, high);
    return {part.matrix.begin(), part.matrix.end()};
}

std::pair<Coefficients, Coefficients> restrict_evidence(const Coefficients& nearer,
                                                        const Coefficients& farther, double largest,
                                                        double low, double high, bool by_matrix) {
    Evidence evidence = evidence_of(nearer, farther, largest);
    if (by_matrix) {
        evidence.restrict_to(Restriction(low, high));
    } else {
        evidence.restrict_to(low, high);
    }
    return {evidence.nearer, evidence.farther};
}

std::tuple<int, double, double> judge_(const Coefficients& near, const Coefficients& rival,
                                       int sign, double error, std::pair<double, double> panel,
                                       std::pair<double, double> part, double t) {
    Panel looked_at;
    looked_at.reading.sign = sign;
    looked_at.reading.error = error;
    looked_at.interval = {panel.first, panel.second};
    looked_at.part = {part.first, part.second};
    const Judgement found = judge(looked_at, {near.data(), rival.data()}, t);
    return {static_cast<int>(found.outlook), found.low, found.high};
}

void expect_below(std::int64_t number, std::size_t count) {
    expect(number >= 0 && static_cast<std::size_t>(number) < count, "There is no such number.");
}

void expect_points(std::size_t n) {
    // Trees keep the members of all their nodes.
    expect(n > 0 && n <= 4096, "There must be between 1 and 4,096 points.");
}

template <class Number>
void expect_square(const Matrix<Number>& matrix, std::size_t n) {
    expect(matrix.shape(0) == n && matrix.shape(1) == n, "Matrices must be square.");
}

// A tree over single points, and nodes of it with given members.
struct NodesOfPoints {
    std::vector<std::int64_t> labels, none;
    Tree tree;
    int next;

    explicit NodesOfPoints(std::size_t n)
        : labels(n),
          none(2 * n - 1, 0),
          tree(numbered(), static_cast<int>(2 * n - 1)),
          next(static_cast<int>(n)) {}
    FirstMerges numbered() {
        std::iota(labels.begin(), labels.end(), 0);
        return {labels, none, none, 0};
    }
    int node_of(const std::vector<int>& members) {
        for (const int member : members) expect_below(member, labels.size());
        int node = members.at(0);
        for (std::size_t i = 1; i < members.size(); ++i) {
            expect_below(next, none.size());
            tree.unite(next, node, members[i]);
            node = next++;
        }
        return node;
    }
};

using Members = std::tuple<std::vector<int>, std::vector<int>, std::vector<int>>;

int slope_beside_(Matrix<const double> first, Matrix<const double> second, double input_error,
                  const Members& members, double end, double distance) {
    expect_points(first.shape(0));
    expect_square(first, first.shape(0));
    expect_square(second, first.shape(0));
    NodesOfPoints nodes(first.shape(0));
    PairFunctions pairs;
    pairs.mode = Mode::affine;
    pairs.first = view_of(first);
    pairs.second = view_of(second);
    pairs.input_error = input_error;
    const Rivals rivals{nodes.node_of(std::get<0>(members)), nodes.node_of(std::get<1>(members)),
                        nodes.node_of(std::get<2>(members))};
    return slope_beside(pairs, nodes.tree, rivals, end, distance);
}

bool same_sums_(Matrix<const std::uint64_t> values, const Members& members) {
    expect_points(values.shape(0));
    expect_square(values, values.shape(0));
    NodesOfPoints nodes(values.shape(0));
    const Rivals rivals{nodes.node_of(std::get<0>(members)), nodes.node_of(std::get<1>(members)),
                        nodes.node_of(std::get<2>(members))};
    return same_sums(nodes.tree, rivals, view_of(values));
}

double model_error_(int mode, Matrix<const double> first, Matrix<const double> second,
                    std::pair<double, double> power, double input_error,
                    std::pair<double, double> panel) {
    expect_below(mode, 3);
    expect_points(first.shape(0));
    expect_square(first, first.shape(0));
    expect_square(second, first.shape(0));
    PairFunctions pairs;
    pairs.mode = static_cast<Mode>(mode);
    pairs.first = view_of(first);
    pairs.second = view_of(second);
    pairs.power = {power.first, power.second};
    pairs.input_error = input_error;
    std::vector<std::int64_t> labels(first.shape(0));
    std::iota(labels.begin(), labels.end(), 0);
    const Interval interval{panel.first, panel.second};
    const Extent extent = extent_of_pairs(pairs, labels, interval);
    return error_of_models(pairs, labels, false, extent, interval).error;
}

// A tree that is followed, its records and chords, without proofs.
class FollowedParts {
   public:
    FollowedParts(std::vector<std::int64_t> labels, Matrix<const double> coefficients, int sign,
                  double slack)
        : labels_(checked(std::move(labels))),
          merges_(merges_of(labels_)),
          tree_(FirstMerges{labels_, merges_.first, merges_.second, n_made(labels_)}),
          records_(tree_.width, true, false),
          chords_(tree_.width),
          next_(tree_.n_first) {
        expect(coefficients.shape(0) == pair_place(tree_.n_first, 0) &&
                   coefficients.shape(1) == degree,
               "There must be a record for each pair.");
        std::copy_n(coefficients.data(), coefficients.size(), records_.all());
        records_.begin(tree_.n_first);
        RecordModel model;
        model.interval = {0.0, 1.0};
        model.reading.sign = sign;
        model.reading.error = 1e-9;
        const auto [base, largest] =
            chords_.evaluate_first(records_, model, tree_.n_first, {0.0, 1.0});
        const Stop never;
        StopToken token(never);
        chords_.set_first(tree_.n_first, base, token);
        panel_.reading = model.reading;
        panel_.interval = panel_.part = {0.0, 1.0};
        panel_.key_factor = sign > 0 ? slack : 1.0 / slack;
        panel_.key_offset = std::abs(base * (panel_.key_factor - 1.0));
        chords_.set_panel(panel_);
    }

    // Unites two nodes, with chords with all that are alive, or with some of them.
    int unite(int a, int b, const std::vector<int>& alive, bool some) {
        expect_nodes({a, b});
        expect_nodes(alive);
        expect(a != b, "A node is not united with itself.");
        expect(next_ < tree_.width, "There are no more nodes.");
        const int node = next_++;
        tree_.unite(node, a, b);
        tree_.stage[static_cast<std::size_t>(node)] = node - tree_.n_first;
        be_alive(alive);
        chords_.deepen(tree_, node);
        if (some) {
            chords_.unite_some(tree_, node, alive);
        } else {
            chords_.unite(tree_, node, alive);
        }
        return node;
    }
    // Forgets all nodes but the first clusters.
    void begin_again(bool dense) {
        for (int node = tree_.n_first; node < next_; ++node) records_.forget(node, dense);
        next_ = tree_.n_first;
    }
    std::vector<int> members(int node) const {
        expect_nodes({node});
        const auto own = tree_.members(node);
        return {own.begin(), own.end()};
    }
    double key(int a, int b, double share) const {
        expect_nodes({a, b});
        return chords_.key_at(a, b, share);
    }
    int nearest(int x, const std::vector<int>& alive, double share) {
        expect_nodes({x});
        expect_nodes(alive);
        be_alive(alive);
        return chords_.nearest(x, share);
    }
    std::vector<std::pair<int, int>> doubts(int p, int q, const std::vector<int>& alive,
                                            double share, bool among) {
        expect_nodes({p, q});
        expect_nodes(alive);
        std::vector<Doubt> found;
        be_alive(alive);
        if (among) {
            chords_.list_doubts(p, q, share, alive, found);
        } else {
            chords_.list_doubts(p, q, share, found);
        }
        std::vector<std::pair<int, int>> pairs;
        for (const auto& [row, rival] : found) pairs.emplace_back(row, rival);
        return pairs;
    }
    double until(std::pair<int, int> own, std::pair<int, int> rival, double share) const {
        expect_nodes({own.first, own.second, rival.first, rival.second});
        return chords_.until({own.first, own.second}, {rival.first, rival.second}, share);
    }
    std::pair<double, double> bars(int depth) const {
        const Bars found(panel_, depth);
        return {found.factor, found.offset};
    }
    std::pair<double, double> key_bar() const { return {panel_.key_factor, panel_.key_offset}; }
    Coefficients record(int a, int b, bool dense) {
        expect_nodes({a, b});
        expect(a != b, "A record is of two nodes.");
        panel_.dense = dense;
        Coefficients found;
        simd8::copy(records_.ensure(panel_, tree_, a, b), found.data());
        return found;
    }
    void forget(int node, bool dense) {
        expect_nodes({node});
        records_.forget(node, dense);
    }
    bool knows(int a, int b) const {
        expect_nodes({a, b});
        return records_.knows(a, b);
    }

   private:
    void expect_nodes(const std::vector<int>& nodes) const {
        for (const int node : nodes) expect_below(node, static_cast<std::size_t>(next_));
    }
    // Labels that are numbers from 0 on, all of them there.
    static std::vector<std::int64_t> checked(std::vector<std::int64_t> labels) {
        expect_points(labels.size());
        std::vector<std::int64_t> sorted = labels;
        std::sort(sorted.begin(), sorted.end());
        sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
        expect(sorted.front() == 0 && sorted.back() == std::ssize(sorted) - 1 && sorted.size() > 1,
               "Labels must be numbers from 0 on, of two clusters at least.");
        return labels;
    }
    static int n_made(const std::vector<std::int64_t>& labels) {
        const auto count = *std::max_element(labels.begin(), labels.end()) + 1;
        return static_cast<int>(labels.size()) - static_cast<int>(count);
    }
    using Children = std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>;
    // Merges of the points of each label, one after the other.
    static Children merges_of(const std::vector<std::int64_t>& labels) {
        const std::size_t n = labels.size();
        std::vector<std::int64_t> left(2 * n - 1, 0), right(2 * n - 1, 0), top(n, -1);
        std::size_t made = n;
        for (std::size_t p = 0; p < n; ++p) {
            auto& own = top[static_cast<std::size_t>(labels[p])];
            if (own < 0) {
                own = static_cast<std::int64_t>(p);
                continue;
            }
            left[made] = own;
            right[made] = static_cast<std::int64_t>(p);
            own = static_cast<std::int64_t>(made++);
        }
        return {left, right};
    }
    void be_alive(const std::vector<int>& alive) {
        chords_.nobody_alive();
        for (const int node : alive) chords_.set_alive(node);
    }

    std::vector<std::int64_t> labels_;
    Children merges_;
    FollowedTree tree_;
    TreeRecords records_;
    Chords chords_;
    Panel panel_;
    int next_;
};

// Rows of a frame that are saved before merges and put back.
class SavedFrame {
   public:
    explicit SavedFrame(Tensor<double> frame)
        : frame_(std::move(frame)), trail_(static_cast<int>(frame_.shape(0))) {
        expect(frame_.shape(0) == frame_.shape(1) && frame_.shape(2) == degree,
               "A frame must be square.");
        view_ = {frame_.data(), static_cast<int>(frame_.shape(0)), degree};
    }
    std::size_t size() const { return trail_.size(); }
    void merge(std::int64_t choice, int x, int y, std::pair<double, double> weights,
               const std::vector<int>& active) {
        const std::size_t size = frame_.shape(0);
        expect_below(x, size);
        expect_below(y, size);
        expect(active.size() <= size, "There are not so many slots.");
        for (const int z : active) expect_below(z, size);
        trail_.save_row(choice, view_, x, active);
        for (const int z : active) {
            simd8::blend(view_.record(x, z), weights.first, view_.record(y, z), weights.second,
                         view_.record(x, z), view_.record(z, x));
        }
    }
    void rewind(std::size_t mark) {
        expect(mark <= trail_.size(), "So much was not saved.");
        trail_.rewind(mark, view_);
    }

   private:
    Tensor<double> frame_;
    Frame view_;
    Trail trail_;
};

// Costs of the nodes of a tree as one cluster, as they come about.
std::vector<std::int64_t> costs_of(int objective, Matrix<const std::int64_t> reference,
                                   const std::vector<int>& left, const std::vector<int>& right,
                                   int k) {
    const std::size_t n_points = reference.shape(0);
    expect_points(n_points);
    expect_square(reference, n_points);
    expect_below(objective, 3);
    expect(k >= 1 && static_cast<std::size_t>(k) <= n_points, "k must be between 1 and n.");
    NodesOfPoints nodes(n_points);
    Costs costs({static_cast<Objective>(objective), view_of(reference), k}, nodes.tree);
    std::vector<std::int64_t> found;
    const int n = nodes.next;
    for (int node = n; node < 2 * n - 1; ++node) {
        const int a = left.at(static_cast<std::size_t>(node));
        const int b = right.at(static_cast<std::size_t>(node));
        expect_below(a, static_cast<std::size_t>(node));
        expect_below(b, static_cast<std::size_t>(node));
        expect(nodes.tree.size[static_cast<std::size_t>(a)] +
                       nodes.tree.size[static_cast<std::size_t>(b)] <=
                   n,
               "A point must not be twice in a node.");
        nodes.tree.unite(node, a, b);
        costs.unite(nodes.tree, node);
        found.push_back(costs.cost(node));
    }
    return found;
}

}  // namespace

void bind_linkage_parts(nb::module_& room) {
    room.attr("degree") = degree;
    room.def("locate", &locate_, "nearer"_a, "farther"_a);
    room.def("accurate_exp", &accurate_exp, "high"_a, "low"_a);
    room.def("accurate_log", &accurate_log, "x"_a);
    room.def("restriction", &restriction_, "low"_a, "high"_a);
    room.def("restrict_evidence", &restrict_evidence, "nearer"_a, "farther"_a, "largest"_a, "low"_a,
             "high"_a, "by_matrix"_a);
    room.def("judge", &judge_, "near"_a, "rival"_a, "sign"_a, "error"_a, "panel"_a, "part"_a,
             "t"_a);
    room.def("slope_beside", &slope_beside_, "first"_a.noconvert(), "second"_a.noconvert(),
             "input_error"_a, "members"_a, "end"_a, "distance"_a);
    room.def("same_sums", &same_sums_, "values"_a.noconvert(), "members"_a);
    room.def("model_error", &model_error_, "mode"_a, "first"_a.noconvert(), "second"_a.noconvert(),
             "power"_a, "input_error"_a, "panel"_a);
    room.def("costs_of", &costs_of, "objective"_a, "reference"_a.noconvert(), "left"_a, "right"_a,
             "k"_a);
    room.def(
        "holds_coarse", [](double low, double high) { return holds_coarse({low, high}); }, "low"_a,
        "high"_a);
    nb::class_<FollowedParts>(room, "FollowedParts")
        .def(nb::init<std::vector<std::int64_t>, Matrix<const double>, int, double>(), "labels"_a,
             "coefficients"_a.noconvert(), "sign"_a, "slack"_a)
        .def("unite", &FollowedParts::unite, "a"_a, "b"_a, "alive"_a, "some"_a)
        .def("begin_again", &FollowedParts::begin_again, "dense"_a)
        .def("members", &FollowedParts::members, "node"_a)
        .def("key", &FollowedParts::key, "a"_a, "b"_a, "share"_a)
        .def("nearest", &FollowedParts::nearest, "x"_a, "alive"_a, "share"_a)
        .def("doubts", &FollowedParts::doubts, "p"_a, "q"_a, "alive"_a, "share"_a, "among"_a)
        .def("until", &FollowedParts::until, "own"_a, "rival"_a, "share"_a)
        .def("bars", &FollowedParts::bars, "depth"_a)
        .def("key_bar", &FollowedParts::key_bar)
        .def("record", &FollowedParts::record, "a"_a, "b"_a, "dense"_a)
        .def("forget", &FollowedParts::forget, "node"_a, "dense"_a)
        .def("knows", &FollowedParts::knows, "a"_a, "b"_a);
    nb::class_<SavedFrame>(room, "SavedFrame")
        .def(nb::init<Tensor<double>>(), "frame"_a.noconvert())
        .def("__len__", &SavedFrame::size)
        .def("merge", &SavedFrame::merge, "choice"_a, "x"_a, "y"_a, "weights"_a, "active"_a)
        .def("rewind", &SavedFrame::rewind, "mark"_a);
}

}  // namespace certune::bindings
