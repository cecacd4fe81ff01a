#include "numeric/products.h"

#include "numeric/compensated.h"

namespace certune::numeric {

std::vector<double> accurate_transposed_product(MatrixView<const double> matrix,
                                                std::span<const double> vector) {
    std::vector<double> total(matrix.columns, 0.0), lost(matrix.columns, 0.0);
    for (std::size_t i = 0; i < matrix.rows; ++i) {
        const std::span<const double> row = matrix.row(i);
        const double factor = vector[i];
        const Halves parts = halves(factor);
        for (std::size_t j = 0; j < matrix.columns; ++j) {
            const double product = row[j] * factor;
            const double raised = total[j] + product;
            lost[j] += product_error(halves(row[j]), parts, product) +
                       sum_error(total[j], product, raised);
            total[j] = raised;
        }
    }
    for (std::size_t j = 0; j < matrix.columns; ++j) total[j] += lost[j];
    return total;
}

std::vector<double> transposed_product(MatrixView<const double> matrix,
                                       std::span<const double> vector) {
    std::vector<double> total(matrix.columns, 0.0);
    for (std::size_t i = 0; i < matrix.rows; ++i) {
        const std::span<const double> row = matrix.row(i);
        const double factor = vector[i];
        for (std::size_t j = 0; j < matrix.columns; ++j) total[j] += factor * row[j];
    }
    return total;
}

}  // namespace certune::numeric
