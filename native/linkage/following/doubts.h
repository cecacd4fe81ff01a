#pragma once

// Rivals of a merge that plain tests on the whole panel do not settle.

#include <span>
#include <vector>

#include "linkage/following/chords.h"
#include "linkage/following/outlook.h"
#include "linkage/following/tree_records.h"

namespace certune::linkage {

// Lists the (row, rival) whose record does not clear the bar, that of (p, q), on the whole panel.
// Unknown records are listed as well.
void list_doubtful_averages(const Panel& panel, TreeRecords& records, int p, int q,
                            std::span<const int> rivals, std::vector<Doubt>& doubts);

// The same where all records are known, filling those of the union `node` on the way.
void unite_doubtful_averages(const Panel& panel, TreeRecords& records, const FollowedTree& tree,
                             int node, std::span<const int> rivals, std::vector<Doubt>& doubts);

// The same for fixed extremes.
void list_doubtful_extremes(const Panel& panel, TreeRecords& records, int p, int q,
                            const EndBars& bars, std::span<const int> rivals,
                            std::vector<Doubt>& doubts);

// Is it plain that none of the rivals comes between p and q on this panel?
bool clears_plainly(const Panel& panel, TreeRecords& records, int p, int q,
                    std::span<const int> rivals);

}  // namespace certune::linkage
