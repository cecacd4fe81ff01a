#include "linkage/finish/covering.h"

#include <algorithm>

#include "linkage/finish/polish.h"

namespace certune::linkage {

namespace {

std::size_t at(std::int64_t place) { return static_cast<std::size_t>(place); }

// Intervals of the leaves after the zones of their splits were polished. A leaf lies on one side of
// every split above it; splits come after those above them.
std::vector<double> leaf_bounds(const LeafTable& leaves) {
    const auto& [intervals, info, splits] = leaves;
    std::vector<double> bounds(intervals.data, intervals.data + 2 * intervals.rows);
    std::vector<double> limits(2 * splits.rows);
    for (std::size_t s = 0; s < splits.rows; ++s) {
        limits[2 * s] = splits(s, column::low);
        limits[2 * s + 1] = splits(s, column::high);
        const auto before = static_cast<std::int64_t>(splits(s, column::before));
        const auto after = static_cast<std::int64_t>(splits(s, column::after));
        if (before >= 0) limits[2 * s] = std::max(limits[2 * s], limits[2 * at(before)]);
        if (after >= 0) limits[2 * s + 1] = std::min(limits[2 * s + 1], limits[2 * at(after) + 1]);
    }
    // An edge or a plain cut may lie inside; zones only ever shrink.
    for (std::size_t i = 0; i < info.rows; ++i) {
        if (info(i, 0) >= 0) bounds[2 * i] = std::max(bounds[2 * i], limits[2 * at(info(i, 0))]);
        if (info(i, 1) >= 0) {
            bounds[2 * i + 1] = std::min(bounds[2 * i + 1], limits[2 * at(info(i, 1)) + 1]);
        }
    }
    return bounds;
}

}  // namespace

RankedIntervals ranked_leaves(const LeafTable& leaves, std::span<const std::int64_t> ranks,
                              std::int64_t highest, MatrixView<const double> ranges) {
    const auto bounds = leaf_bounds(leaves);
    RankedIntervals found;
    for (std::size_t r = 0; r < ranges.rows; ++r) {
        for (std::size_t i = 0; i < leaves.info.rows; ++i) {
            const double low = std::max(bounds[2 * i], ranges(r, 0));
            const double high = std::min(bounds[2 * i + 1], ranges(r, 1));
            if (!(low < high)) continue;
            const std::int64_t which = leaves.info(i, 2);
            found.low.push_back(low);
            found.high.push_back(high);
            found.least.push_back(which >= 0 ? ranks[at(which)] : 0);
            found.most.push_back(which >= 0 ? ranks[at(which)] : highest);
        }
    }
    return found;
}

Envelope envelope(std::span<const double> low, std::span<const double> high,
                  std::span<const std::int64_t> least, std::span<const std::int64_t> most) {
    Envelope found;
    found.positions.assign(low.begin(), low.end());
    found.positions.insert(found.positions.end(), high.begin(), high.end());
    std::sort(found.positions.begin(), found.positions.end());
    found.positions.erase(std::unique(found.positions.begin(), found.positions.end()),
                          found.positions.end());
    const std::size_t count = found.positions.empty() ? 0 : found.positions.size() - 1;
    found.bottom.assign(count, std::int64_t{1} << 62);
    found.top.assign(count, -1);
    for (std::size_t i = 0; i < low.size(); ++i) {
        if (!(low[i] < high[i])) continue;
        const auto first = std::upper_bound(found.positions.begin(), found.positions.end(), low[i]);
        auto j = static_cast<std::size_t>(first - found.positions.begin()) - 1;
        for (; j < count && found.positions[j] < high[i]; ++j) {
            found.bottom[j] = std::min(found.bottom[j], least[i]);
            found.top[j] = std::max(found.top[j], most[i]);
        }
    }
    return found;
}

std::vector<std::int64_t> unsettled_splits(MatrixView<const double> splits,
                                           const EnvelopeView& cover) {
    std::vector<double> starts, stops;
    for (std::size_t i = 0; i < cover.bottom.size(); ++i) {
        if (cover.bottom[i] == cover.top[i]) continue;
        starts.push_back(cover.positions[i]);
        stops.push_back(cover.positions[i + 1]);
    }
    std::vector<std::int64_t> found;
    for (std::size_t s = 0; s < splits.rows; ++s) {
        const auto stop = std::upper_bound(stops.begin(), stops.end(), splits(s, column::low));
        if (stop == stops.end()) continue;
        if (splits(s, column::high) > starts[at(stop - stops.begin())]) {
            found.push_back(static_cast<std::int64_t>(s));
        }
    }
    return found;
}

RankedIntervals joined(const EnvelopeView& cover, std::span<const double> special) {
    RankedIntervals found;
    for (std::size_t i = 0; i < cover.bottom.size(); ++i) {
        const std::int64_t bottom = cover.bottom[i], top = cover.top[i];
        const bool settled = bottom == top;
        bool joins = false;
        if (!found.low.empty()) {
            const bool was_settled = found.least.back() == found.most.back();
            joins = settled ? found.least.back() == bottom && found.most.back() == top
                            : !was_settled && !std::binary_search(special.begin(), special.end(),
                                                                  cover.positions[i]);
        }
        if (joins) {
            found.least.back() = std::min(found.least.back(), bottom);
            found.most.back() = std::max(found.most.back(), top);
            found.high.back() = cover.positions[i + 1];
        } else {
            found.low.push_back(cover.positions[i]);
            found.high.push_back(cover.positions[i + 1]);
            found.least.push_back(bottom);
            found.most.push_back(top);
        }
    }
    return found;
}

}  // namespace certune::linkage
