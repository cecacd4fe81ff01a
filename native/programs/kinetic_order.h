#pragma once

// The order of straight lines by value, along the axis: where two neighbours change places.

#include <cstdint>
#include <span>
#include <vector>

#include "programs/lines.h"
#include "stop_token.h"

namespace certune::programs {

// Neighbours that change places: at (below, above) the line at `place` meets the next one, and no
// other two lines meet there.
struct Exchange {
    double below, above;
    std::int64_t place;
};

// The largest line comes first. Just right of the start the order is proved, and so are all
// exchanges; from the last of them up to `until` there is none.
struct KineticOrder {
    bool is_proved = false;
    std::vector<std::int64_t> order;
    std::vector<Exchange> exchanges;
    double until = 0.0;
};

struct Stretch {
    double start, stop;
    std::size_t most_exchanges;
};

// Lines with the same entry in `forms` are the same function and keep the order of their indices.
// Nothing is proved (`is_proved` is false) if a sign just right of the start is not; the exchanges
// end early where two of them cannot be told apart.
KineticOrder kinetic_order(std::span<const Line> lines, std::span<const std::int64_t> forms,
                           const Stretch& stretch, StopToken& stop);

}  // namespace certune::programs
