#include "linkage/compare/identities.h"

#include <algorithm>
#include <utility>

#include "linkage/compare/difference_terms.h"

namespace certune::linkage {

namespace {

constexpr int most_settled = 1 << 14;  // comparisons that one branch can remember
constexpr int kept_for_splits = 256;   // ... of which these are left to splits

// Bijective mixing of 64 bits, so that sums of codes identify multisets.
std::uint64_t mix(std::uint64_t code) {
    std::uint64_t x = code + 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

std::uint64_t hash_of(std::span<const int> members, std::span<const int> others,
                      MatrixView<const std::uint64_t> codes) {
    std::uint64_t total = 0;
    for (const int a : members) {
        const auto row = codes.row(static_cast<std::size_t>(a));
        for (const int b : others) total += mix(row[static_cast<std::size_t>(b)]);
    }
    return total;
}

std::vector<std::uint64_t> sorted_codes(std::span<const int> members, std::span<const int> others,
                                        MatrixView<const std::uint64_t> codes) {
    std::vector<std::uint64_t> found;
    found.reserve(members.size() * others.size());
    for (const int a : members) {
        const auto row = codes.row(static_cast<std::size_t>(a));
        for (const int b : others) found.push_back(row[static_cast<std::size_t>(b)]);
    }
    std::sort(found.begin(), found.end());
    return found;
}

int code_lane(const Reading& reading, bool larger) {
    if (reading.form == Form::fixed_extremes) {
        return larger == (reading.sign > 0) ? lane::code_max : lane::code_min;
    }
    return record_width(reading.kind, reading.form) - (larger ? 1 : 2);
}

// The two codes that identify the value of a record; one code twice for one extreme.
struct Extremes {
    Code smaller, larger;
    bool operator==(const Extremes&) const = default;
    bool known() const { return smaller != unknown_code && larger != unknown_code; }
};

Extremes extremes_of(const Reading& reading, const double* record) {
    return {code_at(record, code_lane(reading, reading.kind == Kind::maximum)),
            code_at(record, code_lane(reading, reading.kind != Kind::minimum))};
}

Wide common_factor(Wide a, Wide b) {
    while (b != 0) a = std::exchange(b, a % b);
    return a < 0 ? -a : a;
}

ComparedMembers members_of(const Tree& tree, const Rivals& nodes) {
    return {tree.members(nodes.row), tree.members(nodes.near), tree.members(nodes.rival_row()),
            tree.members(nodes.rival), nodes.rival_row() == nodes.row};
}

// Terms of the difference of two values, up to a positive factor: pair codes in order, their
// coprime integer coefficients, and a hash of both in which a difference and its negative agree.
struct DifferenceTerms {
    std::vector<std::uint64_t> codes;
    std::vector<Wide> counts;
    std::uint64_t digest = 0;

    DifferenceTerms(Kind kind, const Tree& tree, const Rivals& nodes, const PairFunctions& pairs) {
        struct Term {
            std::uint64_t code;
            Wide count;
        };
        std::vector<Term> terms;
        for_each_term(kind, members_of(tree, nodes), [&](int a, int b, Wide weight) {
            if (kind == Kind::energy && pairs.identical(a, b)) return;
            const auto row = pairs.codes.row(static_cast<std::size_t>(a));
            terms.push_back({row[static_cast<std::size_t>(b)], weight});
        });
        std::sort(terms.begin(), terms.end(),
                  [](const Term& one, const Term& other) { return one.code < other.code; });
        Wide common = 0;
        for (std::size_t i = 0; i < terms.size();) {
            const std::uint64_t code = terms[i].code;
            Wide count = 0;
            for (; i < terms.size() && terms[i].code == code; ++i) count += terms[i].count;
            if (count == 0) continue;
            codes.push_back(code);
            counts.push_back(count);
            common = common_factor(common, count);
        }
        digest = codes.size();
        const Wide lead = codes.empty() || counts[0] > 0 ? 1 : -1;
        for (std::size_t k = 0; k < codes.size(); ++k) {
            counts[k] /= common;
            digest = mix(digest ^ mix(codes[k])) + static_cast<std::uint64_t>(counts[k] * lead);
        }
    }

    // 1 or -1 if the other difference is the same or its negative, 0 if it is neither.
    int factor_of(const DifferenceTerms& other) const {
        if (digest != other.digest || codes != other.codes) return 0;
        const int factor = codes.empty() || counts[0] == other.counts[0] ? 1 : -1;
        for (std::size_t k = 0; k < counts.size(); ++k) {
            if (counts[k] != factor * other.counts[k]) return 0;
        }
        return factor;
    }
};

Settled::Known known_of(int order) {
    if (order == 0) return Settled::Known::tied;
    return order > 0 ? Settled::Known::nearer : Settled::Known::farther;
}

}  // namespace

void mark_members(const Tree& tree, const Rivals& nodes, std::span<std::uint8_t> marks) {
    std::fill(marks.begin(), marks.end(), std::uint8_t{0});
    std::uint8_t mark = 1;
    for (const int node : {nodes.row, nodes.near, nodes.rival, nodes.other_row}) {
        if (node < 0) continue;
        for (const int point : tree.members(node)) marks[static_cast<std::size_t>(point)] = mark;
        ++mark;
    }
}

bool same_averages(const Tree& tree, const Rivals& nodes, MatrixView<const std::uint64_t> codes) {
    const auto row = tree.members(nodes.row), other = tree.members(nodes.rival_row());
    const auto near = tree.members(nodes.near), rival = tree.members(nodes.rival);
    const std::uint64_t size_near = row.size() * near.size();
    const std::uint64_t size_rival = other.size() * rival.size();
    if (hash_of(row, near, codes) * size_rival != hash_of(other, rival, codes) * size_near) {
        return false;
    }
    const auto first = sorted_codes(row, near, codes), second = sorted_codes(other, rival, codes);
    std::size_t i = 0, j = 0;
    while (i < first.size() && j < second.size()) {
        const std::uint64_t code = first[i];
        if (second[j] != code) return false;
        const std::size_t start_i = i, start_j = j;
        while (i < first.size() && first[i] == code) ++i;
        while (j < second.size() && second[j] == code) ++j;
        if ((i - start_i) * size_rival != (j - start_j) * size_near) return false;
    }
    return i == first.size() && j == second.size();
}

bool same_energies(const Tree& tree, const Rivals& nodes, const PairFunctions& pairs) {
    std::uint64_t total = 0;
    for_each_term(Kind::energy, members_of(tree, nodes), [&](int a, int b, Wide weight) {
        if (pairs.identical(a, b)) return;
        const auto row = pairs.codes.row(static_cast<std::size_t>(a));
        total += mix(row[static_cast<std::size_t>(b)]) * static_cast<std::uint64_t>(weight);
    });
    return total == 0 && DifferenceTerms(Kind::energy, tree, nodes, pairs).codes.empty();
}

bool same_extremes(const Reading& reading, const RecordPair& pair) {
    const Extremes near = extremes_of(reading, pair.near);
    return near.known() && near == extremes_of(reading, pair.rival);
}

void Settled::write(const Reading& reading, const RecordPair& pair, const Rivals& nodes,
                    int order) {
    const auto place = static_cast<std::size_t>(count_);
    if (place >= entries_.size()) entries_.resize(place + 1);
    Entry& entry = entries_[place];
    entry.nodes = nodes;
    entry.order = order;
    entry.digest.reset();
    if (!is_polynomial(reading.form)) {
        const Extremes near = extremes_of(reading, pair.near);
        const Extremes rival = extremes_of(reading, pair.rival);
        entry.codes = {near.smaller, near.larger, rival.smaller, rival.larger};
    }
}

void Settled::add(const Reading& reading, const RecordPair& pair, const Rivals& nodes, int order) {
    if (count_ >= most_settled - kept_for_splits) return;
    write(reading, pair, nodes, order);
    ++count_;
}

void Settled::prepare(const Reading& reading, const RecordPair& pair, const Rivals& nodes) {
    write(reading, pair, nodes, 0);
}

Settled::Known Settled::order_of(const Reading& reading, const RecordPair& pair,
                                 const Rivals& nodes) const {
    const Rivals swapped = nodes.swapped();
    Extremes near{}, rival{};
    bool by_codes = false;
    if (!is_polynomial(reading.form)) {
        near = extremes_of(reading, pair.near);
        rival = extremes_of(reading, pair.rival);
        by_codes = near.known() && rival.known();
    }
    for (auto i = static_cast<std::size_t>(count_); i-- > 0;) {
        const Entry& entry = entries_[i];
        if (entry.nodes == nodes) return known_of(entry.order);
        if (entry.nodes == swapped) return known_of(-entry.order);
        if (!by_codes) continue;
        const Extremes first{entry.codes[0], entry.codes[1]};
        const Extremes second{entry.codes[2], entry.codes[3]};
        if (first == near && second == rival) return known_of(entry.order);
        if (first == rival && second == near) return known_of(-entry.order);
    }
    return Known::nothing;
}

Settled::Known Settled::order_of_same_difference(Kind kind, const Tree& tree, const Rivals& nodes,
                                                 const PairFunctions& pairs) {
    if (count_ == 0) return Known::nothing;
    const DifferenceTerms own(kind, tree, nodes, pairs);
    for (auto i = static_cast<std::size_t>(count_); i-- > 0;) {
        Entry& entry = entries_[i];
        if (entry.digest && *entry.digest != own.digest) continue;
        const DifferenceTerms other(kind, tree, entry.nodes, pairs);
        entry.digest = other.digest;
        const int factor = own.factor_of(other);
        if (factor != 0) return known_of(factor * entry.order);
    }
    return Known::nothing;
}

}  // namespace certune::linkage
