#include <nanobind/stl/pair.h>

#include <algorithm>
#include <utility>

#include "bindings/arrays.h"
#include "bindings/calls.h"
#include "bindings/rooms.h"
#include "learning/windows.h"

namespace certune::bindings {

namespace {

using namespace nb::literals;

using Reals = Vector<const double>;
using Integers = Vector<const std::int64_t>;

learning::OwnedEnds ends_of(const Reals& places, const Integers& owners, std::size_t n_owners) {
    expect(places.shape(0) == owners.shape(0), "There must be one owner for each end.");
    const learning::OwnedEnds ends{span_of(places), span_of(owners)};
    for (std::size_t i = 0; i < ends.places.size(); ++i) {
        expect(i == 0 ? ends.places[i] == ends.places[i] : ends.places[i - 1] <= ends.places[i],
               "Ends must be numbers, and sorted.");
    }
    const auto is_owner = [n_owners](std::int64_t owner) {
        return owner >= 0 && static_cast<std::size_t>(owner) < n_owners;
    };
    expect(std::all_of(ends.owners.begin(), ends.owners.end(), is_owner),
           "Owners must be numbers from 0 to n_owners - 1.");
    return ends;
}

std::pair<std::int64_t, double> fullest_window(std::pair<Reals, Integers> entries,
                                               std::pair<Reals, Integers> exits,
                                               std::size_t n_owners, double width, bool closed,
                                               const Stop& stop) {
    const auto entered = ends_of(entries.first, entries.second, n_owners);
    const auto left = ends_of(exits.first, exits.second, n_owners);
    const learning::SlidingWindow window{width, closed};
    const auto found = unlocked(
        stop, [&](StopToken& token) { return window.fullest(entered, left, n_owners, token); });
    return {found.n_owners, found.exit};
}

}  // namespace

void bind_learning(nb::module_& room) {
    room.def("fullest_window", &fullest_window, "entries"_a.noconvert(), "exits"_a.noconvert(),
             "n_owners"_a, "width"_a, "closed"_a, "stop"_a);
}

}  // namespace certune::bindings
