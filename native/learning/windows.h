#pragma once

#include <cstdint>
#include <span>

#include "stop_token.h"

namespace certune::learning {

// Ends of intervals in ascending order, and the function that each belongs to.
struct OwnedEnds {
    std::span<const double> places;
    std::span<const std::int64_t> owners;
};

struct FullestWindow {
    std::int64_t n_owners = 0;
    // An exit: the end of an interval of positions at which the number is reached. NaN if none.
    double exit = 0.0;
};

// How many functions change within one window: a sliding window over enclosed discontinuities.
//
// A discontinuity is known to lie between low and high. A window [x, x + width] contains it for
// certain if x is in [high - width, low], and possibly if x is in (low - width, high). Either way
// every discontinuity is an interval of positions x, from entry - width to exit, entered in one
// order and left in another; walking along both orders at once keeps the number of functions with
// an entered discontinuity.
struct SlidingWindow {
    double width = 0.0;
    bool closed = false;  // whether the ends of the intervals of positions belong to them

    FullestWindow fullest(const OwnedEnds& entries, const OwnedEnds& exits, std::size_t n_owners,
                          StopToken& stop) const;
};

}  // namespace certune::learning
