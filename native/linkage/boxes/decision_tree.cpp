#include <algorithm>
#include <cmath>
#include <limits>

#include "linkage/boxes/outcomes.h"

namespace certune::linkage::boxes {

namespace {

// A comparison that stays open is worth new records if its remainder exceeds this share of what
// its linear part moves.
constexpr double coarse_share = 0.25;

}  // namespace

std::size_t DecisionTree::add_comparison(const double* difference) {
    comparisons_.push_back({nothing, nothing});
    differences_.insert(differences_.end(), difference, difference + space_.width());
    return comparisons_.size() - 1;
}

void DecisionTree::set_child(std::int64_t parent, bool first, std::int64_t child) {
    if (parent < 0) {
        root = child;
    } else {
        Comparison& comparison = comparisons_[static_cast<std::size_t>(parent)];
        (first ? comparison.first : comparison.second) = child;
    }
}

void DecisionTree::set_values(std::span<const std::int64_t> values) {
    values_.assign(values.begin(), values.end());
    leaves.clear();
    labels.clear();
    root = simplified(root);
}

std::int64_t DecisionTree::simplified(std::int64_t place) {
    if (place < 0) return place;
    Comparison& comparison = comparisons_[static_cast<std::size_t>(place)];
    comparison.first = simplified(comparison.first);
    comparison.second = simplified(comparison.second);
    const std::int64_t first = comparison.first, second = comparison.second;
    // No point of the box takes an outcome that leads to nothing.
    if (first == nothing) return second;
    if (second == nothing) return first;
    const bool leaves_both = first < 0 && second < 0;
    const auto value = [this](std::int64_t leaf) {
        return values_[static_cast<std::size_t>(~leaf)];
    };
    return leaves_both && value(first) == value(second) ? first : place;
}

struct DecisionTree::View {
    const Part& part;
    Outlook outlook;
    std::vector<std::vector<double>> assumed;  // differences that are not negative on the way here
};

Outlook DecisionTree::look(std::int64_t from, const Part& part) const {
    View view{part, {}, {}};
    view.outlook.least = std::numeric_limits<std::int64_t>::max();
    view.outlook.most = std::numeric_limits<std::int64_t>::min();
    view.outlook.openness.assign(movements.size(), 0.0);
    view.outlook.root = visit(from, view);
    return view.outlook;
}

LinearTree DecisionTree::linear(std::int64_t from, const Part& part) const {
    View view{part, {}, {}};
    LinearTree result;
    result.root = linearise(from, view, result);
    return result;
}

namespace {

std::vector<double> turned(const PolynomialSpace& space, const double* difference) {
    std::vector<double> result(difference, difference + space.width());
    for (std::size_t c = 0; c < space.remainder(); ++c) result[c] = -result[c];
    return result;
}

}  // namespace

// What a comparison comes to on the part, by itself or by what was assumed on the way to it.
DecisionTree::Outcome DecisionTree::outcome(std::int64_t place, const View& view,
                                            Range& found) const {
    found = space_.range(difference(place), view.part);
    if (found.lower > 0.0) return Outcome::first;
    if (found.upper < 0.0) return Outcome::second;
    if (view.assumed.empty()) return Outcome::open;
    const std::vector<double> other = turned(space_, difference(place));
    for (const auto& given : view.assumed) {
        if (conditional_lower(space_, difference(place), given.data(), view.part) > 0.0) {
            return Outcome::by_conditions_first;
        }
        if (conditional_lower(space_, other.data(), given.data(), view.part) > 0.0) {
            return Outcome::by_conditions_second;
        }
    }
    return Outcome::open;
}

// Returns the first place below this one at which something is open, so that parts begin there.
std::int64_t DecisionTree::visit(std::int64_t place, View& view) const {
    if (place == nothing) return place;
    if (place < 0) {
        const std::int64_t value = values_[static_cast<std::size_t>(~place)];
        view.outlook.least = std::min(view.outlook.least, value);
        view.outlook.most = std::max(view.outlook.most, value);
        ++view.outlook.n_leaves;
        return place;
    }
    const Comparison& comparison = comparisons_[static_cast<std::size_t>(place)];
    Range found;
    switch (outcome(place, view, found)) {
        case Outcome::first:
            return visit(comparison.first, view);
        case Outcome::second:
            return visit(comparison.second, view);
        case Outcome::by_conditions_first:
            visit(comparison.first, view);
            return place;
        case Outcome::by_conditions_second:
            visit(comparison.second, view);
            return place;
        case Outcome::open:
            break;
    }
    const double* own = difference(place);
    if (own[space_.remainder()] > coarse_share * found.variation) view.outlook.coarse = true;
    add_openness(own, view.part, view.outlook.openness);
    view.assumed.emplace_back(own, own + space_.width());
    visit(comparison.first, view);
    view.assumed.back() = turned(space_, own);
    visit(comparison.second, view);
    view.assumed.pop_back();
    return place;
}

std::int64_t DecisionTree::linearise(std::int64_t place, View& view, LinearTree& result) const {
    if (place == nothing) return place;
    if (place < 0) return ~values_[static_cast<std::size_t>(~place)];
    const Comparison& comparison = comparisons_[static_cast<std::size_t>(place)];
    Range found;
    switch (outcome(place, view, found)) {
        case Outcome::first:
        case Outcome::by_conditions_first:
            return linearise(comparison.first, view, result);
        case Outcome::second:
        case Outcome::by_conditions_second:
            return linearise(comparison.second, view, result);
        case Outcome::open:
            break;
    }
    const double* own = difference(place);
    view.assumed.emplace_back(own, own + space_.width());
    const std::int64_t first = linearise(comparison.first, view, result);
    view.assumed.back() = turned(space_, own);
    const std::int64_t second = linearise(comparison.second, view, result);
    view.assumed.pop_back();
    const Linear linear = space_.linearised(own, view.part);
    result.numbers.push_back(linear.value);
    result.numbers.insert(result.numbers.end(), linear.slopes.begin(), linear.slopes.end());
    result.numbers.push_back(linear.error);
    result.children.push_back(first);
    result.children.push_back(second);
    return static_cast<std::int64_t>(result.children.size() / 2 - 1);
}

void DecisionTree::add_openness(const double* difference, const Part& part,
                                std::span<double> result) const {
    std::vector<double> slopes(space_.n_variables());
    space_.gradient(difference, part, slopes);
    const double scale = 1.0 / (std::abs(difference[0]) + difference[space_.spread()]);
    const Coordinates& coordinates = space_.coordinates();
    for (std::size_t i = 0; i < coordinates.n_intervals; ++i) {
        result[i] += scale * std::abs(slopes[i]) * part.reach[i];
    }
    if (coordinates.n_vertices == 0) return;
    const std::size_t size = coordinates.n_vertices - 1;
    const auto at_corner = [&](std::size_t corner) {
        double value = 0.0;
        for (std::size_t k = 0; k < size; ++k) {
            value += slopes[coordinates.n_intervals + k] * part.corners[corner * size + k];
        }
        return value;
    };
    std::size_t place = coordinates.n_intervals;
    for (std::size_t k = 1; k < coordinates.n_vertices; ++k) {
        for (std::size_t j = 0; j < k; ++j) {
            result[place++] += 0.5 * scale * std::abs(at_corner(k) - at_corner(j));
        }
    }
}

}  // namespace certune::linkage::boxes
