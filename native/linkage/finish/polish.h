#pragma once

// Breakpoints to full precision: one comparison of cluster pairs near its change of order.
//
// A split of the search comes with a zone that holds the change. There the difference of the two
// linkage values has a polynomial model with a proved error. Where the model is monotone, its sign
// at two points bounds the change from both sides; elsewhere the ends of the zone move inwards as
// far as the model proves that the order stays.

#include <cstdint>
#include <span>
#include <vector>

#include "linkage/models/pair_functions.h"
#include "stop_token.h"

namespace certune::linkage {

struct PolishedZone {
    double low = 0.0;
    double high = 0.0;
    bool proved = false;
};

// Shrinks a zone; members of x, y, z are marked by 1, 2, 3. `order_left` is the order (1: (x, y) is
// nearer) left of the change, the opposite one holds right of it. A zone of width 0 says that there
// is no change: one order lasts.
PolishedZone polish(Kind kind, const PairFunctions& pairs, std::span<const std::uint8_t> marks,
                    Interval zone, double order_left, StopToken& stop);

// Could the two cluster pairs be exactly equally near at t? False is a proof that not.
bool may_tie(Kind kind, const PairFunctions& pairs, std::span<const std::uint8_t> marks, double t);

// Splits as the search writes them: low, high, order left, order right, splits at both ends of the
// interval that was split (-1: an edge).
namespace column {
inline constexpr int low = 0, high = 1, order_left = 2, order_right = 3, before = 4, after = 5;
}  // namespace column
inline constexpr int split_columns = 6;

// Polishes some of the splits, in place; returns which of them were proved.
std::vector<std::uint8_t> polish_many(Kind kind, const PairFunctions& pairs,
                                      MatrixView<double> splits,
                                      MatrixView<const std::uint8_t> marks,
                                      std::span<const std::int64_t> which, StopToken& stop);

}  // namespace certune::linkage
