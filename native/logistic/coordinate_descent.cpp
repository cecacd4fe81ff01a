#include "logistic/coordinate_descent.h"

#include <algorithm>
#include <cmath>

namespace certune::logistic {

namespace {

// What minimises curvature * z^2 / 2 - target * z + weight * |z|, times the curvature.
double shrunk(double target, double weight) {
    if (target > weight) return target - weight;
    if (target < -weight) return target + weight;
    return 0.0;
}

std::vector<double> product(MatrixView<const double> matrix, std::span<const double> vector) {
    std::vector<double> result(matrix.rows, 0.0);
    for (std::size_t i = 0; i < matrix.rows; ++i) {
        for (std::size_t j = 0; j < matrix.columns; ++j) result[i] += matrix(i, j) * vector[j];
    }
    return result;
}

}  // namespace

std::vector<double> penalised_minimum(const PenalisedQuadratic& objective,
                                      std::span<const double> start, const Patience& patience,
                                      StopToken& stop) {
    const auto& [hessian, linear, weights, non_negative] = objective;
    const std::size_t size = start.size(), n_weights = weights.size();
    const double smallest = n_weights > 0 ? *std::min_element(weights.begin(), weights.end()) : 0.0;
    std::vector<double> z(start.begin(), start.end());
    std::vector<double> along = product(hessian, z);  // the Hessian times z
    bool settled = false;
    for (std::size_t sweep = 0; sweep < patience.n_sweeps && !settled; ++sweep) {
        if (stop.stop_requested()) break;
        settled = true;
        for (std::size_t j = 0; j < size; ++j) {
            const double curvature = hessian(j, j);
            if (curvature <= 0.0) continue;
            double target = curvature * z[j] - (along[j] - linear[j]);
            if (j < n_weights) {
                target = shrunk(target, weights[j]);
                if (non_negative) target = std::max(target, 0.0);
            }
            const double change = target / curvature - z[j];
            if (change == 0.0) continue;
            z[j] += change;
            for (std::size_t i = 0; i < size; ++i) along[i] += change * hessian(i, j);
            const double weight = j < n_weights ? weights[j] : smallest;
            settled = settled && std::abs(change) * curvature <= patience.tolerance * weight;
        }
    }
    return z;
}

}  // namespace certune::logistic
