#pragma once

// Averages that meet at an end of the course, where an exponent vanishes: their order beside it.
//
// There all pairs of points that agree in the other metrics have the same value, which makes many
// averages equal at once; no model, however accurate, tells their order next to the end. Codes that
// hold at that end prove that two averages are equal there, and the slope of their difference
// decides.

#include <cstdint>

#include "linkage/compare/identities.h"
#include "linkage/following/outlook.h"
#include "linkage/tree/tree.h"

namespace certune::linkage {

// Codes of the pairs of points (none, or one for each), equal only if values are equal at that end
// of the course. Exact codes are the values themselves, as integers, up to a common factor.
struct MeetingCodes {
    MatrixView<const std::uint64_t> codes;
    bool exact = false;

    bool any() const { return codes.rows > 0; }
};

struct Meetings {
    Interval course;
    MeetingCodes low, high;
};

// Are the averages of (row, near) and (row, rival) equal, by values that are whole numbers? Sums do
// not overflow.
bool same_sums(const Tree& tree, const Rivals& nodes, MatrixView<const std::uint64_t> values);

// Sign of the slope of (row, rival) less (row, near), equal at `end`, or 0 if unknown: that of
// (difference at t) / (t - end) for all t up to `distance` away.
int slope_beside(const PairFunctions& pairs, const Tree& tree, const Rivals& nodes, double end,
                 double distance);

// Decides what `judge` left open from t on because averages meet at an end of the course.
Judgement judge_meeting(const Panel& panel, const Meetings& meetings, const PairFunctions& pairs,
                        const Tree& tree, const Rivals& nodes, double t, Judgement found);

}  // namespace certune::linkage
