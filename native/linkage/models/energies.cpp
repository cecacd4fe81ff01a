#include "linkage/models/energies.h"

#include <limits>

#include "numeric/simd8.h"

namespace certune::linkage {

void energy_above(const double* between, const WithinPair& within, double error, double* bars) {
    const double factor = within.factor(), charged = error + energy_rounding * unit;
    for (int k = 0; k < degree; ++k) {
        bars[k] = factor * (2.0 * (1.0 + charged) * between[k] -
                            (1.0 - charged) * (within.first[k] + within.second[k]));
    }
}

CERTUNE_HOT std::size_t next_energy_below(const Frame& frame, int row, double row_size,
                                          const EnergyBars& than, std::size_t begin) {
    const double charged = than.error + energy_rounding * unit;
    const double* own = frame.record(row, row);
    for (std::size_t i = begin; i < than.active.size(); ++i) {
        const int z = than.active[i];
        const double factor = row_size * than.size[i] / (row_size + than.size[i]);
        const double positive = 2.0 * factor * (1.0 - charged);
        const double negative = factor * (1.0 + charged);
        const double* between = frame.record(row, z);
        const double* within = frame.record(z, z);
        int n_above = 0;
        for (int k = 0; k < degree; ++k) {
            n_above += positive * between[k] - negative * (own[k] + within[k]) > than.bars[k];
        }
        if (n_above < degree) return i;
    }
    return than.active.size();
}

CERTUNE_HOT int nearest_energy(const Frame& frame, int row, double row_size,
                               std::span<const int> active, std::span<const double> size,
                               int lane) {
    double least = std::numeric_limits<double>::infinity();
    int nearest = -1;
    const double own = frame.record(row, row)[lane];
    for (std::size_t i = 0; i < active.size(); ++i) {
        const int z = active[i];
        if (z == row) continue;
        const double factor = row_size * size[i] / (row_size + size[i]);
        const double energy =
            factor * (2.0 * frame.record(row, z)[lane] - own - frame.record(z, z)[lane]);
        if (energy < least || nearest < 0) {
            least = energy;
            nearest = z;
        }
    }
    return nearest;
}

std::array<double, degree> united_within(const Frame& frame, int x, int y, double size_x,
                                         double size_y) {
    const double total = size_x + size_y;
    const double share_x = size_x / total, share_y = size_y / total;
    const double* own = frame.record(x, x);
    const double* other = frame.record(y, y);
    const double* between = frame.record(x, y);
    std::array<double, degree> united;
    for (std::size_t k = 0; k < degree; ++k) {
        united[k] = share_x * share_x * own[k] + share_y * share_y * other[k] +
                    2.0 * share_x * share_y * between[k];
    }
    return united;
}

}  // namespace certune::linkage
