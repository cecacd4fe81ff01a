#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "linkage/models/frame.h"

namespace certune::linkage {

// What the records of the first clusters model, and how they are read.
struct RecordModel {
    Interval interval;
    Reading reading;
};

// A panel, or a part of one, along which a tree is followed.
struct Panel {
    Reading reading;
    Interval interval;          // of the records
    Interval part;              // what is looked at; all of it unless changes are dense
    std::int64_t flip = 0;      // -1 if larger values are nearer
    double factor = 1.0;        // a rival that exceeds (stays below) a value times this is farther
    double inner_factor = 1.0;  // the same for restricted records
    bool dense = false;         // is it so narrow that records are close to their chords?
    // A rival whose key exceeds a key times this plus that is farther, see chords.h.
    double key_factor = 1.0;
    double key_offset = 0.0;

    // Where t lies in the interval of the records, or in the part, in [0, 1].
    double share_of(double t) const {
        return std::min(1.0, std::max(0.0, (t - interval.low) / interval.width()));
    }
    double part_of(double t) const {
        return std::min(1.0, std::max(0.0, (t - part.low) / part.width()));
    }
};

// Bernstein polynomials at a share of an interval.
inline std::array<double, degree> basis_at(double share) {
    std::array<double, degree> basis{};
    basis[0] = 1.0;
    for (std::size_t d = 1; d < degree; ++d) {
        for (std::size_t k = d; k > 0; --k) {
            basis[k] = (1.0 - share) * basis[k] + share * basis[k - 1];
        }
        basis[0] *= 1.0 - share;
    }
    return basis;
}

}  // namespace certune::linkage
