#pragma once

// Which function of the parameter a cluster pair has, and what is settled about it on a branch.
//
// Averages are the same function exactly if the multisets of their pair codes agree up to the
// common factor; that is looked up only when two averages cannot be told apart. Minima and maxima
// are functions of few point pairs; their codes travel with the records.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "linkage/compare/evidence.h"
#include "linkage/models/fixed_extremes.h"
#include "linkage/tree/tree.h"

namespace certune::linkage {

// Nodes of a tree: is (row, near) nearer than (row, rival)? Pairs that are compared by their
// heights share no row: then it is (other_row, rival).
struct Rivals {
    int row = -1;
    int near = -1;
    int rival = -1;
    int other_row = -1;

    int rival_row() const { return other_row < 0 ? row : other_row; }
    Rivals swapped() const { return {rival_row(), rival, near, other_row < 0 ? -1 : row}; }
    bool operator==(const Rivals&) const = default;
};

inline bool tie_prefers(const Tree& tree, const Rivals& nodes) {
    const auto highest = [&](int node) { return tree.highest[static_cast<std::size_t>(node)]; };
    return comes_first(highest(nodes.row), highest(nodes.near), highest(nodes.rival_row()),
                       highest(nodes.rival));
}

// Writes 1, 2, 3 at the members of row, near and rival, 4 at those of another row, 0 elsewhere.
void mark_members(const Tree& tree, const Rivals& nodes, std::span<std::uint8_t> marks);

// Do the averages of two cluster pairs have the same multisets of codes, up to the common factor?
// O(m log m) for m pairs of points if their hashes agree, else O(m).
bool same_averages(const Tree& tree, const Rivals& nodes, MatrixView<const std::uint64_t> codes);
// Is the difference of the energies of two cluster pairs a sum without terms? The same costs.
bool same_energies(const Tree& tree, const Rivals& nodes, const PairFunctions& pairs);
// Have two records of extremes the same codes, all of them known?
bool same_extremes(const Reading& reading, const RecordPair& pair);

// Comparisons settled on a branch of the search.
class Settled {
   public:
    enum class Known { nothing, nearer, farther, tied };

    int count() const { return count_; }
    // Takes back what was added later.
    void take_back(int count) { count_ = count; }

    // Adds an order, 1, -1, or 0 for a tie, if there is room.
    void add(const Reading& reading, const RecordPair& pair, const Rivals& nodes, int order);
    // Writes an entry behind the last one, without an order; `begin_with` takes it in.
    void prepare(const Reading& reading, const RecordPair& pair, const Rivals& nodes);
    // Says the order of the entry at a place, prepared there before.
    void set_order(int place, int order) {
        entries_[static_cast<std::size_t>(place)].order = order;
    }

    // Order of these nodes, or of other ones with the same extremes. A tie settles the function
    // only; who wins it depends on the clusters.
    Known order_of(const Reading& reading, const RecordPair& pair, const Rivals& nodes) const;
    // The same for averages and energies that compare by the same function: with few distinct
    // distances many cluster pairs do, and change order at the same root. Nodes of settled
    // comparisons are still in the tree, so equal hashes are checked term by term.
    Known order_of_same_difference(Kind kind, const Tree& tree, const Rivals& nodes,
                                   const PairFunctions& pairs);

   private:
    struct Entry {
        Rivals nodes;
        int order = 0;
        std::array<Code, 4> codes{};          // of extremes: near low, high; rival low, high
        std::optional<std::uint64_t> digest;  // of averages, found when it is needed
    };

    void write(const Reading& reading, const RecordPair& pair, const Rivals& nodes, int order);

    std::vector<Entry> entries_;
    int count_ = 0;
};

// The winner, where something is known.
inline Order decided(Settled::Known known, bool wins_ties) {
    if (known == Settled::Known::tied) return order_of(wins_ties);
    return order_of(known == Settled::Known::nearer);
}

}  // namespace certune::linkage
