#include "logistic/newton.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "numeric/compensated.h"
#include "numeric/products.h"

namespace certune::logistic {

namespace {

using numeric::unit_roundoff;
using Vector = std::vector<double>;

constexpr double infinity = std::numeric_limits<double>::infinity();

// A factor is tried if no margin differs by more than this from where it belongs to.
constexpr double reused = 0.3;
// Steps are taken in plain precision until they move no margin by more than this.
constexpr double settled_reach = 1e-11;

// What a row adds to the gradient of the loss, by its chance: n_rows times as much.
void weigh(const Design& design, Vector& chances) {
    for (std::size_t i = 0; i < design.weights.size(); ++i) chances[i] *= design.weights[i];
}

double chance_of(double margin) { return 1.0 / (1.0 + std::exp(margin)); }

// Replaces a vector by the solution of L x = vector.
void solve_forward(const Factor& factor, Vector& vector) {
    for (std::size_t j = 0; j < vector.size(); ++j) {
        const std::span<const double> column = factor.columns.row(j);
        vector[j] /= column[j];
        for (std::size_t i = j + 1; i < vector.size(); ++i) vector[i] -= vector[j] * column[i];
    }
}

// Replaces a vector by the solution of L^T x = vector.
void solve_backward(const Factor& factor, Vector& vector) {
    for (std::size_t j = vector.size(); j-- > 0;) {
        const std::span<const double> column = factor.columns.row(j);
        double total = vector[j];
        for (std::size_t i = j + 1; i < vector.size(); ++i) total -= column[i] * vector[i];
        vector[j] = total / column[j];
    }
}

double norm(const Vector& vector) {
    double square = 0.0;
    for (const double entry : vector) square += entry * entry;
    return std::sqrt(square);
}

// Largest absolute change of a margin by a step.
double largest_change(const Design& design, std::span<const double> step) {
    double largest = 0.0;
    for (const double change : numeric::transposed_product(design.columns, step)) {
        largest = std::max(largest, std::abs(change));
    }
    return largest;
}

void subtract(Vector& vector, const Vector& other) {
    for (std::size_t j = 0; j < vector.size(); ++j) vector[j] -= other[j];
}

// A point on the way to the minimum.
struct Approach {
    Vector point;
    double moved = 0.0;    // margins have moved by at most this from where the factor belongs to
    bool settled = false;  // the steps have shrunk fast and stayed close
};

// Takes steps with one factor, in plain precision, for a penalty with constant gradient.
Approach approach(const Design& design, const Penalty& penalty, const Factor& factor,
                  const Start& start, StopToken& stop) {
    Approach way{Vector(start.point.begin(), start.point.end()), start.moved, false};
    const Vector constant = penalty.gradient(start.point);
    const auto n_rows = static_cast<double>(design.n_rows());
    double before = reused;
    while (way.moved <= reused && !stop.stop_requested()) {
        Vector chances = numeric::transposed_product(design.columns, way.point);
        for (double& entry : chances) entry = chance_of(entry);
        weigh(design, chances);
        Vector step = numeric::transposed_product(design.rows, chances);
        for (std::size_t j = 0; j < step.size(); ++j) step[j] = step[j] / n_rows - constant[j];
        solve_forward(factor, step);
        solve_backward(factor, step);
        const double reach = largest_change(design, step);
        for (std::size_t j = 0; j < step.size(); ++j) way.point[j] += step[j];
        way.moved += reach;
        if (!(reach <= 0.5 * before)) return way;
        if (reach <= settled_reach) {
            way.settled = true;
            return way;
        }
        before = reach;
    }
    return way;
}

}  // namespace

std::vector<double> Penalty::gradient(std::span<const double> point) const {
    Vector result(linear.begin(), linear.end());
    if (!quadratic.empty()) {
        for (std::size_t j = 0; j < result.size(); ++j) result[j] += quadratic[j] * point[j];
    }
    for (double& entry : result) entry *= lam;
    return result;
}

Residual accurate_residual(const Design& design, std::span<const double> point,
                           std::span<const double> penalty_gradient) {
    Residual result;
    const auto n_rows = static_cast<double>(design.n_rows());
    const bool weighted = !design.weights.empty();
    // Roundings of a chance: of the exponential, the sum and the quotient, and of the product.
    const double n_roundings = weighted ? 5.0 : 4.0;
    const Vector margins = numeric::accurate_transposed_product(design.columns, point);
    result.chances.resize(design.n_rows());
    double spread = 0.0;
    for (std::size_t i = 0; i < margins.size(); ++i) {
        const double chance = chance_of(margins[i]);
        const double curvature = std::max(chance * (1.0 - chance), 1e-300);
        const double error =
            n_roundings * unit_roundoff * (curvature * (std::abs(margins[i]) + 1.0) + chance);
        // An error e of the chance changes the gradient by v e a_i / m, and the Hessian is the mean
        // of v curvature a_i a_i^T: in the norm of H^-1 that is sqrt(mean(v e^2 / curvature)).
        spread += (weighted ? design.weights[i] : 1.0) * (error * error) / curvature;
        result.chances[i] = chance;
    }
    result.spread = std::sqrt(spread / n_rows);
    Vector pulls = result.chances;
    weigh(design, pulls);
    result.gradient = numeric::accurate_transposed_product(design.rows, pulls);
    double rounding = 0.0;
    for (std::size_t j = 0; j < result.gradient.size(); ++j) {
        double& entry = result.gradient[j];
        entry = penalty_gradient[j] - entry / n_rows;
        const double size = std::abs(penalty_gradient[j]) + std::abs(entry);
        rounding += size * size;
    }
    result.rounding = 8.0 * unit_roundoff * std::sqrt(rounding);
    return result;
}

double distance_bound(double nu, double inverse_norm, double largest_row) {
    const double reach = largest_row * inverse_norm * nu;
    if (!(reach < 0.5)) return infinity;
    // t / (1 - exp(-t)) <= 1 + t.
    return inverse_norm * nu * (1.0 - std::log1p(-reach));
}

Solution refined(const Design& design, const Penalty& penalty, const Factor& factor,
                 const Start& start, StopToken& stop) {
    Vector point(start.point.begin(), start.point.end());
    double moved = start.moved;
    Solution best{point, infinity, {}, {}};
    for (int round = 0; round < most_refinements && !stop.stop_requested(); ++round) {
        Residual residual = accurate_residual(design, point, penalty.gradient(point));
        Vector& step = residual.gradient;
        solve_forward(factor, step);
        const double nu =
            factor_slack * norm(step) + factor.inverse_norm * residual.rounding + residual.spread;
        const double grown = std::exp(0.5 * moved);
        const double radius =
            distance_bound(grown * nu, grown * factor.inverse_norm, design.largest_row);
        const double gain = radius < best.radius ? radius / best.radius : 1.0;
        if (radius < best.radius || round == 0) {
            best.point = point;
            best.radius = radius;
            best.chances = std::move(residual.chances);
        }
        if (best.radius <= start.target || gain > 0.5) break;
        solve_backward(factor, step);
        moved += largest_change(design, step);
        subtract(point, step);
    }
    const Penalty rate{-1.0, penalty.linear, penalty.quadratic};
    best.slope = rate.gradient(best.point);
    solve_forward(factor, best.slope);
    solve_backward(factor, best.slope);
    return best;
}

std::vector<Solution> solved_near(const Design& design, const Factor& factor,
                                  const NearProblems& problems, StopToken& stop) {
    std::vector<Solution> solutions(problems.lams.size());
    for (std::size_t k = 0; k < solutions.size() && !stop.stop_requested(); ++k) {
        const std::span<const double> first = problems.starts.row(k);
        Vector way(first.begin(), first.end());
        for (std::size_t j = 0; j < way.size(); ++j) way[j] -= problems.anchor[j];
        const Penalty penalty{problems.lams[k], problems.linear, {}};
        const Start start{first, largest_change(design, way), problems.target};
        const Approach near = approach(design, penalty, factor, start, stop);
        solutions[k].radius = infinity;
        if (near.settled) {
            const Start settled{near.point, near.moved, problems.target};
            solutions[k] = refined(design, penalty, factor, settled, stop);
        }
    }
    return solutions;
}

}  // namespace certune::logistic
