#pragma once

#include <span>

namespace certune::numeric {

// Replaces values by their exponentials, within 5 units of roundoff relatively; arguments beyond
// +-700 are clipped there. The same bits with every libm.
void exponentials(std::span<double> values);

}  // namespace certune::numeric
