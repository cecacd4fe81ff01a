#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>

#include <memory>
#include <tuple>

#include "bindings/arrays.h"
#include "bindings/calls.h"
#include "bindings/rooms.h"
#include "linkage/boxes/outcomes.h"

namespace certune::bindings {

namespace {

using namespace nb::literals;
using namespace linkage::boxes;

using Reals = Vector<const double>;
using Integers = Vector<const std::int64_t>;

// (middle, half width, whether in Box-Cox form, sense)
using Power = std::tuple<double, double, bool, double>;
// (codes of pairs of points, faces as (which vertices, place of the coordinate), codes on the
// faces)
using TieArrays = std::tuple<Matrix<const std::uint64_t>, Matrix<const std::int64_t>,
                             Tensor<const std::uint64_t>>;

Face face_of(const PolynomialSpace& space, std::span<const std::int64_t> row) {
    const Coordinates& coordinates = space.coordinates();
    std::vector<double> lows(coordinates.n_intervals, -1.0), highs(coordinates.n_intervals, 1.0);
    std::vector<double> vertices;
    Face face;
    const std::size_t m = coordinates.n_vertices;
    if (m == 0) {
        expect(row.size() == 3, "A face of an interval needs two marks and a coordinate.");
        const auto variable = static_cast<std::size_t>(row.back());
        expect(variable < coordinates.n_intervals, "There is no such face.");
        const double end = row[0] != 0 ? -1.0 : 1.0;
        lows[variable] = highs[variable] = end;
        face.directions.emplace_back(space.n_variables(), 0.0);
        face.directions.back()[variable] = -end;
    } else {
        expect(row.size() == m + 1, "A face needs a mark for every vertex.");
        std::size_t start = m;
        for (std::size_t k = 0; k < m; ++k) {
            if (row[k] == 0) continue;
            if (start == m) start = k;
            for (std::size_t j = 0; j < m; ++j) vertices.push_back(j == k ? 1.0 : 0.0);
        }
        expect(start < m, "A face needs a vertex.");
        for (std::size_t k = 0; k < m; ++k) {
            if (row[k] == 0) face.directions.push_back(space.edge(start, k));
        }
    }
    face.part = space.part(lows, highs, vertices);
    return face;
}

Ties ties_of(const PolynomialSpace& space, const TieArrays& arrays, std::size_t n) {
    const auto& [codes, faces, face_codes] = arrays;
    expect(codes.shape(0) == n && codes.shape(1) == n, "There must be a code for every pair.");
    expect(face_codes.shape(0) == faces.shape(0), "Every face needs codes.");
    expect(faces.shape(0) == 0 || (face_codes.shape(1) == n && face_codes.shape(2) == n),
           "There must be a code for every pair on a face.");
    Ties ties{view_of(codes), {}};
    for (std::size_t f = 0; f < faces.shape(0); ++f) {
        ties.faces.push_back(face_of(space, view_of(faces).row(f)));
        ties.faces.back().codes = {face_codes.data() + f * n * n, n * n};
    }
    return ties;
}

// Distances of one instance, prepared for many boxes.
class Problem {
   public:
    Problem(Tensor<const double> data, Integers twins, bool products, int kind,
            std::pair<std::size_t, bool> cut)
        : numbers_(data.data(), data.data() + data.size()),
          twins_(twins.data(), twins.data() + twins.size()),
          n_metrics_(data.shape(0)),
          n_points_(data.shape(1)),
          products_(products),
          kind_(static_cast<Kind>(kind)),
          cut_{cut.first, cut.second} {
        expect(kind >= 0 && kind <= static_cast<int>(Kind::energy), "kind is unknown.");
        expect(data.shape(1) == data.shape(2), "Distances must be square.");
        expect(n_metrics_ > 0 && n_points_ > 0, "Distances must not be empty.");
        expect(twins_.size() == n_points_, "There must be a number for every point.");
        expect(cut_.n_clusters <= n_points_, "There are fewer clusters than points.");
        expect(!cut_.by_ruler || n_points_ > 1, "A ruler has two points.");
        expect(!products_ || kind_ == Kind::mean, "Products of powers are compared by means.");
    }

    std::unique_ptr<DecisionTree> follow(Matrix<const double> vertices, Power power,
                                         std::tuple<double, double> errors, TieArrays tie_arrays,
                                         Matrix<const std::int64_t> merges,
                                         std::tuple<std::size_t, std::size_t> limits,
                                         const Stop& stop) const {
        expect(vertices.shape(1) == n_metrics_ && vertices.shape(0) > 0,
               "Vertices need a number for every metric.");
        expect(!products_ || vertices.shape(0) == 2, "Exponents need a middle and a half width.");
        const Box box{numbers_,           n_metrics_,
                      n_points_,          twins_,
                      products_,          kind_,
                      view_of(vertices),  std::get<0>(power),
                      std::get<1>(power), std::get<2>(power),
                      std::get<3>(power), std::get<0>(errors),
                      std::get<1>(errors)};
        const PolynomialSpace space(box.coordinates());
        const Ties ties = ties_of(space, tie_arrays, n_points_);
        const auto known = merges_of(merges);
        const Task task{known, {std::get<0>(limits), std::get<1>(limits)}, cut_};
        return unlocked(stop, [&](StopToken& token) {
            return std::make_unique<DecisionTree>(linkage::boxes::follow(box, ties, task, token));
        });
    }

   private:
    std::vector<std::pair<std::int64_t, std::int64_t>> merges_of(
        const Matrix<const std::int64_t>& merges) const {
        expect(merges.shape(0) == 0 || merges.shape(1) == 2, "A merge joins two nodes.");
        expect(merges.shape(0) < n_points_, "There are fewer merges than points.");
        std::vector<std::pair<std::int64_t, std::int64_t>> result;
        std::vector<bool> joined(2 * n_points_, false);
        for (std::size_t i = 0; i < merges.shape(0); ++i) {
            const auto row = view_of(merges).row(i);
            for (const std::int64_t node : row) {
                const auto place = static_cast<std::size_t>(node);
                expect(node >= 0 && place < n_points_ + i && !joined[place],
                       "A merge joins two nodes that are there and on top.");
                joined[place] = true;
            }
            result.emplace_back(row[0], row[1]);
        }
        return result;
    }

    std::vector<double> numbers_;
    std::vector<std::int64_t> twins_;
    std::size_t n_metrics_, n_points_;
    bool products_;
    Kind kind_;
    Cut cut_;
};

Result<std::int64_t> leaves_of(const DecisionTree& tree) {
    const std::size_t size = tree.leaves.empty() ? 0 : tree.leaves.front().left.size();
    std::vector<std::int64_t> numbers;
    numbers.reserve(tree.leaves.size() * 2 * size);
    for (const Forest& forest : tree.leaves) {
        numbers.insert(numbers.end(), forest.left.begin(), forest.left.end());
        numbers.insert(numbers.end(), forest.right.begin(), forest.right.end());
    }
    return array_of(std::move(numbers), {tree.leaves.size(), 2, size});
}

Result<std::int64_t> labels_of(const DecisionTree& tree) {
    const std::size_t n = tree.labels.empty() ? 0 : tree.labels.front().size();
    std::vector<std::int64_t> numbers;
    numbers.reserve(tree.labels.size() * n);
    for (const auto& labels : tree.labels) {
        numbers.insert(numbers.end(), labels.begin(), labels.end());
    }
    return array_of(std::move(numbers), {tree.labels.size(), n});
}

Result<std::int64_t> common_of(const DecisionTree& tree) {
    std::vector<std::int64_t> numbers;
    for (const auto& [a, b] : tree.common) {
        numbers.push_back(a);
        numbers.push_back(b);
    }
    return array_of(std::move(numbers), {tree.common.size(), 2});
}

void set_values(DecisionTree& tree, Integers values) {
    expect(tree.complete, "Only a complete tree has values.");
    expect(values.shape(0) == tree.leaves.size(), "There must be a value for every leaf.");
    tree.set_values(span_of(values));
}

Part part_of(const DecisionTree& tree, std::int64_t root, const Matrix<const double>& intervals,
             const Matrix<const double>& vertices) {
    const Coordinates& coordinates = tree.space().coordinates();
    expect(tree.complete && tree.leaves.empty(), "The leaves of the tree have no values yet.");
    expect(intervals.shape(0) == 2 && intervals.shape(1) == coordinates.n_intervals,
           "There must be two ends of every interval.");
    expect(vertices.shape(0) == coordinates.n_vertices &&
               (vertices.shape(0) == 0 || vertices.shape(1) == coordinates.n_vertices),
           "There must be as many vertices as the box has.");
    expect(tree.holds(root), "There is no such place in the tree.");
    return tree.space().part(view_of(intervals).row(0), view_of(intervals).row(1),
                             {vertices.data(), vertices.size()});
}

std::tuple<std::int64_t, std::int64_t, std::size_t, std::int64_t, bool, Result<double>> look(
    const DecisionTree& tree, std::int64_t root, Matrix<const double> intervals,
    Matrix<const double> vertices) {
    const Part part = part_of(tree, root, intervals, vertices);
    Outlook outlook = [&] {
        nb::gil_scoped_release release;
        return tree.look(root, part);
    }();
    return {outlook.least, outlook.most,   outlook.n_leaves,
            outlook.root,  outlook.coarse, array_of(std::move(outlook.openness))};
}

std::tuple<std::int64_t, Result<double>, Result<std::int64_t>> linear(
    const DecisionTree& tree, std::int64_t root, Matrix<const double> intervals,
    Matrix<const double> vertices) {
    LinearTree found = tree.linear(root, part_of(tree, root, intervals, vertices));
    const std::size_t rows = found.children.size() / 2, width = tree.space().n_variables() + 2;
    return {found.root, array_of(std::move(found.numbers), {rows, width}),
            array_of(std::move(found.children), {rows, 2})};
}

}  // namespace

void bind_linkage_boxes(nb::module_& room) {
    nb::class_<DecisionTree>(room, "DecisionTree")
        .def_ro("complete", &DecisionTree::complete)
        .def_ro("root", &DecisionTree::root)
        .def_prop_ro("leaves", &leaves_of, nb::rv_policy::move)
        .def_prop_ro("labels", &labels_of, nb::rv_policy::move)
        .def_prop_ro("common", &common_of, nb::rv_policy::move)
        .def_prop_ro(
            "movements",
            [](const DecisionTree& tree) { return array_of(std::vector<double>(tree.movements)); },
            nb::rv_policy::move)
        .def("set_values", &set_values, "values"_a.noconvert())
        .def("look", &look, "root"_a, "intervals"_a.noconvert(), "vertices"_a.noconvert())
        .def("linear", &linear, "root"_a, "intervals"_a.noconvert(), "vertices"_a.noconvert());
    nb::class_<Problem>(room, "Problem")
        .def(nb::init<Tensor<const double>, Integers, bool, int, std::pair<std::size_t, bool>>(),
             "data"_a.noconvert(), "twins"_a.noconvert(), "products"_a, "kind"_a, "cut"_a)
        .def("follow", &Problem::follow, "vertices"_a.noconvert(), "power"_a, "errors"_a,
             "ties"_a.noconvert(), "merges"_a.noconvert(), "limits"_a, "stop"_a);
}

}  // namespace certune::bindings
