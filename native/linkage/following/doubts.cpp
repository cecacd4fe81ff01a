#include "linkage/following/doubts.h"

#include "linkage/models/fixed_extremes.h"
#include "numeric/simd8.h"

namespace certune::linkage {

namespace {

// Innermost loops: places of records instead of classes.
struct Bar {
    const double* own;
    double factor;
    std::int64_t flip;
};

CERTUNE_HOT std::size_t find_below(const double* flat, const std::uint8_t* known, const Bar& bar,
                                   Doubt merged, const int* rivals, std::size_t count,
                                   Doubt* doubts) {
    std::size_t found = 0;
    const int rows[] = {merged.row, merged.rival};
    for (std::size_t i = 0; i < count; ++i) {
        const int rival = rivals[i];
        if (rival == merged.row || rival == merged.rival) continue;
        for (const int row : rows) {
            const std::size_t place = pair_place(row, rival);
            if (known[place] == 0 ||
                simd8::any_below_scaled(flat + degree * place, bar.own, bar.factor, bar.flip)) {
                doubts[found++] = {row, rival};
            }
        }
    }
    return found;
}

struct Weights {
    double p, q;
};

CERTUNE_HOT std::size_t unite_below(double* flat, std::uint8_t* known, const Bar& bar, Doubt merged,
                                    int node, const Weights& weights, const int* rivals,
                                    std::size_t count, Doubt* doubts) {
    std::size_t found = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const int rival = rivals[i];
        if (rival == merged.row || rival == merged.rival) continue;
        const double* first = flat + degree * pair_place(merged.row, rival);
        const double* second = flat + degree * pair_place(merged.rival, rival);
        if (simd8::any_below_scaled(first, bar.own, bar.factor, bar.flip)) {
            doubts[found++] = {merged.row, rival};
        }
        if (simd8::any_below_scaled(second, bar.own, bar.factor, bar.flip)) {
            doubts[found++] = {merged.rival, rival};
        }
        const std::size_t place = pair_place(node, rival);
        simd8::blend(first, weights.p, second, weights.q, flat + degree * place,
                     flat + degree * place);
        known[place] = 1;
    }
    return found;
}

}  // namespace

void list_doubtful_averages(const Panel& panel, TreeRecords& records, int p, int q,
                            std::span<const int> rivals, std::vector<Doubt>& doubts) {
    doubts.resize(2 * rivals.size());
    const Bar bar{records.at(p, q), panel.factor, panel.flip};
    doubts.resize(find_below(records.all(), records.known(), bar, {p, q}, rivals.data(),
                             rivals.size(), doubts.data()));
}

void unite_doubtful_averages(const Panel& panel, TreeRecords& records, const FollowedTree& tree,
                             int node, std::span<const int> rivals, std::vector<Doubt>& doubts) {
    const auto at = [](int place) { return static_cast<std::size_t>(place); };
    const int p = tree.left[at(node)], q = tree.right[at(node)];
    const double total = tree.size[at(node)];
    doubts.resize(2 * rivals.size());
    const Bar bar{records.at(p, q), panel.factor, panel.flip};
    const Weights weights{tree.size[at(p)] / total, tree.size[at(q)] / total};
    doubts.resize(unite_below(records.all(), records.known(), bar, {p, q}, node, weights,
                              rivals.data(), rivals.size(), doubts.data()));
}

void list_doubtful_extremes(const Panel& panel, TreeRecords& records, int p, int q,
                            const EndBars& bars, std::span<const int> rivals,
                            std::vector<Doubt>& doubts) {
    const double side = panel.reading.sign > 0 ? 1.0 : -1.0;
    const double low = side * bars.low, high = side * bars.high;
    doubts.clear();
    for (const int rival : rivals) {
        if (rival == p || rival == q) continue;
        for (const int row : {p, q}) {
            const double* record = records.at(row, rival);
            if (!records.knows(row, rival) ||
                !(side * end_value(panel.reading, record, false) > low &&
                  side * end_value(panel.reading, record, true) > high)) {
                doubts.push_back({row, rival});
            }
        }
    }
}

bool clears_plainly(const Panel& panel, TreeRecords& records, int p, int q,
                    std::span<const int> rivals) {
    if (!records.knows(p, q)) return false;
    const double* own = records.at(p, q);
    const double side = panel.reading.sign > 0 ? 1.0 : -1.0;
    for (const int rival : rivals) {
        if (rival == p || rival == q) continue;
        for (const int row : {p, q}) {
            if (!records.knows(row, rival)) return false;
            const double* record = records.at(row, rival);
            if (panel.reading.form == Form::average) {
                if (simd8::any_below_scaled(record, own, panel.factor, panel.flip)) return false;
                continue;
            }
            for (const bool high_end : {false, true}) {
                const double bar = panel.factor * end_value(panel.reading, own, high_end);
                if (!(side * end_value(panel.reading, record, high_end) > side * bar)) {
                    return false;
                }
            }
        }
    }
    return true;
}

}  // namespace certune::linkage
