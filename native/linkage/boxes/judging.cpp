#include "linkage/boxes/judging.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace certune::linkage::boxes {

namespace {

// Values that differ by more than this share are not the same function.
constexpr double close = 1e-9;

// Of the error of a mean that two energies share, so much cancels in their difference; the rest is
// more than the roundings of the two.
constexpr double cancelled_share = 0.9375;

std::vector<std::uint64_t> gathered_codes(const Forest& forest, const NodePair& pair,
                                          std::span<const std::uint64_t> codes) {
    std::vector<std::uint64_t> result;
    const auto others = forest.members(pair.b);
    for (const std::size_t p : forest.members(pair.a)) {
        for (const std::size_t q : others) result.push_back(codes[p * forest.n_points + q]);
    }
    std::sort(result.begin(), result.end());
    return result;
}

// Have two pairs the same mean for every parameter: the same codes, as often in proportion to their
// numbers?
bool same_mean(const Forest& forest, const NodePair& near, const NodePair& far,
               std::span<const std::uint64_t> codes) {
    const auto first = gathered_codes(forest, near, codes);
    const auto second = gathered_codes(forest, far, codes);
    std::size_t i = 0, j = 0;
    while (i < first.size() && j < second.size()) {
        if (first[i] != second[j]) return false;
        const std::uint64_t code = first[i];
        const std::size_t start_i = i, start_j = j;
        while (i < first.size() && first[i] == code) ++i;
        while (j < second.size() && second[j] == code) ++j;
        if ((i - start_i) * second.size() != (j - start_j) * first.size()) return false;
    }
    return i == first.size() && j == second.size();
}

// Wide enough for coefficients below n^8 in the number n of points.
__extension__ using Wide = __int128;

struct Term {
    std::uint64_t code;
    Wide weight;
};

// Is the difference of two energies zero for every parameter: does every code cancel? Half an
// energy is (S(a, b) - |b| / |a| W(a) - |a| / |b| W(b)) / (|a| + |b|), S the sum over the pairs of
// points, W that over unordered pairs within a cluster; identical points add nothing.
class EnergyDifference {
   public:
    EnergyDifference(const Box& box, const Forest& forest, std::span<const std::uint64_t> codes)
        : box_(box), forest_(forest), codes_(codes) {}

    bool vanishes(const NodePair& near, const NodePair& far) {
        const Wide whole = (size(near.a) + size(near.b)) * (size(far.a) + size(far.b)) *
                           size(near.a) * size(near.b) * size(far.a) * size(far.b);
        add_energy(near, whole);
        add_energy(far, -whole);
        std::sort(terms_.begin(), terms_.end(),
                  [](const Term& one, const Term& other) { return one.code < other.code; });
        for (std::size_t i = 0; i < terms_.size();) {
            const std::uint64_t code = terms_[i].code;
            Wide sum = 0;
            for (; i < terms_.size() && terms_[i].code == code; ++i) sum += terms_[i].weight;
            if (sum != 0) return false;
        }
        return true;
    }

   private:
    Wide size(std::size_t node) const { return forest_.size[node]; }
    void add_pair(std::size_t p, std::size_t q, Wide weight) {
        if (!box_.identical(p, q)) terms_.push_back({codes_[p * forest_.n_points + q], weight});
    }
    void add_within(std::size_t node, Wide weight) {
        const auto members = forest_.members(node);
        for (std::size_t i = 0; i < members.size(); ++i) {
            for (std::size_t j = 0; j < i; ++j) add_pair(members[i], members[j], weight);
        }
    }
    void add_energy(const NodePair& pair, Wide factor) {
        const Wide a = size(pair.a), b = size(pair.b), unit = factor / (a + b);
        const auto others = forest_.members(pair.b);
        for (const std::size_t p : forest_.members(pair.a)) {
            for (const std::size_t q : others) add_pair(p, q, unit);
        }
        add_within(pair.a, -unit / a * b);
        add_within(pair.b, -unit / b * a);
    }

    const Box& box_;
    const Forest& forest_;
    std::span<const std::uint64_t> codes_;
    std::vector<Term> terms_;
};

}  // namespace

const double* Judge::difference(const double* near, const double* far, const Shared& shared) {
    for (std::size_t c = 0; c < space_.remainder(); ++c) difference_[c] = far[c] - near[c];
    for (const std::size_t c : {space_.remainder(), space_.slope_error(), space_.spread()}) {
        difference_[c] = far[c] + near[c];
    }
    if (shared.within == nullptr) return difference_.data();
    for (const std::size_t c : {space_.remainder(), space_.slope_error()}) {
        const double cancelled = 2.0 * cancelled_share * shared.times * shared.within[c];
        if (std::isfinite(cancelled)) difference_[c] -= cancelled;
    }
    return difference_.data();
}

bool Judge::same_value(const Candidate& near, const Candidate& far,
                       std::span<const std::uint64_t> codes) const {
    switch (box_.kind) {
        case Kind::mean:
            return same_mean(branch_.forest, near.nodes, far.nodes, codes);
        case Kind::energy:
            return EnergyDifference(box_, branch_.forest, codes).vanishes(near.nodes, far.nodes);
        case Kind::min_max:
            break;
    }
    for (std::size_t c = 0; c < 2; ++c) {
        const std::int64_t one = (*near.extremes)[c], other = (*far.extremes)[c];
        if (one == uncertain || other == uncertain) return false;
        if (codes[static_cast<std::size_t>(one)] != codes[static_cast<std::size_t>(other)]) {
            return false;
        }
    }
    return true;
}

Order Judge::assumed_order(const NodePair& near, const NodePair& far) const {
    for (const Assumption& known : branch_.assumed) {
        if (known.near == near && known.far == far) return Order::nearer;
        if (known.near == far && known.far == near) return Order::farther;
    }
    return Order::open;
}

Order Judge::order_by_ties(const Candidate& near, const Candidate& far) const {
    const auto all_codes = std::span(ties_.codes.data, ties_.codes.rows * ties_.codes.columns);
    const double one = near.record[0], other = far.record[0];
    if (std::abs(one - other) <= close * (1.0 + std::abs(one)) &&
        same_value(near, far, all_codes)) {
        return wins_tie(branch_.forest, near.nodes, far.nodes) ? Order::nearer : Order::farther;
    }
    for (const Face& face : ties_.faces) {
        const int sign = order_off_face(space_, face, difference_.data());
        if (sign != 0 && same_value(near, far, face.codes)) {
            return sign > 0 ? Order::nearer : Order::farther;
        }
    }
    return Order::open;
}

// The order of the last difference, from what this branch assumes.
Order Judge::conditional_order() const {
    if (branch_.assumed.empty()) return Order::open;
    std::vector<double> turned(difference_);
    for (std::size_t c = 0; c < space_.remainder(); ++c) turned[c] = -turned[c];
    for (const Assumption& known : branch_.assumed) {
        const double* given = known.difference.data();
        if (conditional_lower(space_, difference_.data(), given, space_.whole()) > 0.0) {
            return Order::nearer;
        }
        if (conditional_lower(space_, turned.data(), given, space_.whole()) > 0.0) {
            return Order::farther;
        }
    }
    return Order::open;
}

Order Judge::order(const Candidate& near, const Candidate& far, const Shared& shared) {
    const Range found = space_.range(difference(near.record, far.record, shared), space_.whole());
    if (found.lower > 0.0) return Order::nearer;
    if (found.upper < 0.0) return Order::farther;
    Order known = assumed_order(near.nodes, far.nodes);
    if (known == Order::open) known = order_by_ties(near, far);
    if (known == Order::open) known = conditional_order();
    return known;
}

double conditional_lower(const PolynomialSpace& space, const double* wanted, const double* given,
                         const Part& part) {
    const std::size_t n = space.n_variables();
    std::vector<double> numbers(2 * n + space.width());
    const std::span<double> first(numbers.data(), n), second(numbers.data() + n, n);
    space.gradient(wanted, part, first);
    space.gradient(given, part, second);
    double product = 0.0, square = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
        const double weight = part.reach[i] * part.reach[i];
        product += weight * first[i] * second[i];
        square += weight * second[i] * second[i];
    }
    const double multiple = product / square;
    if (!(multiple > 0.0) || !std::isfinite(multiple)) {
        return -std::numeric_limits<double>::infinity();
    }
    double* difference = numbers.data() + 2 * n;
    for (std::size_t c = 0; c < space.remainder(); ++c) {
        difference[c] = wanted[c] - multiple * given[c];
    }
    // Remainders hold more than the roundings of this combination, which are a few units in the
    // last place of the two records.
    difference[space.remainder()] = wanted[space.remainder()] + multiple * given[space.remainder()];
    return space.range(difference, part).lower;
}

}  // namespace certune::linkage::boxes
