#include "linkage/following/meetings.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace certune::linkage {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

std::size_t at(int place) { return static_cast<std::size_t>(place); }

// Order of (row, near) and (row, rival) between `until` and an end where they meet; the place
// itself may lie between two floats.
int order_beside(const Panel& panel, const Meetings& meetings, const PairFunctions& pairs,
                 const Tree& tree, const Rivals& nodes, bool low_end, double until) {
    const MeetingCodes& meeting = low_end ? meetings.low : meetings.high;
    if (!meeting.any()) return 0;
    const bool same = meeting.exact ? same_sums(tree, nodes, meeting.codes)
                                    : same_averages(tree, nodes, meeting.codes);
    if (!same) return 0;
    const double end = low_end ? meetings.course.low : meetings.course.high;
    const double distance =
        std::abs(until - end) * (1.0 + 4.0 * unit) + 2.0 * unit * std::max(1.0, std::abs(end));
    const int slope = slope_beside(pairs, tree, nodes, end, distance);
    return panel.reading.sign * (low_end ? slope : -slope);
}

}  // namespace

bool same_sums(const Tree& tree, const Rivals& nodes, MatrixView<const std::uint64_t> values) {
    const auto sum_with = [&](int other) {
        std::uint64_t total = 0;
        for (const int a : tree.members(nodes.row)) {
            const auto row = values.row(at(a));
            for (const int b : tree.members(other)) total += row[at(b)];
        }
        return total;
    };
    const auto size = [&](int node) { return static_cast<std::uint64_t>(tree.size[at(node)]); };
    return sum_with(nodes.near) * size(nodes.rival) == sum_with(nodes.rival) * size(nodes.near);
}

// With values e = exp(phi) at the end and slopes v of phi, less a common one, the quotient is the
// sum of e v (exp(y) - 1) / y, y = (t - end) v, as equal sums of e cancel; up to a common factor.
int slope_beside(const PairFunctions& pairs, const Tree& tree, const Rivals& nodes, double end,
                 double distance) {
    const auto members = tree.members(nodes.row);
    double largest = -infinity, reach = 0.0, steepest = -infinity, flattest = infinity;
    for (const int other : {nodes.near, nodes.rival}) {
        for (const int a : members) {
            const auto first = pairs.first.row(at(a)), second = pairs.second.row(at(a));
            for (const int b : tree.members(other)) {
                const double step = end * second[at(b)];
                largest = std::max(largest, first[at(b)] + step);
                reach = std::max(reach, std::abs(first[at(b)]) + std::abs(step));
                steepest = std::max(steepest, second[at(b)]);
                flattest = std::min(flattest, second[at(b)]);
            }
        }
    }
    const double sizes_of_slopes = std::abs(steepest) + std::abs(flattest);
    const double common = 0.5 * (steepest + flattest);
    const double half = steepest - common + 4.0 * unit * sizes_of_slopes;
    if (!(half * distance < 1.0)) return 0;
    double total = 0.0;
    double sizes = 0.0;       // of the values
    double terms_size = 0.0;  // ... times their slopes
    for (const int other : {nodes.near, nodes.rival}) {
        const double weight = 1.0 / tree.size[at(other)];
        const double side = other == nodes.rival ? weight : -weight;
        for (const int a : members) {
            const auto first = pairs.first.row(at(a)), second = pairs.second.row(at(a));
            for (const int b : tree.members(other)) {
                const double value = std::exp(first[at(b)] + end * second[at(b)] - largest);
                const double slope = second[at(b)] - common;
                total += side * value * slope;
                sizes += weight * value;
                terms_size += weight * value * std::abs(slope);
            }
        }
    }
    const double count = static_cast<double>(members.size()) *
                         (tree.size[at(nodes.near)] + tree.size[at(nodes.rival)]);
    // Values are wrong by the errors of phi and their own rounding, the end by a float's spacing.
    double wrong = pairs.input_error + unit * (4.0 * reach + 2.0 * count + 32.0);
    wrong += 2.0 * unit * std::max(1.0, std::abs(end)) * sizes_of_slopes;
    const double wrong_slope = pairs.input_error + 4.0 * unit * sizes_of_slopes;
    // |(exp(y) - 1) / y - 1| <= |y| exp(|y|) / 2 <= 1.4 |y| where |y| <= 1.
    const double bound = terms_size * (wrong + 1.4 * half * distance) + sizes * wrong_slope;
    if (std::abs(total) > 1.01 * bound) return total > 0.0 ? 1 : -1;
    return 0;
}

Judgement judge_meeting(const Panel& panel, const Meetings& meetings, const PairFunctions& pairs,
                        const Tree& tree, const Rivals& nodes, double t, Judgement found) {
    const double stop = panel.part.high;
    const bool is_unclear = found.outlook == Outlook::unclear;
    const bool to_the_end = stop == meetings.course.high && found.high >= stop;
    if ((is_unclear || found.outlook == Outlook::again) && to_the_end) {
        const int order = order_beside(panel, meetings, pairs, tree, nodes, false, found.low);
        if (order > 0) return {Outlook::holds, stop, stop, found.after};
        if (order < 0 && is_unclear) return {Outlook::wrong, t, t, found.after};
    }
    if (is_unclear) {
        const int order = order_beside(panel, meetings, pairs, tree, nodes, true, found.high);
        if (order < 0) return {Outlook::wrong, t, t, found.after};
        // Behind its zone `judge` knows the order.
        if (order > 0 && (found.high >= stop || found.after > 0)) {
            return {Outlook::holds, stop, stop, found.after};
        }
    }
    return found;
}

}  // namespace certune::linkage
