#include "learning/windows.h"

#include <limits>
#include <vector>

namespace certune::learning {

namespace {

// The sign of entry - (exit + width), exactly.
int excess(double entry, double exit, double width) {
    const double total = exit + width;
    if (entry < total) return -1;
    if (entry > total) return 1;
    // The rounding error of the sum (two-sum), which is a float itself.
    const double part = total - exit;
    const double error = (exit - (total - part)) + (width - part);
    if (error > 0.0) return -1;
    return error < 0.0 ? 1 : 0;
}

// How many owners have something entered and not left.
class Presence {
   public:
    explicit Presence(std::size_t n_owners) : entered_(n_owners, 0) {}

    void enter(std::int64_t owner) { count_ += entered_[index(owner)]++ == 0; }
    void leave(std::int64_t owner) { count_ -= --entered_[index(owner)] == 0; }
    std::int64_t count() const { return count_; }

   private:
    static std::size_t index(std::int64_t owner) { return static_cast<std::size_t>(owner); }

    std::vector<std::int64_t> entered_;
    std::int64_t count_ = 0;
};

}  // namespace

FullestWindow SlidingWindow::fullest(const OwnedEnds& entries, const OwnedEnds& exits,
                                     std::size_t n_owners, StopToken& stop) const {
    Presence present(n_owners);
    FullestWindow best{0, std::numeric_limits<double>::quiet_NaN()};
    std::size_t leaving = 0;
    for (std::size_t i = 0; i < entries.places.size(); ++i) {
        if (i % 1024 == 0 && stop.stop_requested()) return best;
        for (; leaving < exits.places.size(); ++leaving) {
            const int sign = excess(entries.places[i], exits.places[leaving], width);
            if (sign < 0 || (closed && sign == 0)) break;
            present.leave(exits.owners[leaving]);
        }
        present.enter(entries.owners[i]);
        // What was entered has not been left, so there is an exit to come.
        if (present.count() > best.n_owners && leaving < exits.places.size()) {
            best = {present.count(), exits.places[leaving]};
        }
    }
    return best;
}

}  // namespace certune::learning
