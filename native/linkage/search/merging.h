#pragma once

// Merges on one frame: every merge that is certified on the whole interval of a level.
//
// A pair is merged when each cluster is proved to be the other's nearest. Guesses of nearest
// neighbours come from one coefficient and are made sure of only for pairs that would merge; a row
// that cannot be decided is blocked until one of the two rivals is merged.

#include <vector>

#include "linkage/search/deciding.h"
#include "linkage/search/level.h"
#include "linkage/tree/costs.h"
#include "linkage/tree/tree.h"
#include "stop_token.h"

namespace certune::linkage {

enum class Progress {
    done,        // one cluster is left
    plain,       // nothing is known about where to cut the interval
    zone,        // the order of a row changes inside
    unknown,     // the exact layer gave up
    impossible,  // what was settled on this branch holds nowhere on the interval
};

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

   private:
    enum class Pair { merged, blocked, circle, hopeless };

    int guess(const View& view, int x);
    Pair find_pair(Level& level, const View& view, int& x);
    Order resolve(Level& level, const View& view, int row);
    void set_bars(const View& view, int row, int near);
    std::size_t next_doubtful(const View& view, int row, const std::vector<int>& active,
                              std::size_t begin) const;
    void block(Level& level, int row, int near, int rival, bool crossing, const Zone& zone);
    void merge(Level& level, const View& view, int x, int y);

    const Source& source_;
    Tree& tree_;
    Costs& costs_;
    Decider& decider_;
    Trail& trail_;
    StopToken& stop_;
    std::vector<double> keys_;
    std::array<double, degree> bars_{};
    const int* active_ = nullptr;  // of the level under way
    int n_active_ = 0;
};

}  // namespace certune::linkage
