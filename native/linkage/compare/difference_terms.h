#pragma once

// The difference of the values of two cluster pairs as a sum over pairs of points.

#include <cstddef>
#include <span>

#include "linkage/models/pair_functions.h"

namespace certune::linkage {

// Wide enough for the coefficients of energies: below n^7 in the size n of three clusters.
__extension__ using Wide = __int128;

// Members of two pairs of clusters, (row, near) and (rival_row, rival).
struct ComparedMembers {
    std::span<const int> row, near, rival_row, rival;
    bool share_row = true;  // are the rows one cluster?
};

// Calls use(a, b, weight) for each pair of points of the difference of two averages or energies,
// (row, near) less its rival, with integer weights up to a positive factor.
template <class Use>
void for_each_term(Kind kind, const ComparedMembers& compared, const Use& use) {
    const auto& [a, b, c, d, share_row] = compared;
    const auto between = [&](std::span<const int> x, std::span<const int> y, Wide weight) {
        for (const int p : x) {
            for (const int q : y) use(p, q, weight);
        }
    };
    const auto size = [](std::span<const int> members) -> Wide {
        return static_cast<Wide>(members.size());
    };
    if (kind != Kind::energy) {
        between(a, b, size(d) * (share_row ? 1 : size(c)));
        between(c, d, -size(b) * (share_row ? 1 : size(a)));
        return;
    }
    // e(a, b) / 2 = (S(a, b) - |b| / |a| W(a) - |a| / |b| W(b)) / (|a| + |b|), W the sum over
    // unordered pairs within a cluster.
    const auto within = [&](std::span<const int> x, Wide weight) {
        for (std::size_t i = 0; i < x.size(); ++i) {
            for (std::size_t j = 0; j < i; ++j) use(x[i], x[j], weight);
        }
    };
    const auto energy = [&](std::span<const int> x, std::span<const int> y, Wide factor) {
        const Wide part = factor / (size(x) + size(y));
        between(x, y, part);
        within(x, -part / size(x) * size(y));
        within(y, -part / size(y) * size(x));
    };
    Wide whole = (size(a) + size(b)) * (size(c) + size(d)) * size(a) * size(b) * size(d);
    if (!share_row) whole *= size(c);
    energy(a, b, whole);
    energy(c, d, -whole);
}

}  // namespace certune::linkage
