#include "linkage/models/pair_functions.h"

#include <algorithm>
#include <limits>

namespace certune::linkage {

Extent extent_of_pairs(const PairFunctions& pairs, std::span<const std::int64_t> labels,
                       Interval interval) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    Extent found{infinity, -infinity};
    const auto include = [&found](double value) {
        found.smallest = std::min(found.smallest, value);
        found.largest = std::max(found.largest, value);
    };
    for (std::size_t a = 0; a < labels.size(); ++a) {
        const auto first = pairs.first.row(a), second = pairs.second.row(a);
        for (std::size_t b = 0; b < a; ++b) {
            if (labels[a] == labels[b]) continue;
            if (pairs.mode == Mode::moving) {
                include(first[b] + interval.low * second[b]);
                include(first[b] + interval.high * second[b]);
            } else {
                include(pairs.mode == Mode::affine ? second[b] : first[b]);
            }
        }
    }
    return found;
}

MembersByLabel::MembersByLabel(std::span<const std::int64_t> labels, int clusters)
    : members(labels.size()), start(static_cast<std::size_t>(clusters) + 1, 0) {
    for (const auto label : labels) ++start[static_cast<std::size_t>(label) + 1];
    for (std::size_t x = 1; x < start.size(); ++x) start[x] += start[x - 1];
    std::vector<int> next(start.begin(), start.end() - 1);
    for (std::size_t p = 0; p < labels.size(); ++p) {
        const auto place = next[static_cast<std::size_t>(labels[p])]++;
        members[static_cast<std::size_t>(place)] = static_cast<int>(p);
    }
}

}  // namespace certune::linkage
