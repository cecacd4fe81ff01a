#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "bindings/arrays.h"
#include "bindings/calls.h"
#include "bindings/rooms.h"
#include "graph/box_models.h"
#include "graph/dominance.h"
#include "graph/elimination.h"
#include "graph/label_outcomes.h"
#include "graph/neighbour_bounds.h"
#include "graph/phase_bounds.h"
#include "graph/settling.h"
#include "graph/strong_tree.h"
#include "graph/wide_elimination.h"

namespace certune::bindings {

namespace {

using namespace nb::literals;
using graph::Index;

using Reals = Vector<const double>;
using Rows = Matrix<const double>;
using Indices = Vector<const Index>;
using FlagRows = Matrix<const bool>;

// Structures of the room as Python hands them over: tuples of arrays.
using EdgesOf = std::tuple<Tensor<const double>, Tensor<const double>, FlagRows, FlagRows, Indices,
                           std::size_t>;
using JoinedOf = std::pair<FlagRows, FlagRows>;
using ExponentsOf = std::pair<Rows, Rows>;
using RatesOf = std::pair<Reals, Reals>;
using EliminationOf = std::tuple<Matrix<double>, Matrix<double>, Vector<double>>;

constexpr std::size_t most_classes = std::size_t{1} << 20;
constexpr const char* one_graph = "All arrays must be of graphs of one size.";

template <class Number>
graph::EdgeValues<Number> edge_values(const Matrix<Number>& nodes, const Matrix<Number>& labelled) {
    expect(nodes.shape(0) == nodes.shape(1), "Values among nodes must be square.");
    expect(nodes.shape(0) == labelled.shape(0), one_graph);
    return {view_of(nodes), view_of(labelled)};
}

template <class Number>
graph::EdgeValues<Number> edge_values(const std::pair<Matrix<Number>, Matrix<Number>>& given) {
    return edge_values(given.first, given.second);
}

template <class First, class Second>
void expect_same_graph(const First& first, const Second& second) {
    expect(first.n_nodes() == second.n_nodes() && first.n_labelled() == second.n_labelled(),
           one_graph);
}

bool are_below(std::span<const Index> numbers, std::size_t count) {
    return std::all_of(numbers.begin(), numbers.end(), [count](Index number) {
        return number >= 0 && static_cast<std::size_t>(number) < count;
    });
}

graph::LabelledGraph graph_of(const EdgesOf& given) {
    const auto& [between, to_labelled, nodes, labelled, class_of, n_classes] = given;
    expect(n_classes <= most_classes, "There are too many classes.");
    graph::LabelledGraph result;
    result.joined = edge_values(nodes, labelled);
    const std::size_t n = result.n_nodes(), m = result.n_labelled();
    result.n_metrics = between.shape(0);
    result.n_classes = n_classes;
    expect(between.shape(1) == n && between.shape(2) == n &&
               to_labelled.shape(0) == result.n_metrics && to_labelled.shape(1) == n &&
               to_labelled.shape(2) == m && class_of.size() == m,
           one_graph);
    result.between = {between.data(), between.size()};
    result.to_labelled = {to_labelled.data(), to_labelled.size()};
    result.class_of = span_of(class_of);
    expect(are_below(result.class_of, n_classes), "Classes must be numbers below n_classes.");
    return result;
}

graph::Rates rates_of(const RatesOf& given, const graph::LabelledGraph& graph) {
    expect(given.first.size() == graph.n_metrics && given.second.size() == graph.n_metrics,
           "There must be one rate for each metric.");
    return {span_of(given.first), span_of(given.second)};
}

graph::Elimination elimination_of(const EliminationOf& given) {
    const auto& [weights, classes, sums] = given;
    const std::size_t n = sums.size();
    expect(weights.shape(0) == n && weights.shape(1) == n && classes.shape(0) == n, one_graph);
    return {view_of(weights), view_of(classes), span_of(sums)};
}

void expect_fits(const graph::Elimination& work, const graph::LabelledGraph& graph) {
    expect(work.sums.size() == graph.n_nodes() && work.classes.columns == graph.n_classes,
           one_graph);
}

MatrixView<const double> paths_of(const Rows& given, std::size_t n_nodes) {
    expect(given.shape(0) == n_nodes + 1 && given.shape(1) == n_nodes + 1,
           "Values of paths must be of all nodes and the ground.");
    return view_of(given);
}

std::span<const Index> indices_of(const Indices& given, std::size_t size, std::size_t count) {
    expect(given.size() == size, one_graph);
    expect(are_below(span_of(given), count), "Numbers of nodes or groups are out of range.");
    return span_of(given);
}

// Solving.

void fill_weights(const EdgesOf& edges, const RatesOf& rates, double shift,
                  const EliminationOf& work, const Stop& stop) {
    const auto graph = graph_of(edges);
    const auto own = rates_of(rates, graph);
    const auto out = elimination_of(work);
    expect_fits(out, graph);
    unlocked(stop, [&](StopToken& token) {
        graph::fill_weights(graph, own, shift, out, token);
        return true;
    });
}

bool eliminate(const EliminationOf& work, const Stop& stop) {
    const auto own = elimination_of(work);
    return unlocked(stop, [&](StopToken& token) { return graph::eliminate(own, token); });
}

Result<double> substitute(const EliminationOf& done, const Stop& stop) {
    const auto own = elimination_of(done);
    return array_of(unlocked(stop, [&](StopToken& token) { return graph::substitute(own, token); }),
                    {own.sums.size(), own.classes.columns});
}

Result<double> transition_shares(const EdgesOf& edges, const RatesOf& rates, const Stop& stop) {
    const auto graph = graph_of(edges);
    const auto own = rates_of(rates, graph);
    return array_of(
        unlocked(stop,
                 [&](StopToken& token) { return graph::transition_shares(graph, own, token); }),
        {graph.n_nodes(), graph.n_nodes() + graph.n_classes});
}

void solve_grounded(const EliminationOf& done, const Matrix<double>& right, const Stop& stop) {
    const auto own = elimination_of(done);
    expect(right.shape(0) == own.sums.size(), "There must be a row for each node.");
    unlocked(stop, [&](StopToken& token) {
        graph::solve_grounded(own, view_of(right), token);
        return true;
    });
}

Result<double> inverse_diagonal(const EliminationOf& done, const Stop& stop) {
    const auto own = elimination_of(done);
    return array_of(
        unlocked(stop, [&](StopToken& token) { return graph::inverse_diagonal(own, token); }));
}

Result<double> class_energies(const EliminationOf& done, const Stop& stop) {
    const auto own = elimination_of(done);
    return array_of(
        unlocked(stop, [&](StopToken& token) { return graph::class_energies(own, token); }));
}

// Panels.

Result<double> chebyshev_coefficients(const Rows& values, const Stop& stop) {
    expect(values.shape(0) >= 2, "There must be two nodes at least.");
    return array_of(unlocked(stop,
                             [&](StopToken& token) {
                                 return graph::chebyshev_coefficients(view_of(values), token);
                             }),
                    {values.shape(1), values.shape(0)});
}

std::pair<Result<Index>, Result<double>> settle(const Tensor<const double>& series,
                                                const FlagRows& admitted, const Reals& errors,
                                                const Rows& halving, const Stop& stop) {
    const std::size_t n = series.shape(0), n_classes = series.shape(1), count = series.shape(2);
    expect(admitted.shape(0) == n && admitted.shape(1) == n_classes && errors.size() == n,
           "There must be one row for each node.");
    expect(halving.shape(0) == count && halving.shape(1) == count && count > 0,
           "The matrix must be of the degree of the series.");
    const auto leaves = unlocked(stop, [&](StopToken& token) {
        std::vector<graph::Leaf> found;
        for (std::size_t i = 0; i < n; ++i) {
            const graph::NodeSeries own{{series.data() + i * n_classes * count, n_classes, count},
                                        view_of(admitted).row(i),
                                        errors.data()[i]};
            graph::settle(i, own, view_of(halving), found, token);
        }
        return found;
    });
    std::vector<Index> info;
    std::vector<double> ends;
    for (const graph::Leaf& leaf : leaves) {
        info.insert(info.end(), {static_cast<Index>(leaf.node), leaf.winner, leaf.rival});
        ends.insert(ends.end(), {leaf.low, leaf.high});
    }
    return {array_of(std::move(info), {leaves.size(), 3}),
            array_of(std::move(ends), {leaves.size(), 2})};
}

// Trees and what certificates sum over edges.

graph::SpanningTree spanning_tree(const ExponentsOf& exponents, const JoinedOf& joined,
                                  const Stop& stop) {
    const auto values = edge_values(exponents);
    const auto edges = edge_values(joined);
    expect_same_graph(values, edges);
    return unlocked(stop,
                    [&](StopToken& token) { return graph::spanning_tree(values, edges, token); });
}

Result<Index> gates(const JoinedOf& joined, const Stop& stop) {
    const auto edges = edge_values(joined);
    return array_of(unlocked(stop, [&](StopToken& token) { return graph::gates(edges, token); }));
}

Result<double> path_maxima(const ExponentsOf& exponents, const graph::SpanningTree& tree,
                           const Stop& stop) {
    const auto values = edge_values(exponents);
    const std::size_t n = tree.n_nodes();
    expect(values.n_nodes() == n, one_graph);
    for (const Index via : tree.via) {
        expect(via < static_cast<Index>(values.n_labelled()), one_graph);
    }
    return array_of(
        unlocked(stop, [&](StopToken& token) { return graph::path_maxima(values, tree, token); }),
        {n + 1, n + 1});
}

// A ranked tree knows how many labelled points there are.
struct HeldTree {
    graph::RankedTree ranked;
    std::size_t n_labelled;

    std::size_t n_nodes() const { return ranked.tree.n_nodes(); }
};

graph::Exponents exponents_of(const ExponentsOf& given, const HeldTree& tree) {
    const auto values = edge_values(given);
    expect(values.n_nodes() == tree.n_nodes() && values.n_labelled() == tree.n_labelled, one_graph);
    return values;
}

HeldTree rank_tree(const graph::SpanningTree& tree, const ExponentsOf& exponents,
                   const Stop& stop) {
    const auto values = edge_values(exponents);
    expect(values.n_nodes() == tree.n_nodes(), one_graph);
    expect(tree.reaches_all(), "The tree must reach all nodes.");
    for (const Index via : tree.via) {
        expect(via < static_cast<Index>(values.n_labelled()), one_graph);
    }
    return unlocked(stop, [&](StopToken& token) {
        return HeldTree{graph::RankedTree(tree, values, token), values.n_labelled()};
    });
}

std::span<const Index> groups_of(const Indices& given, const HeldTree& tree) {
    return indices_of(given, tree.n_nodes(), tree.n_nodes());
}

void lower_margins(const ExponentsOf& exponents, const Rows& path_maxima,
                   const std::pair<Matrix<double>, Matrix<double>>& margins, const Stop& stop) {
    const auto values = edge_values(exponents);
    const auto out = edge_values(margins);
    expect_same_graph(values, out);
    const auto paths = paths_of(path_maxima, values.n_nodes());
    unlocked(stop, [&](StopToken& token) {
        graph::lower_margins(values, paths, out, token);
        return true;
    });
}

Result<double> tail_of_margins(const JoinedOf& joined, const ExponentsOf& margins,
                               const Stop& stop) {
    const auto edges = edge_values(joined);
    const auto values = edge_values(margins);
    expect_same_graph(edges, values);
    return array_of(unlocked(
        stop, [&](StopToken& token) { return graph::tail_of_margins(edges, values, token); }));
}

std::pair<Result<double>, Result<double>> ranges_of_strong(
    const std::array<ExponentsOf, 2>& coefficients, const JoinedOf& joined,
    const ExponentsOf& margins, double cutoff, const HeldTree& tree, const Indices& groups,
    const Stop& stop) {
    const auto edges = edge_values(joined);
    const std::array<graph::Exponents, 2> values{exponents_of(coefficients[0], tree),
                                                 exponents_of(coefficients[1], tree)};
    expect_same_graph(edges, values[0]);
    expect(tree.n_nodes() > 0, "There must be a node.");
    const graph::Margins own{exponents_of(margins, tree), cutoff};
    const auto group_of_rank = groups_of(groups, tree);
    const auto ranges = unlocked(stop, [&](StopToken& token) {
        return graph::ranges_of_strong(values, edges, own, tree.ranked, group_of_rank, token);
    });
    std::vector<double> low, high;
    for (const auto& range : ranges) {
        low.insert(low.end(), range.low.begin(), range.low.end());
        high.insert(high.end(), range.high.begin(), range.high.end());
    }
    return {array_of(std::move(low), {ranges.size(), 2}),
            array_of(std::move(high), {ranges.size(), 2})};
}

Result<double> phase_links(const ExponentsOf& exponents, const JoinedOf& joined,
                           const HeldTree& tree, const Stop& stop) {
    const auto values = exponents_of(exponents, tree);
    const auto edges = edge_values(joined);
    expect_same_graph(values, edges);
    return array_of(unlocked(stop,
                             [&](StopToken& token) {
                                 return graph::phase_links(values, edges, tree.ranked, token);
                             }),
                    {tree.n_nodes(), tree.n_nodes()});
}

Result<Index> joined_groups(std::size_t n, const Indices& first, const Indices& second) {
    return array_of(graph::joined_groups(n, indices_of(first, second.size(), n),
                                         indices_of(second, first.size(), n)));
}

Result<double> path_below(const ExponentsOf& exponents, const HeldTree& tree, const Indices& groups,
                          const Stop& stop) {
    const std::size_t size = tree.n_nodes() + 1;
    const auto values = exponents_of(exponents, tree);
    const auto group_of_rank = groups_of(groups, tree);
    return array_of(unlocked(stop,
                             [&](StopToken& token) {
                                 return graph::path_below(values, tree.ranked, group_of_rank,
                                                          token);
                             }),
                    {size, size});
}

double crossing_sum(const ExponentsOf& exponents, const JoinedOf& joined, const Rows& below,
                    const Stop& stop) {
    const auto values = edge_values(exponents);
    const auto edges = edge_values(joined);
    expect_same_graph(values, edges);
    const auto paths = paths_of(below, values.n_nodes());
    return unlocked(
        stop, [&](StopToken& token) { return graph::crossing_sum(values, edges, paths, token); });
}

std::pair<double, double> leak_sums(const ExponentsOf& exponents, const JoinedOf& joined,
                                    const ExponentsOf& margins, double cutoff,
                                    const Rows& path_maxima, const Rows& below, const Stop& stop) {
    const auto values = edge_values(exponents);
    const auto edges = edge_values(joined);
    const graph::Margins own{edge_values(margins), cutoff};
    expect_same_graph(values, edges);
    expect_same_graph(values, own.of_edges);
    const std::size_t n = values.n_nodes();
    const auto largest = paths_of(path_maxima, n), others = paths_of(below, n);
    const auto sums = unlocked(stop, [&](StopToken& token) {
        return graph::leak_sums(values, edges, own, largest, others, token);
    });
    return {sums.weak, sums.crossing};
}

Result<double> log_conductances(const ExponentsOf& exponents, const JoinedOf& joined,
                                const Reals& resistance, const Indices& ranked, const Stop& stop) {
    const auto values = edge_values(exponents);
    const auto edges = edge_values(joined);
    expect_same_graph(values, edges);
    const std::size_t n = values.n_nodes();
    expect(resistance.size() == n, one_graph);
    const auto order = indices_of(ranked, n, n);
    return array_of(unlocked(stop, [&](StopToken& token) {
        return graph::log_conductances(values, edges, span_of(resistance), order, token);
    }));
}

Result<double> chained_growth(const Rows& conductances, const Rows& resistance,
                              const Indices& ranked, const Reals& single, double log_factor,
                              const Stop& stop) {
    const std::size_t n = single.size();
    expect(conductances.shape(0) == resistance.shape(0) && conductances.shape(1) == n &&
               resistance.shape(1) == n,
           "There must be one row for each corner, and one column for each node.");
    const graph::GrowthChain chain{view_of(conductances), view_of(resistance),
                                   indices_of(ranked, n, n), span_of(single), log_factor};
    return array_of(
        unlocked(stop, [&](StopToken& token) { return graph::chained_growth(chain, token); }));
}

Result<double> bounds_by_neighbours(const std::array<ExponentsOf, 2>& coefficients,
                                    const JoinedOf& joined, const Indices& chosen,
                                    const Reals& bounds, double slack,
                                    const Tensor<const double>& boxes, const Stop& stop) {
    const auto edges = edge_values(joined);
    const std::size_t n = edges.n_nodes();
    const std::array<graph::Exponents, 2> values{edge_values(coefficients[0]),
                                                 edge_values(coefficients[1])};
    for (const auto& value : values) expect_same_graph(value, edges);
    expect(bounds.size() == n, one_graph);
    expect(boxes.shape(1) == 3 && boxes.shape(2) == 2,
           "A box has ends and imaginary parts of two powers.");
    std::vector<graph::PowerBox> own(boxes.shape(0));
    for (std::size_t k = 0; k < own.size(); ++k) {
        const double* entry = boxes.data() + 6 * k;
        own[k] = {{entry[0], entry[1]}, {entry[2], entry[3]}, {entry[4], entry[5]}};
    }
    const graph::Neighbourhood around{values, edges, indices_of(chosen, chosen.size(), n),
                                      span_of(bounds), slack};
    return array_of(unlocked(
        stop, [&](StopToken& token) { return graph::bounds_by_neighbours(around, own, token); }));
}

// Boxes.

Result<double> exponents_at(const EdgesOf& edges, const Rows& rates, const Stop& stop) {
    const auto graph = graph_of(edges);
    expect(rates.shape(1) == graph.n_metrics, "There must be one rate for each metric.");
    return array_of(unlocked(stop,
                             [&](StopToken& token) {
                                 return graph::exponents_at(graph, view_of(rates), token);
                             }),
                    {rates.shape(0), graph.n_nodes(), graph.n_nodes() + graph.n_labelled()});
}

Result<Index> dominant_classes(const EdgesOf& edges, const Tensor<const double>& exponents,
                               const Indices& nodes, double slack, const Stop& stop) {
    const auto graph = graph_of(edges);
    const std::size_t n = graph.n_nodes();
    expect(exponents.shape(0) >= 1 && exponents.shape(1) == n &&
               exponents.shape(2) == n + graph.n_labelled(),
           "Exponents must be of all edges, at the centre and the vertices.");
    const graph::BoxExponents values{
        {exponents.data(), exponents.size()}, exponents.shape(0), n, exponents.shape(2)};
    const auto chosen = indices_of(nodes, nodes.size(), n);
    return array_of(unlocked(stop, [&](StopToken& token) {
        return graph::dominant_classes(graph, values, chosen, slack, token);
    }));
}

// Values at the vertices, errors, covariances of the lengths, and whether there are models.
nb::tuple soft_models(const EdgesOf& edges, const EliminationOf& done, const Rows& soft,
                      const std::tuple<Reals, Rows, double, double>& box,
                      const std::tuple<double, double, double>& errors, const Stop& stop) {
    const auto graph = graph_of(edges);
    const auto& [rates, moves, shift, needed] = box;
    const graph::BoxCentre centre{span_of(rates), elimination_of(done), view_of(soft), shift,
                                  needed};
    expect_fits(centre.done, graph);
    const std::size_t n = graph.n_nodes(), n_classes = graph.n_classes;
    expect(soft.shape(0) == n && soft.shape(1) == n_classes, one_graph);
    expect(rates.size() == graph.n_metrics && moves.shape(1) == graph.n_metrics,
           "There must be one rate for each metric.");
    const graph::ModelErrors own{std::get<0>(errors), std::get<1>(errors), std::get<2>(errors)};
    const auto to_vertices = view_of(moves);
    auto models = unlocked(stop, [&](StopToken& token) {
        return graph::soft_models(graph, centre, to_vertices, own, token);
    });
    return nb::make_tuple(array_of(std::move(models.values), {moves.shape(0), n, n_classes}),
                          array_of(std::move(models.errors), {n, n_classes}),
                          array_of(std::move(models.spread), {graph.n_metrics, graph.n_metrics}),
                          models.exist);
}

std::pair<Result<double>, Result<std::uint8_t>> rule_out(const Tensor<const double>& values,
                                                         const Rows& errors, const Indices& truth,
                                                         const Matrix<bool>& possible,
                                                         const Stop& stop) {
    const std::size_t n_vertices = values.shape(0), n = values.shape(1);
    expect(errors.shape(0) == n && errors.shape(1) == values.shape(2) && truth.size() == n &&
               possible.shape(0) == n && possible.shape(1) == values.shape(2),
           "There must be one row for each node, and one column for each class.");
    const graph::LinearLabels labels{{values.data(), values.size()}, view_of(errors), n_vertices};
    auto ruling = unlocked(stop, [&](StopToken& token) {
        return graph::rule_out(labels, span_of(truth), view_of(possible), token);
    });
    return {array_of(std::move(ruling.room), {n, n_vertices}), array_of(std::move(ruling.close))};
}

std::size_t conflicts(const Rows& room, const Stop& stop) {
    return unlocked(stop, [&](StopToken& token) { return graph::conflicts(view_of(room), token); });
}

// Registration.

void bind_solving(nb::module_& room) {
    room.def("fill_weights", &fill_weights, "edges"_a.noconvert(), "rates"_a.noconvert(), "shift"_a,
             "work"_a.noconvert(), "stop"_a);
    room.def("eliminate", &eliminate, "work"_a.noconvert(), "stop"_a);
    room.def("substitute", &substitute, "done"_a.noconvert(), "stop"_a);
    room.def("transition_shares", &transition_shares, "edges"_a.noconvert(), "rates"_a.noconvert(),
             "stop"_a);
    room.def("solve_grounded", &solve_grounded, "done"_a.noconvert(), "right"_a.noconvert(),
             "stop"_a);
    room.def("inverse_diagonal", &inverse_diagonal, "done"_a.noconvert(), "stop"_a);
    room.def("class_energies", &class_energies, "done"_a.noconvert(), "stop"_a);
}

void bind_panels(nb::module_& room) {
    room.attr("OPEN") = graph::open_zone;
    room.def("chebyshev_coefficients", &chebyshev_coefficients, "values"_a.noconvert(), "stop"_a);
    room.def("settle", &settle, "series"_a.noconvert(), "admitted"_a.noconvert(),
             "errors"_a.noconvert(), "halving"_a.noconvert(), "stop"_a);
}

void bind_trees(nb::module_& room) {
    using graph::SpanningTree;
    const auto copy = [](const std::vector<Index>& numbers) {
        return array_of(std::vector<Index>(numbers));
    };
    constexpr auto owned = nb::rv_policy::automatic;  // the arrays own their memory
    nb::class_<SpanningTree>(room, "SpanningTree")
        .def_prop_ro(
            "order", [copy](const SpanningTree& tree) { return copy(tree.order); }, owned)
        .def_prop_ro(
            "parent", [copy](const SpanningTree& tree) { return copy(tree.parent); }, owned)
        .def_prop_ro(
            "via", [copy](const SpanningTree& tree) { return copy(tree.via); }, owned)
        .def_prop_ro("depth", [copy](const SpanningTree& tree) { return copy(tree.depth); }, owned);
    nb::class_<HeldTree>(room, "RankedTree")
        .def_prop_ro(
            "lengths",
            [](const HeldTree& tree) { return array_of(std::vector<double>(tree.ranked.lengths)); },
            owned)
        .def_prop_ro(
            "rank_of", [copy](const HeldTree& tree) { return copy(tree.ranked.rank_of); }, owned)
        .def_prop_ro(
            "path_rank",
            [](const HeldTree& tree) {
                const std::size_t size = tree.n_nodes() + 1;
                return array_of(std::vector<Index>(tree.ranked.path_rank), {size, size});
            },
            owned);
    room.def("spanning_tree", &spanning_tree, "exponents"_a.noconvert(), "joined"_a.noconvert(),
             "stop"_a);
    room.def("gates", &gates, "joined"_a.noconvert(), "stop"_a);
    room.def("path_maxima", &path_maxima, "exponents"_a.noconvert(), "tree"_a, "stop"_a);
    room.def("rank_tree", &rank_tree, "tree"_a, "exponents"_a.noconvert(), "stop"_a);
}

void bind_phase_bounds(nb::module_& room) {
    room.def("lower_margins", &lower_margins, "exponents"_a.noconvert(),
             "path_maxima"_a.noconvert(), "margins"_a.noconvert(), "stop"_a);
    room.def("tail_of_margins", &tail_of_margins, "joined"_a.noconvert(), "margins"_a.noconvert(),
             "stop"_a);
    room.def("ranges_of_strong", &ranges_of_strong, "coefficients"_a.noconvert(),
             "joined"_a.noconvert(), "margins"_a.noconvert(), "cutoff"_a, "tree"_a,
             "groups"_a.noconvert(), "stop"_a);
    room.def("phase_links", &phase_links, "exponents"_a.noconvert(), "joined"_a.noconvert(),
             "tree"_a, "stop"_a);
    room.def("joined_groups", &joined_groups, "n"_a, "first"_a.noconvert(), "second"_a.noconvert());
    room.def("path_below", &path_below, "exponents"_a.noconvert(), "tree"_a, "groups"_a.noconvert(),
             "stop"_a);
    room.def("crossing_sum", &crossing_sum, "exponents"_a.noconvert(), "joined"_a.noconvert(),
             "below"_a.noconvert(), "stop"_a);
    room.def("leak_sums", &leak_sums, "exponents"_a.noconvert(), "joined"_a.noconvert(),
             "margins"_a.noconvert(), "cutoff"_a, "path_maxima"_a.noconvert(),
             "below"_a.noconvert(), "stop"_a);
    room.def("log_conductances", &log_conductances, "exponents"_a.noconvert(),
             "joined"_a.noconvert(), "resistance"_a.noconvert(), "ranked"_a.noconvert(), "stop"_a);
    room.def("chained_growth", &chained_growth, "conductances"_a.noconvert(),
             "resistance"_a.noconvert(), "ranked"_a.noconvert(), "single"_a.noconvert(),
             "log_factor"_a, "stop"_a);
    room.def("bounds_by_neighbours", &bounds_by_neighbours, "coefficients"_a.noconvert(),
             "joined"_a.noconvert(), "chosen"_a.noconvert(), "bounds"_a.noconvert(), "slack"_a,
             "boxes"_a.noconvert(), "stop"_a);
}

void bind_boxes(nb::module_& room) {
    room.attr("STRONG") = graph::strong_edge;
    room.def("exponents_at", &exponents_at, "edges"_a.noconvert(), "rates"_a.noconvert(), "stop"_a);
    room.def("dominant_classes", &dominant_classes, "edges"_a.noconvert(),
             "exponents"_a.noconvert(), "nodes"_a.noconvert(), "slack"_a, "stop"_a);
    room.def("soft_models", &soft_models, "edges"_a.noconvert(), "done"_a.noconvert(),
             "soft"_a.noconvert(), "box"_a.noconvert(), "errors"_a, "stop"_a);
    room.def("rule_out", &rule_out, "values"_a.noconvert(), "errors"_a.noconvert(),
             "truth"_a.noconvert(), "possible"_a.noconvert(), "stop"_a);
    room.def("conflicts", &conflicts, "room"_a.noconvert(), "stop"_a);
}

}  // namespace

void bind_graph(nb::module_& room) {
    bind_solving(room);
    bind_panels(room);
    bind_trees(room);
    bind_phase_bounds(room);
    bind_boxes(room);
}

}  // namespace certune::bindings
