#pragma once

#include <cstdint>
#include <span>

#include "linkage/models/pair_functions.h"

namespace certune::linkage {

// A question that floats cannot decide: is (x, y) nearer than (x, z)?
struct Question {
    enum class Kind {
        on_interval = 0,  // on all of the interval; they may be the same function
        at_point = 1,     // at the one parameter
        at_low_end = 2,   // just inside the low end, where the order proved elsewhere is `expected`
        at_high_end = 3,
        narrow_zone = 4,  // as on_interval, where models cannot narrow a zone any more
    };

    Kind kind = Kind::on_interval;
    Interval interval;
    int expected = 0;
    std::span<const std::uint8_t> marks;  // 1, 2, 3 at the members of x, y, z
};

struct Answer {
    enum class Kind {
        order,     // the same on all of the interval: 1 nearer, -1 farther, 0 tied
        crosses,   // the order changes once, in the zone; `order` is the one before it
        unknown,   // not decided
        hopeless,  // no further question will be answered
    };

    Kind kind = Kind::unknown;
    int order = 0;
    Interval zone;
};

// Decides by exact arithmetic. The last one is implemented by the bindings, which ask Python.
class ExactLayer {
   public:
    virtual ~ExactLayer() = default;
    virtual Answer ask(const Question& question) = 0;
    // Is it worth while to ask where models know an answer that may be improved? Then quickly:
    // unknown is an answer, too.
    virtual bool is_quick() const { return false; }
    virtual Answer ask_quickly(const Question&) { return {}; }
};

}  // namespace certune::linkage
