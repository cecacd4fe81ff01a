#include "programs/kinetic_order.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <queue>

namespace certune::programs {

namespace {

struct Meeting {
    double below, above;
    std::int64_t first, second;

    bool is_about(const Meeting& other) const {
        return first == other.first && second == other.second;
    }
    bool operator>(const Meeting& other) const {
        return below != other.below   ? below > other.below
               : first != other.first ? first > other.first
                                      : second > other.second;
    }
};

template <class Items>
auto& at(Items& items, std::int64_t index) {
    return items[static_cast<std::size_t>(index)];
}

enum class Future { none, meeting, unproved };

class Exchanging {
   public:
    Exchanging(std::span<const Line> lines, std::span<const std::int64_t> forms,
               const Stretch& stretch)
        : lines_(lines), forms_(forms), stretch_(stretch), place_(lines.size()) {}

    KineticOrder follow(StopToken& stop) {
        found_.until = stretch_.start;
        if (!sort(stop) || !expect_neighbours()) return std::move(found_);
        found_.is_proved = true;
        first_order_ = found_.order;
        while (found_.exchanges.size() < stretch_.most_exchanges && !stop.stop_requested()) {
            if (!exchange()) break;
        }
        std::swap(found_.order, first_order_);
        return std::move(found_);
    }

   private:
    // Sorts by insertion from the order of rounded values; false if a sign is not proved.
    bool sort(StopToken& stop) {
        const std::size_t n = lines_.size();
        std::vector<double> values(n);
        for (std::size_t i = 0; i < n; ++i) {
            const Line& line = lines_[i];
            values[i] = line.offset.high + line.slope.high * stretch_.start;
            if (!(std::fabs(values[i]) <= std::numeric_limits<double>::max())) return false;
        }
        auto& order = found_.order;
        order.resize(n);
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t j) {
            return at(values, i) > at(values, j);
        });
        for (std::size_t end = 1; end < n; ++end) {
            if (end % 64 == 0 && stop.stop_requested()) return false;
            for (std::size_t here = end; here > 0; --here) {
                const int sign = sign_right_of_start(order[here - 1], order[here]);
                if (sign == 0) return false;
                if (sign > 0) break;
                std::swap(order[here - 1], order[here]);
            }
        }
        for (std::size_t here = 0; here < n; ++here) at(place_, order[here]) = here;
        return true;
    }

    int sign_right_of_start(std::int64_t first, std::int64_t second) const {
        if (are_same(first, second)) return first < second ? 1 : -1;
        // What holds at the start holds just right of it.
        return sign_at(difference(at(lines_, first), at(lines_, second)), stretch_.start);
    }

    bool expect_neighbours() {
        for (std::size_t here = 0; here + 1 < found_.order.size(); ++here) {
            const auto [future, meeting] = look(found_.order[here], found_.order[here + 1]);
            if (future == Future::unproved) return false;
            if (future == Future::meeting) queue_.push(meeting);
        }
        return true;
    }

    // What becomes of two lines of which the first is larger now.
    std::pair<Future, Meeting> look(std::int64_t first, std::int64_t second) const {
        if (are_same(first, second)) return {Future::none, {}};
        const Line gap = difference(at(lines_, first), at(lines_, second));
        // A line that is positive here and at the end is positive between.
        if (sign_at(gap, stretch_.stop) > 0) return {Future::none, {}};
        const std::optional<Crossing> place = crossing(gap);
        if (!place || place->sign_after > 0) return {Future::unproved, {}};
        return {Future::meeting, {place->below, place->above, first, second}};
    }

    // Carries out the next exchange; false at the end and where it is not proved to be alone.
    bool exchange() {
        drop_outdated();
        if (queue_.empty()) {
            found_.until = stretch_.stop;
            return false;
        }
        const Meeting next = queue_.top();
        // Lines that were parted and became neighbours again have several entries.
        while (!queue_.empty() && next.is_about(queue_.top())) queue_.pop();
        drop_outdated();
        found_.until = next.below;
        const bool is_alone = queue_.empty() || queue_.top().below >= next.above;
        if (!is_alone || next.above >= stretch_.stop) return false;
        const std::size_t here = at(place_, next.first);
        auto& order = found_.order;
        // The new neighbours were in this order before the exchange; they must stay so during it.
        std::vector<Meeting> coming;
        if (here > 0 && !foresee(order[here - 1], next.second, next.above, coming)) return false;
        if (here + 2 < order.size() && !foresee(next.first, order[here + 2], next.above, coming)) {
            return false;
        }
        for (const Meeting& meeting : coming) queue_.push(meeting);
        std::swap(order[here], order[here + 1]);
        at(place_, next.second) = here;
        at(place_, next.first) = here + 1;
        found_.exchanges.push_back({next.below, next.above, static_cast<std::int64_t>(here)});
        found_.until = next.above;
        return true;
    }

    bool foresee(std::int64_t first, std::int64_t second, double from,
                 std::vector<Meeting>& coming) const {
        const auto [future, meeting] = look(first, second);
        if (future == Future::none) return true;
        if (future == Future::unproved || meeting.below < from) return false;
        coming.push_back(meeting);
        return true;
    }

    // Two lines meet once, so that an entry about neighbours in their order is never outdated.
    void drop_outdated() {
        while (!queue_.empty() &&
               at(place_, queue_.top().first) + 1 != at(place_, queue_.top().second)) {
            queue_.pop();
        }
    }

    bool are_same(std::int64_t first, std::int64_t second) const {
        return at(forms_, first) == at(forms_, second);
    }

    std::span<const Line> lines_;
    std::span<const std::int64_t> forms_;
    Stretch stretch_;
    KineticOrder found_;
    std::vector<std::int64_t> first_order_;
    std::vector<std::size_t> place_;
    std::priority_queue<Meeting, std::vector<Meeting>, std::greater<>> queue_;
};

}  // namespace

KineticOrder kinetic_order(std::span<const Line> lines, std::span<const std::int64_t> forms,
                           const Stretch& stretch, StopToken& stop) {
    return Exchanging(lines, forms, stretch).follow(stop);
}

}  // namespace certune::programs
