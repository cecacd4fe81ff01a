#include "linkage/tree/heights.h"

#include <algorithm>

namespace certune::linkage {

std::vector<double> merge_values(Kind kind, MatrixView<const double> values,
                                 std::span<const std::int64_t> left,
                                 std::span<const std::int64_t> right) {
    const std::size_t n = values.rows;
    std::vector<std::vector<std::size_t>> members(2 * n - 1);
    std::vector<double> within(2 * n - 1, 0.0);  // sums over unordered pairs of members
    std::vector<double> found(n - 1);
    for (std::size_t p = 0; p < n; ++p) members[p] = {p};
    for (std::size_t node = n; node < 2 * n - 1; ++node) {
        const auto a = static_cast<std::size_t>(left[node]);
        const auto b = static_cast<std::size_t>(right[node]);
        const double first = values.row(members[a][0])[members[b][0]];
        double sum = 0.0, low = first, high = first;
        for (const auto p : members[a]) {
            const auto row = values.row(p);
            double part = 0.0;
            for (const auto q : members[b]) {
                part += row[q];
                low = std::min(low, row[q]);
                high = std::max(high, row[q]);
            }
            sum += part;
        }
        const auto n_a = static_cast<double>(members[a].size());
        const auto n_b = static_cast<double>(members[b].size());
        const double mean = sum / (n_a * n_b);
        const double apart = mean - within[a] / (n_a * n_a) - within[b] / (n_b * n_b);
        double& value = found[node - n];
        switch (kind) {
            case Kind::mean:
                value = mean;
                break;
            case Kind::minmax:
                value = 0.5 * (low + high);
                break;
            case Kind::minimum:
                value = low;
                break;
            case Kind::maximum:
                value = high;
                break;
            case Kind::energy:
                value = 2.0 * n_a * n_b / (n_a + n_b) * apart;
                break;
        }
        within[node] = within[a] + within[b] + sum;
        members[node] = std::move(members[a]);
        members[node].insert(members[node].end(), members[b].begin(), members[b].end());
        members[b].clear();
    }
    return found;
}

}  // namespace certune::linkage
