#pragma once

// The tree at one parameter by a nearest-neighbour chain on plain numbers, as far as they prove it.
//
// At a point one matrix of numbers with an error does what a search does with frames. Neighbours
// that errors do not tell apart are compared exactly, as there; the first one that is not decided
// ends it.

#include <optional>

#include "linkage/search/search.h"
#include "linkage/tree/costs.h"
#include "linkage/tree/tree.h"

namespace certune::linkage {

// Unites all first clusters of a tree and finds the labels of its pruning; nothing if a comparison
// stays in doubt, or the first clusters are not single points and their copies.
std::optional<std::vector<std::int64_t>> chained_at(const Problem& problem,
                                                    const PointValues& point, Tree& tree,
                                                    Costs& costs, ExactLayer& exact,
                                                    StopToken& stop);

}  // namespace certune::linkage
