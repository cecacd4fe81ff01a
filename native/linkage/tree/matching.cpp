#include "linkage/tree/matching.h"

#include <algorithm>
#include <limits>

namespace certune::linkage {

std::int64_t heaviest_matching(MatrixView<const std::int64_t> weights) {
    constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
    const std::size_t rows = weights.rows, columns = weights.columns;
    std::vector<std::size_t> row_of(columns + 1, none);  // the last column has the row that joins
    std::vector<std::int64_t> row_potential(rows, 0), column_potential(columns + 1, 0);
    std::vector<std::int64_t> distance(columns);
    std::vector<std::size_t> came_from(columns, none);
    std::vector<bool> done(columns + 1);
    for (std::size_t row = 0; row < rows; ++row) {
        row_of[columns] = row;
        std::fill(distance.begin(), distance.end(), std::numeric_limits<std::int64_t>::max());
        std::fill(done.begin(), done.end(), false);
        std::size_t column = columns;
        while (row_of[column] != none) {
            done[column] = true;
            const std::size_t here = row_of[column];
            std::size_t nearest = none;
            for (std::size_t j = 0; j < columns; ++j) {
                if (done[j]) continue;
                const std::int64_t reduced =
                    -weights(here, j) - row_potential[here] - column_potential[j];
                if (reduced < distance[j]) {
                    distance[j] = reduced;
                    came_from[j] = column;
                }
                if (nearest == none || distance[j] < distance[nearest]) nearest = j;
            }
            const std::int64_t step = distance[nearest];
            for (std::size_t j = 0; j <= columns; ++j) {
                if (done[j]) {
                    row_potential[row_of[j]] += step;
                    column_potential[j] -= step;
                } else if (j < columns) {
                    distance[j] -= step;
                }
            }
            column = nearest;
        }
        while (column != columns) {
            row_of[column] = row_of[came_from[column]];
            column = came_from[column];
        }
    }
    std::int64_t total = 0;
    for (std::size_t j = 0; j < columns; ++j) {
        if (row_of[j] != none) total += weights(row_of[j], j);
    }
    return total;
}

std::vector<std::int64_t> matched_points(std::span<const std::int64_t> target,
                                         MatrixView<const std::int64_t> partitions,
                                         StopToken& stop) {
    std::vector<std::int64_t> matched(partitions.rows, 0), common;
    const auto number_of_codes = [](std::span<const std::int64_t> codes) {
        return static_cast<std::size_t>(*std::max_element(codes.begin(), codes.end()) + 1);
    };
    if (target.empty()) return matched;
    const std::size_t n_classes = number_of_codes(target);
    for (std::size_t i = 0; i < partitions.rows && !stop.stop_requested(); ++i) {
        const auto labels = partitions.row(i);
        const std::size_t n_clusters = number_of_codes(labels);
        const bool by_classes = n_classes <= n_clusters;
        const std::size_t rows = by_classes ? n_classes : n_clusters;
        const std::size_t columns = by_classes ? n_clusters : n_classes;
        common.assign(rows * columns, 0);
        for (std::size_t p = 0; p < labels.size(); ++p) {
            const auto row = static_cast<std::size_t>(by_classes ? target[p] : labels[p]);
            const auto column = static_cast<std::size_t>(by_classes ? labels[p] : target[p]);
            ++common[row * columns + column];
        }
        matched[i] = heaviest_matching({common.data(), rows, columns});
    }
    return matched;
}

}  // namespace certune::linkage
