#include "linkage/models/contraction.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "numeric/buffer.h"
#include "numeric/simd8.h"

namespace certune::linkage {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

std::size_t at(std::int64_t place) { return static_cast<std::size_t>(place); }

CERTUNE_HOT int count_within(const double* values, int count, double bar) {
    int within = 0;
    for (int i = 0; i < count; ++i) within += values[i] <= bar;
    return within;
}

CERTUNE_HOT void take_extremes(const double* other_low, const double* other_high, int count,
                               double* low, double* high) {
    for (int i = 0; i < count; ++i) {
        low[i] = std::min(low[i], other_low[i]);
        high[i] = std::max(high[i], other_high[i]);
    }
}

// Smallest and largest distances from a slot to all others, at one end or both ends.
//
// Merged slots have rows of their own, single points take a spare one. A row hears of the merges of
// others when it is looked at. Distances to itself and to what is merged away are infinite.
class Rows {
   public:
    Rows(MatrixView<const double> low_end, MatrixView<const double> high_end,
         std::vector<int> member)
        : ends_{low_end, high_end},
          layers_(low_end.data == high_end.data ? 1 : 2),
          slots_(static_cast<int>(member.size())),
          member_(std::move(member)),
          smallest_(at(slots_ + 1) * at(layers_) * at(slots_)),
          largest_(smallest_.size()),
          place_(at(slots_), -1),
          heard_(at(slots_), 0) {}

    int layers() const { return layers_; }
    double* smallest(int row, int layer) { return smallest_.data() + start(row, layer); }
    double* largest(int row, int layer) { return largest_.data() + start(row, layer); }

    // Brings a row up to date and returns where it is; `spare` rows after the last are free.
    int bring(int x, int spare) {
        int row = place_[at(x)];
        if (row < 0) {
            row = n_own_ + spare;
            heard_[at(x)] = 0;
            for (int layer = 0; layer < layers_; ++layer) {
                const auto values = ends_[layer].row(at(member_[at(x)]));
                double* low = smallest(row, layer);
                double* high = largest(row, layer);
                for (int z = 0; z < slots_; ++z) low[z] = high[z] = values[at(member_[at(z)])];
                low[x] = high[x] = infinity;
            }
        }
        for (int layer = 0; layer < layers_; ++layer) {
            double* low = smallest(row, layer);
            double* high = largest(row, layer);
            for (std::size_t i = at(heard_[at(x)]); i < events_.size(); ++i) {
                const auto [kept, gone] = events_[i];
                low[kept] = std::min(low[kept], low[gone]);
                high[kept] = std::max(high[kept], high[gone]);
                low[gone] = high[gone] = infinity;
            }
        }
        heard_[at(x)] = static_cast<int>(events_.size());
        return row;
    }

    // Makes slot x the union of x and y.
    void join(int x, int y) {
        const int row = bring(x, 0), other = bring(y, 1);
        for (int layer = 0; layer < layers_; ++layer) {
            double* low = smallest(row, layer);
            take_extremes(smallest(other, layer), largest(other, layer), slots_, low,
                          largest(row, layer));
            low[x] = low[y] = infinity;
        }
        if (place_[at(x)] < 0) place_[at(x)] = n_own_++;
        events_.push_back({x, y});
        heard_[at(x)] = static_cast<int>(events_.size());
    }

   private:
    struct Event {
        int kept, gone;
    };
    std::size_t start(int row, int layer) const {
        return (at(row) * at(layers_) + at(layer)) * at(slots_);
    }

    MatrixView<const double> ends_[2];
    int layers_, slots_;
    std::vector<int> member_;
    Buffer<double> smallest_, largest_;
    std::vector<int> place_, heard_;
    std::vector<Event> events_;
    int n_own_ = 0;
};

class Contraction {
   public:
    Contraction(Kind kind, double margin, Rows&& rows, int slots)
        : kind_(kind),
          margin_(margin),
          rows_(std::move(rows)),
          slots_(slots),
          active_(at(slots)),
          blocker_(at(slots), -1),
          certain_(at(slots), -1),
          stale_(at(slots), true),
          merged_into(at(slots)) {
        std::iota(active_.begin(), active_.end(), 0);
        std::iota(merged_into.begin(), merged_into.end(), 0);
    }

    // Calls merge(x, y) for every merge of slot y into slot x.
    template <class Merge>
    void run(Merge&& merge, StopToken& stop) {
        bool progress = true;
        while (progress && active_.size() > 2) {
            progress = false;
            for (const int x : active_) {
                if (stop.stop_requested()) return;
                if (!stale_[at(x)]) continue;
                stale_[at(x)] = false;
                certain_[at(x)] = certain_neighbour(x);
            }
            std::size_t i = 0;
            while (i < active_.size() && active_.size() > 2) {
                const int x = active_[i], y = certain_[at(x)];
                if (y < 0 || certain_[at(y)] != x) {
                    ++i;
                    continue;
                }
                if (stop.stop_requested()) return;
                progress = true;
                merge(x, y);
                merged_into[at(y)] = x;
                rows_.join(x, y);
                active_.erase(std::find(active_.begin(), active_.end(), y));
                forget(x, y);
                if (i >= active_.size()) i = 0;
            }
        }
    }

    // Number among the clusters left of the cluster that a slot is part of.
    std::vector<std::int64_t> ranks() const {
        std::vector<std::int64_t> rank(at(slots_), -1);
        for (std::size_t i = 0; i < active_.size(); ++i) {
            rank[at(active_[i])] = static_cast<std::int64_t>(i);
        }
        for (std::size_t slot = 0; slot < rank.size(); ++slot) {
            std::size_t x = slot;
            while (at(merged_into[x]) != x) x = at(merged_into[x]);
            rank[slot] = rank[x];
        }
        return rank;
    }

   private:
    // Slot nearest to x at every parameter, or -1; then `blocker_` says why.
    int certain_neighbour(int x) {
        const int row = rows_.bring(x, 0);
        const double* high = rows_.largest(row, 0);
        const int best = static_cast<int>(std::min_element(high, high + slots_) - high);
        const bool by_both = kind_ == Kind::minmax && rows_.layers() == 1;
        for (int layer = 0; layer < rows_.layers(); ++layer) {
            const double* low = rows_.smallest(row, layer);
            high = rows_.largest(row, layer);
            const double bar = high[best] + margin_, small_bar = low[best] + margin_;
            if (count_within(low, slots_, bar) == 1) continue;
            for (int z = 0; z < slots_; ++z) {
                if (z != best && low[z] <= bar &&
                    !(by_both && low[z] > small_bar && high[z] > bar)) {
                    blocker_[at(x)] = z;
                    return -1;
                }
            }
        }
        return best;
    }

    // What pointed at x or y is to be looked at again.
    void forget(int x, int y) {
        certain_[at(x)] = -1;
        stale_[at(x)] = true;
        for (const int z : active_) {
            const int near = certain_[at(z)], rival = blocker_[at(z)];
            if (near == x || near == y || rival == x || rival == y) {
                certain_[at(z)] = -1;
                stale_[at(z)] = true;
            }
        }
    }

    Kind kind_;
    double margin_;
    Rows rows_;
    int slots_;
    std::vector<int> active_, blocker_, certain_;
    std::vector<bool> stale_;

   public:
    std::vector<int> merged_into;
};

}  // namespace

int contract(Kind kind, MatrixView<const double> low_end, MatrixView<const double> high_end,
             double margin, const MergesUnderWay& merges, StopToken& stop) {
    const auto& [left, right, labels] = merges;
    const auto n = static_cast<int>(labels.size());
    const auto slots = static_cast<int>(*std::max_element(labels.begin(), labels.end()) + 1);
    int n_made = n - slots;
    std::vector<int> member(at(slots));
    for (int p = n - 1; p >= 0; --p) member[at(labels[at(p)])] = p;
    // The merges behind the labels are made already: the last node above a point wins.
    std::vector<std::int64_t> node(member.begin(), member.end());
    std::vector<std::int64_t> highest(at(2 * n - 1));
    std::iota(highest.begin(), highest.end(), 0);
    for (int made = n; made < n + n_made; ++made) {
        highest[at(made)] = std::max(highest[at(left[at(made)])], highest[at(right[at(made)])]);
        node[at(labels[at(highest[at(made)])])] = made;
    }
    Contraction contraction(kind, margin, Rows(low_end, high_end, member), slots);
    contraction.run(
        [&, &left = left, &right = right](int x, int y) {
            std::int64_t a = node[at(x)], b = node[at(y)];
            if (highest[at(a)] > highest[at(b)]) std::swap(a, b);
            const std::int64_t made = n + n_made++;
            left[at(made)] = a;
            right[at(made)] = b;
            highest[at(made)] = highest[at(b)];
            node[at(x)] = made;
        },
        stop);
    const auto rank = contraction.ranks();
    for (auto& label : labels) label = rank[at(label)];
    return n_made;
}

}  // namespace certune::linkage
