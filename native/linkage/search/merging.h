#pragma once

// Merges on one frame: every merge that is certified on the whole interval of a level.
//
// A pair is merged when each cluster is proved to be the other's nearest. Guesses of nearest
// neighbours come from one coefficient and are made sure of only for pairs that would merge; a row
// that cannot be decided is blocked until one of the two rivals is merged.

#include <array>
#include <vector>

#include "linkage/search/deciding.h"
#include "linkage/search/level.h"
#include "linkage/tree/costs.h"
#include "linkage/tree/tree.h"
#include "stop_token.h"

namespace certune::linkage {

// A zone in shares of an interval as one in t.
Zone zone_inside(const Zone& shares, Interval interval);

enum class Progress {
    done,        // one cluster is left
    plain,       // nothing is known about where to cut the interval
    zone,        // the order of a row changes inside
    unknown,     // the exact layer gave up
    impossible,  // what was settled on this branch holds nowhere on the interval
};

// Puts the union of slots x and y, of clusters with these sizes, into slot x; the active slots are
// those that are left.
void unite_slots(const Frame& frame, const Source& source, const Reading& reading,
                 std::array<int, 2> slots, std::array<double, 2> sizes,
                 const std::vector<int>& active);

class Merging {
   public:
    Merging(const Source& source, Tree& tree, Costs& costs, Decider& decider, Trail& trail,
            StopToken& stop);

    // Carries out every merge that is certified on the interval of the level.
    //
    // Nearest neighbours that go round in a circle of more than two are impossible: with the tie
    // rule pairs of clusters have a strict order at every parameter, so what was settled on this
    // branch holds nowhere on the interval.
    Progress run(Level& level, const View& view);
    // Row whose order changes nearest to the middle of the interval, -1 if none does.
    static int row_to_split(const Level& level);
    // The comparison that is open in a row.
    Comparison open_comparison(const Level& level, const View& view, int row) const;

   private:
    enum class Pair { merged, blocked, circle, hopeless };

    int guess(const View& view, int x);
    Pair find_pair(Level& level, const View& view, int& x);
    Order resolve(Level& level, const View& view, int row);
    void set_bars(const Slots& slots, const View& view, int row, int near);
    std::size_t next_doubtful(const Slots& slots, const View& view, int row,
                              std::size_t begin) const;
    void block(Level& level, int row, int near, int rival, bool crossing, const Zone& zone);
    void merge(Level& level, const View& view, int x, int y);
    Comparison comparison_of(const Slots& slots, const View& view, int row, int near,
                             int rival) const;
    double size_of(const Slots& slots, int slot) const;
    void set_sizes(const Slots& slots);

    const Source& source_;
    Tree& tree_;
    Costs& costs_;
    Decider& decider_;
    Trail& trail_;
    StopToken& stop_;
    std::vector<double> keys_;
    std::vector<double> sizes_;  // of the clusters in the active slots (energies)
    std::array<double, degree> bars_{};
    const int* active_ = nullptr;  // of the level under way
    int n_active_ = 0;
};

}  // namespace certune::linkage
