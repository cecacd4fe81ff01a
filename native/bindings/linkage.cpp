#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/arrays.h"
#include "bindings/calls.h"
#include "bindings/rooms.h"
#include "linkage/finish/covering.h"
#include "linkage/finish/polish.h"
#include "linkage/following/following.h"
#include "linkage/models/contraction.h"
#include "linkage/models/plan.h"
#include "linkage/search/near_ties.h"
#include "linkage/search/search.h"
#include "linkage/tree/costs.h"
#include "linkage/tree/heights.h"
#include "linkage/tree/matching.h"

namespace certune::bindings {

namespace {

using namespace nb::literals;
using namespace certune::linkage;

using Reals = Vector<const double>;
using RealTable = Matrix<const double>;
using Integers = Vector<const std::int64_t>;
using IntegerTable = Matrix<const std::int64_t>;

template <class Enum>
Enum one_of(int value, int count, const char* message) {
    expect(value >= 0 && value < count, message);
    return static_cast<Enum>(value);
}

Kind kind_of(int kind) { return one_of<Kind>(kind, 5, "kind is unknown."); }

template <class Number>
void expect_square(const Matrix<Number>& matrix, std::size_t n, const char* message) {
    expect(matrix.shape(0) == n && matrix.shape(1) == n, message);
}

// Functions of pairs of points, with the arrays that they look at.
struct BoundPairs {
    RealTable first, second;
    Matrix<const std::uint64_t> codes;
    Integers twins;
    PairFunctions functions;

    BoundPairs(int mode, RealTable first_, RealTable second_, std::pair<double, double> power,
               double input_error, std::pair<Matrix<const std::uint64_t>, bool> codes_,
               Integers twins_, bool box_cox)
        : first(std::move(first_)),
          second(std::move(second_)),
          codes(codes_.first),
          twins(std::move(twins_)) {
        const std::size_t n = first.shape(0);
        expect(n > 0, "There must be a point.");
        expect_square(first, n, "first must be a square matrix.");
        expect_square(second, n, "second must have the shape of first.");
        expect_square(codes, n, "codes must have the shape of first.");
        functions.mode = one_of<Mode>(mode, 3, "mode is unknown.");
        functions.first = view_of(first);
        functions.second = view_of(second);
        functions.codes = view_of(codes);
        functions.power = {power.first, power.second};
        functions.input_error = input_error;
        expect(twins.shape(0) == n, "There must be a twin for each point.");
        functions.ordered = codes_.second;
        functions.twins = span_of(twins);
        functions.box_cox = box_cox;
    }
};

// Are these merges of points 0..n-1, each node joined at most once, whose clusters are the labels?
void expect_merges(const FirstMerges& first) {
    const auto n = static_cast<std::int64_t>(first.labels.size());
    expect(n > 0 && first.n_made >= 0 && first.n_made < n, "Numbers of merges must be below n.");
    expect(first.left.size() == static_cast<std::size_t>(2 * n - 1) &&
               first.right.size() == first.left.size(),
           "left and right must have 2 n - 1 entries.");
    const std::int64_t count = n - first.n_made;
    std::vector<std::int64_t> label(first.labels.begin(), first.labels.end());
    std::vector<char> is_joined(label.size() + static_cast<std::size_t>(first.n_made), 0);
    for (const auto own : first.labels) {
        expect(own >= 0 && own < count, "labels must be numbers from 0 to n - n_made - 1.");
    }
    for (std::int64_t node = n; node < n + first.n_made; ++node) {
        for (const auto& side : {first.left, first.right}) {
            const std::int64_t child = side[static_cast<std::size_t>(node)];
            expect(child >= 0 && child < node, "Children must come before their parents.");
            auto& joined = is_joined[static_cast<std::size_t>(child)];
            expect(!joined, "A node must not be joined twice.");
            joined = 1;
        }
        const auto a = static_cast<std::size_t>(first.left[static_cast<std::size_t>(node)]);
        const auto b = static_cast<std::size_t>(first.right[static_cast<std::size_t>(node)]);
        expect(label[a] == label[b], "Merges must be those behind the labels.");
        label.push_back(label[a]);
    }
    // n - n_made nodes are left; there is one of each label if all labels are there.
    std::vector<char> is_there(static_cast<std::size_t>(count), 0);
    for (std::size_t node = 0; node < label.size(); ++node) {
        if (!is_joined[node]) is_there[static_cast<std::size_t>(label[node])] = 1;
    }
    expect(std::find(is_there.begin(), is_there.end(), 0) == is_there.end(),
           "Merges must be those behind the labels.");
}

// What is searched, with the arrays that it looks at.
struct BoundProblem {
    BoundPairs pairs;
    Integers labels, left, right;
    IntegerTable reference;
    Problem problem;

    BoundProblem(int kind, const BoundPairs& pairs_, std::pair<double, double> offset_and_span,
                 std::tuple<Integers, Integers, Integers, int> merges,
                 std::tuple<int, IntegerTable, int> pruning)
        : pairs(pairs_),
          labels(std::get<0>(merges)),
          left(std::get<1>(merges)),
          right(std::get<2>(merges)),
          reference(std::get<1>(pruning)) {
        const std::size_t n = pairs.first.shape(0);
        problem.source.kind = kind_of(kind);
        problem.source.pairs = pairs.functions;
        problem.source.offset = offset_and_span.first;
        problem.source.span = offset_and_span.second;
        expect(labels.shape(0) == n, "There must be one label for each point.");
        problem.first = {span_of(labels), span_of(left), span_of(right), std::get<3>(merges)};
        expect_merges(problem.first);
        const auto objective = one_of<Objective>(std::get<0>(pruning), 5, "objective is unknown.");
        if (!is_plain_cut(objective)) {
            expect_square(reference, n, "reference must be a square matrix.");
        }
        expect(objective != Objective::ruler || n > 1, "A ruler has two points.");
        const int k = std::get<2>(pruning);
        expect(k >= 1 && static_cast<std::size_t>(k) <= n, "k must be between 1 and n.");
        problem.pruning = {objective, view_of(reference), k};
        problem.complete();
    }
};

// Asks Python. An exception there ends the search, which raises it in the end.
class PythonLayer final : public ExactLayer {
   public:
    PythonLayer(const nb::callable& answer, StopToken& stop) : answer_(answer), stop_(stop) {}

    Answer ask(const Question& question) override {
        nb::gil_scoped_acquire lock;
        try {
            return asked(question);
        } catch (nb::python_error& error) {
            error.restore();
        } catch (const nb::cast_error&) {
            PyErr_SetString(PyExc_TypeError,
                            "an answer must be an order or (low, high, order before)");
        }
        stop_.end();
        return {Answer::Kind::hopeless, 0, {}};
    }

   private:
    static constexpr int unknown = 2, hopeless = 4;

    Answer asked(const Question& question) const {
        const nb::object found = answer_(
            static_cast<int>(question.kind), question.interval.low, question.interval.high,
            question.expected,
            array_of(std::vector<std::uint8_t>(question.marks.begin(), question.marks.end())));
        if (nb::isinstance<nb::tuple>(found)) {
            const auto [low, high, before] = nb::cast<std::tuple<double, double, int>>(found);
            return {Answer::Kind::crosses, before, {low, high}};
        }
        const int order = nb::cast<int>(found);
        if (order == unknown) return {Answer::Kind::unknown, 0, {}};
        if (order == hopeless) return {Answer::Kind::hopeless, 0, {}};
        return {Answer::Kind::order, order, {}};
    }

    const nb::callable& answer_;
    StopToken& stop_;
};

// alpha close to a parameter: its value there as a sum of two numbers, and its slope.
using NearAlpha = std::optional<std::tuple<double, double, double>>;

// Calls `use` with the layer that decides: near ties by themselves where alpha is given.
template <class Use>
auto with_layer(const BoundProblem& bound, const NearAlpha& alpha, const nb::callable& answer,
                StopToken& token, const Use& use) {
    PythonLayer exact(answer, token);
    if (!alpha) return use(static_cast<ExactLayer&>(exact));
    const auto& [high, low, slope] = *alpha;
    const Source& source = bound.problem.source;
    NearTies near(source.kind, source.pairs, {{high, low}, slope}, exact);
    return use(static_cast<ExactLayer&>(near));
}

void expect_near(const BoundProblem& bound, const NearAlpha& alpha) {
    if (!alpha) return;
    const Source& source = bound.problem.source;
    expect(source.pairs.mode == Mode::power && source.pairs.ordered &&
               source.kind != Kind::minimum && source.kind != Kind::maximum,
           "Near ties are those of powers of one distance.");
}

nb::tuple tuple_of(LeafStore& found, std::size_t n) {
    const auto& leaves = found.leaves();
    const auto& splits = found.splits();
    std::vector<double> intervals, zones;
    std::vector<std::int64_t> info;
    for (const Leaf& leaf : leaves) {
        intervals.insert(intervals.end(), {leaf.interval.low, leaf.interval.high});
        info.insert(info.end(), {leaf.before, leaf.after, leaf.partition});
    }
    for (const auto& [zone, before, after] : splits) {
        zones.insert(zones.end(), {zone.low, zone.high, static_cast<double>(zone.before),
                                   static_cast<double>(zone.after), static_cast<double>(before),
                                   static_cast<double>(after)});
    }
    const std::size_t n_leaves = leaves.size(), n_splits = splits.size();
    const std::size_t n_partitions = found.n_partitions();
    return nb::make_tuple(array_of(std::move(intervals), {n_leaves, 2}),
                          array_of(std::move(info), {n_leaves, 3}),
                          array_of(std::move(zones), {n_splits, split_columns}),
                          array_of(found.take_marks(), {n_splits, n}),
                          array_of(found.take_partitions(), {n_partitions, n}));
}

int contract_(int kind, std::pair<RealTable, RealTable> ends, double margin,
              std::tuple<Vector<std::int64_t>, Vector<std::int64_t>, Vector<std::int64_t>> merges,
              const Stop& stop) {
    const auto& [labels, left, right] = merges;
    const std::size_t n = labels.shape(0);
    expect(n > 0, "There must be a point.");
    expect_square(ends.first, n, "Ends must be square matrices.");
    expect_square(ends.second, n, "Ends must be square matrices.");
    const auto own = span_of(labels);
    const auto last = *std::max_element(own.begin(), own.end());
    expect(last >= 0 && last < static_cast<std::int64_t>(n), "labels must be numbers from 0 on.");
    FirstMerges first{own, span_of(left), span_of(right),
                      static_cast<int>(n) - static_cast<int>(last) - 1};
    expect_merges(first);
    const Kind known = kind_of(kind);
    const MergesUnderWay growing{span_of(left), span_of(right), own};
    return unlocked(stop, [&](StopToken& token) {
        return contract(known, view_of(ends.first), view_of(ends.second), margin, growing, token);
    });
}

Result<double> panel_edges_(const BoundPairs& pairs, Integers labels,
                            std::pair<double, double> interval, double tolerance,
                            const Stop& stop) {
    expect(labels.shape(0) == pairs.first.shape(0), "There must be one label for each point.");
    expect(interval.first < interval.second, "The interval must not be empty.");
    expect(tolerance > 0.0, "tolerance must be positive.");
    return array_of(unlocked(stop, [&](StopToken& token) {
        return panel_edges(pairs.functions, span_of(labels), {interval.first, interval.second},
                           tolerance, token);
    }));
}

Panels panels_of(const RealTable& bounds, const Matrix<const bool>& may_tie) {
    expect(bounds.shape(1) == 2, "Panels must have two columns.");
    expect(may_tie.shape(0) == bounds.shape(0) && may_tie.shape(1) == 2,
           "may_tie must have the shape of panels.");
    for (std::size_t i = 0; i < bounds.shape(0); ++i) {
        expect(bounds(i, 0) <= bounds(i, 1), "Panels must not end before they begin.");
        expect(std::isfinite(bounds(i, 1) - bounds(i, 0)), "Panels must have finite widths.");
    }
    return {view_of(bounds), view_of(may_tie)};
}

nb::tuple search_(const BoundProblem& bound, RealTable panels, Matrix<const bool> may_tie,
                  double wide_zone, const nb::callable& answer, const NearAlpha& near,
                  const Stop& stop) {
    expect_near(bound, near);
    const Panels searched = panels_of(panels, may_tie);
    expect(bound.problem.first.n_clusters() > 1, "There must be two clusters.");
    auto found = unlocked(stop, [&](StopToken& token) {
        return with_layer(bound, near, answer, token, [&](ExactLayer& exact) {
            return search(bound.problem, searched, wide_zone, exact, token);
        });
    });
    return tuple_of(found, bound.pairs.first.shape(0));
}

using MeetingArray = std::pair<Matrix<const std::uint64_t>, bool>;

MeetingCodes meeting_of(const MeetingArray& meeting, std::size_t n) {
    const auto& [codes, exact] = meeting;
    if (codes.size() == 0) return {};
    expect_square(codes, n, "Codes of values that meet must be a square matrix, or empty.");
    return {view_of(codes), exact};
}

nb::tuple follow_(const BoundProblem& bound, RealTable panels, Matrix<const bool> may_tie,
                  std::pair<MeetingArray, MeetingArray> meetings, const Stop& stop) {
    const Panels followed = panels_of(panels, may_tie);
    const std::size_t n = bound.pairs.first.shape(0), count = panels.shape(0);
    const Source& source = bound.problem.source;
    expect(bound.problem.first.n_clusters() > 1, "There must be two clusters.");
    const Form form = form_of(source.kind, source.pairs.mode);
    expect(form != Form::moving_extremes, "Extremes of moving distances cannot be followed.");
    expect(form != Form::energy, "Energies cannot be followed.");
    expect(!is_plain_cut(bound.problem.pruning.objective), "Plain cuts cannot be followed.");
    expect(count > 0, "There must be a panel.");
    for (std::size_t i = 1; i < count; ++i) {
        expect(panels(i - 1, 1) == panels(i, 0), "Panels must touch each other.");
    }
    const Meetings ends{{panels(0, 0), panels(count - 1, 1)},
                        meeting_of(meetings.first, n),
                        meeting_of(meetings.second, n)};
    auto found = unlocked(
        stop, [&](StopToken& token) { return follow(bound.problem, followed, ends, token); });
    std::vector<double> windows;
    for (const Interval& window : found.windows) {
        windows.insert(windows.end(), {window.low, window.high});
    }
    return nb::make_tuple(tuple_of(found.found, n),
                          array_of(std::move(windows), {found.windows.size(), 2}), found.n_trees);
}

nb::object solve_at_(const BoundProblem& bound, double t, RealTable values, double error,
                     const nb::callable& answer, const NearAlpha& near, const Stop& stop) {
    expect_near(bound, near);
    expect_square(values, bound.pairs.first.shape(0), "values must be a square matrix.");
    expect(error >= 0.0, "error must not be negative.");
    auto found = unlocked(stop, [&](StopToken& token) {
        return with_layer(bound, near, answer, token, [&](ExactLayer& exact) {
            return solve_at(bound.problem, {t, view_of(values), error}, exact, token);
        });
    });
    if (!found.decided) return nb::none();
    return nb::make_tuple(array_of(std::move(found.left)), array_of(std::move(found.right)),
                          array_of(std::move(found.labels)));
}

Result<std::uint8_t> polish_(int kind, const BoundPairs& pairs, Matrix<double> splits,
                             Matrix<const std::uint8_t> marks, Integers which, const Stop& stop) {
    expect(splits.shape(1) == split_columns, "splits must have six columns.");
    expect(marks.shape(0) == splits.shape(0) && marks.shape(1) == pairs.first.shape(0),
           "There must be a mark for each point and split.");
    const auto chosen = span_of(which);
    for (const auto split : chosen) {
        expect(split >= 0 && static_cast<std::size_t>(split) < splits.shape(0),
               "which must be numbers of splits.");
        const auto own = view_of(marks).row(static_cast<std::size_t>(split));
        for (std::uint8_t role = 1; role <= 3; ++role) {
            expect(std::find(own.begin(), own.end(), role) != own.end(),
                   "Each of the three clusters must have a member.");
        }
    }
    return array_of(unlocked(stop, [&](StopToken& token) {
        return polish_many(kind_of(kind), pairs.functions, view_of(splits), view_of(marks), chosen,
                           token);
    }));
}

bool may_tie_(int kind, const BoundPairs& pairs, Vector<const std::uint8_t> marks, double t,
              const Stop& stop) {
    expect(marks.shape(0) == pairs.first.shape(0), "There must be a mark for each point.");
    const Kind own = kind_of(kind);
    return unlocked(stop, [&](StopToken& token) {
        return token.stop_requested() || may_tie(own, pairs.functions, span_of(marks), t);
    });
}

nb::tuple ranked_leaves_(std::tuple<RealTable, IntegerTable, RealTable> leaves, Integers ranks,
                         std::int64_t highest, RealTable ranges) {
    const auto& [intervals, info, splits] = leaves;
    expect(intervals.shape(1) == 2 && info.shape(1) == 3 && splits.shape(1) == split_columns &&
               ranges.shape(1) == 2,
           "intervals, info, splits and ranges must have 2, 3, 6 and 2 columns.");
    expect(intervals.shape(0) == info.shape(0), "There must be one interval for each leaf.");
    const auto n_splits = static_cast<std::int64_t>(splits.shape(0));
    const auto n_ranks = static_cast<std::int64_t>(ranks.shape(0));
    for (std::size_t i = 0; i < info.shape(0); ++i) {
        expect(info(i, 0) < n_splits && info(i, 1) < n_splits && info(i, 2) < n_ranks,
               "Leaves must name splits and partitions that are there.");
    }
    for (std::size_t i = 0; i < splits.shape(0); ++i) {
        const auto own = static_cast<double>(i);
        for (const int side : {column::before, column::after}) {
            expect(splits(i, side) >= no_split && splits(i, side) < own,
                   "Splits must come after those above them.");
        }
    }
    RankedIntervals found = ranked_leaves({view_of(intervals), view_of(info), view_of(splits)},
                                          span_of(ranks), highest, view_of(ranges));
    return nb::make_tuple(array_of(std::move(found.low)), array_of(std::move(found.high)),
                          array_of(std::move(found.least)), array_of(std::move(found.most)));
}

nb::tuple envelope_(Reals low, Reals high, Integers least, Integers most) {
    const std::size_t count = low.shape(0);
    expect(high.shape(0) == count && least.shape(0) == count && most.shape(0) == count,
           "All arrays must have the same length.");
    Envelope found = envelope(span_of(low), span_of(high), span_of(least), span_of(most));
    return nb::make_tuple(array_of(std::move(found.positions)), array_of(std::move(found.bottom)),
                          array_of(std::move(found.top)));
}

EnvelopeView cover_of(const std::tuple<Reals, Integers, Integers>& cover) {
    const auto& [positions, bottom, top] = cover;
    expect(bottom.shape(0) == top.shape(0), "bottom and top must have the same length.");
    expect(positions.shape(0) == bottom.shape(0) + 1 || (positions.shape(0) + bottom.shape(0) == 0),
           "There must be one position more than intervals.");
    return {span_of(positions), span_of(bottom), span_of(top)};
}

Result<std::int64_t> unsettled_splits_(RealTable splits,
                                       std::tuple<Reals, Integers, Integers> cover) {
    expect(splits.shape(1) == split_columns, "splits must have six columns.");
    return array_of(unsettled_splits(view_of(splits), cover_of(cover)));
}

nb::tuple joined_(std::tuple<Reals, Integers, Integers> cover, Reals special) {
    RankedIntervals found = joined(cover_of(cover), span_of(special));
    return nb::make_tuple(array_of(std::move(found.low)), array_of(std::move(found.high)),
                          array_of(std::move(found.least)), array_of(std::move(found.most)));
}

Result<std::int64_t> prune_(int objective, IntegerTable reference, IntegerTable left,
                            IntegerTable right, int k, const Stop& stop) {
    const std::size_t n = reference.shape(0), n_trees = left.shape(0);
    expect(n > 0, "There must be a point.");
    expect_square(reference, n, "reference must be a square matrix.");
    expect(k >= 1 && static_cast<std::size_t>(k) <= n, "k must be between 1 and n.");
    expect(right.shape(0) == n_trees, "There must be a left and a right child for every tree.");
    const std::vector<std::int64_t> labels(n, 0);
    for (std::size_t t = 0; t < n_trees; ++t) {
        expect_merges(
            {labels, view_of(left).row(t), view_of(right).row(t), static_cast<int>(n) - 1});
    }
    const Pruning pruning{one_of<Objective>(objective, 3, "objective is unknown."),
                          view_of(reference), k};
    return array_of(unlocked(stop,
                             [&](StopToken& token) {
                                 return prune(pruning, view_of(left), view_of(right), token);
                             }),
                    {n_trees, n});
}

Result<double> merge_values_(int kind, RealTable values, Integers left, Integers right) {
    const std::size_t n = values.shape(0);
    expect(n > 0, "There must be a point.");
    expect_square(values, n, "values must be a square matrix.");
    const std::vector<std::int64_t> labels(n, 0);
    expect_merges({labels, span_of(left), span_of(right), static_cast<int>(n) - 1});
    return array_of(merge_values(kind_of(kind), view_of(values), span_of(left), span_of(right)));
}

std::int64_t heaviest_matching_(IntegerTable weights) {
    expect(weights.shape(0) <= weights.shape(1), "There must be as many columns as rows.");
    return heaviest_matching(view_of(weights));
}

Result<std::int64_t> matched_points_(Integers target, IntegerTable partitions, const Stop& stop) {
    const auto n = static_cast<std::int64_t>(target.shape(0));
    expect(partitions.shape(1) == target.shape(0), "Partitions must have a code for each point.");
    const auto is_code = [n](std::int64_t code) { return code >= 0 && code < n; };
    const auto classes = span_of(target);
    expect(std::all_of(classes.begin(), classes.end(), is_code) &&
               std::all_of(partitions.data(), partitions.data() + partitions.size(), is_code),
           "Codes must be numbers from 0 to n - 1.");
    return array_of(unlocked(stop, [&](StopToken& token) {
        return matched_points(classes, view_of(partitions), token);
    }));
}

}  // namespace

void bind_linkage(nb::module_& room) {
    nb::class_<BoundPairs>(room, "PairFunctions")
        .def(nb::init<int, RealTable, RealTable, std::pair<double, double>, double,
                      std::pair<Matrix<const std::uint64_t>, bool>, Integers, bool>(),
             "mode"_a, "first"_a.noconvert(), "second"_a.noconvert(), "power"_a, "input_error"_a,
             "codes"_a.noconvert(), "twins"_a.noconvert(), "box_cox"_a);
    nb::class_<BoundProblem>(room, "Problem")
        .def(nb::init<int, const BoundPairs&, std::pair<double, double>,
                      std::tuple<Integers, Integers, Integers, int>,
                      std::tuple<int, IntegerTable, int>>(),
             "kind"_a, "pairs"_a, "offset_and_span"_a, "merges"_a.noconvert(),
             "pruning"_a.noconvert());
    room.def("contract", &contract_, "kind"_a, "ends"_a.noconvert(), "margin"_a,
             "merges"_a.noconvert(), "stop"_a);
    room.def("panel_edges", &panel_edges_, "pairs"_a, "labels"_a.noconvert(), "interval"_a,
             "tolerance"_a, "stop"_a);
    room.def("search", &search_, "problem"_a, "panels"_a.noconvert(), "may_tie"_a.noconvert(),
             "wide_zone"_a, "answer"_a, "near"_a.none(), "stop"_a);
    room.def("follow", &follow_, "problem"_a, "panels"_a.noconvert(), "may_tie"_a.noconvert(),
             "meetings"_a.noconvert(), "stop"_a);
    room.def("solve_at", &solve_at_, "problem"_a, "t"_a, "values"_a.noconvert(), "error"_a,
             "answer"_a, "near"_a.none(), "stop"_a);
    room.def("polish", &polish_, "kind"_a, "pairs"_a, "splits"_a.noconvert(), "marks"_a.noconvert(),
             "which"_a.noconvert(), "stop"_a);
    room.def("may_tie", &may_tie_, "kind"_a, "pairs"_a, "marks"_a.noconvert(), "t"_a, "stop"_a);
    room.def("ranked_leaves", &ranked_leaves_, "leaves"_a.noconvert(), "ranks"_a.noconvert(),
             "highest"_a, "ranges"_a.noconvert());
    room.def("envelope", &envelope_, "low"_a.noconvert(), "high"_a.noconvert(),
             "least"_a.noconvert(), "most"_a.noconvert());
    room.def("unsettled_splits", &unsettled_splits_, "splits"_a.noconvert(), "cover"_a.noconvert());
    room.def("joined", &joined_, "cover"_a.noconvert(), "special"_a.noconvert());
    room.def("prune", &prune_, "objective"_a, "reference"_a.noconvert(), "left"_a.noconvert(),
             "right"_a.noconvert(), "k"_a, "stop"_a);
    room.def("merge_values", &merge_values_, "kind"_a, "values"_a.noconvert(), "left"_a.noconvert(),
             "right"_a.noconvert());
    room.def("heaviest_matching", &heaviest_matching_, "weights"_a.noconvert());
    room.def("matched_points", &matched_points_, "target"_a.noconvert(), "partitions"_a.noconvert(),
             "stop"_a);
}

}  // namespace certune::bindings
