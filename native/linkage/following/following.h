#pragma once

// Follow one tree along the segment and mend it: a kinetic data structure.
//
// The tree of a panel's start is proved, merge by merge, from there on: each of the two clusters is
// the other's nearest among those that are left at that stage. Every proof knows until where it
// holds. Where the first one fails, only what depends on it is merged anew; clusters that come out
// the same keep their records and their proofs. The old tree is proved up to the end of the zone in
// which the order changes, the new one from its beginning, so that leaves overlap as those of a
// search do. Windows in which this does not succeed (ties, changes that coincide) are left to it.

#include <vector>

#include "linkage/following/meetings.h"
#include "linkage/search/leaves.h"
#include "linkage/search/search.h"
#include "stop_token.h"

namespace certune::linkage {

struct Followed {
    LeafStore found;
    std::vector<Interval> windows;  // left to the search
    std::int64_t n_trees = 1;       // outside of them
};

// Does the interval contain a multiple of 2^-24? Ties are likely there.
bool holds_coarse(Interval interval);

// Follows the tree along the panels, which touch each other. Values are averages, or extremes of
// fixed distances; at least two clusters are left.
Followed follow(const Problem& problem, const Panels& panels, const Meetings& meetings,
                StopToken& stop);

}  // namespace certune::linkage
