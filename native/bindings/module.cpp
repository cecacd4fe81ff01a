#include <nanobind/nanobind.h>

#include "bindings/rooms.h"

namespace nb = nanobind;

NB_MODULE(_core, core) {
    // Threads that are left to themselves at the end of a run may still hold a stop.
    nb::set_leak_warnings(false);
    using namespace certune::bindings;
    core.doc() = "The compiled core of certune; certune.kernels has its doors.";
    bind_calls(core);
    nb::module_ graph = core.def_submodule("graph", "Harmonic labels on weighted graphs.");
    bind_graph(graph);
    nb::module_ learning = core.def_submodule("learning", "Exponential weights, windows, sums.");
    bind_learning(learning);
    nb::module_ numeric = core.def_submodule("numeric", "Sums of Chebyshev polynomials.");
    bind_numeric(numeric);
    nb::module_ logistic = core.def_submodule("logistic", "Penalised logistic regression.");
    bind_logistic(logistic);
    nb::module_ programs = core.def_submodule("programs", "Scores of programs along a line.");
    bind_programs(programs);
    nb::module_ linkage_boxes =
        core.def_submodule("linkage_boxes", "Cluster trees on boxes of parameters.");
    bind_linkage_boxes(linkage_boxes);
    nb::module_ linkage = core.def_submodule("linkage", "Cluster trees along a segment.");
    bind_linkage(linkage);
    nb::module_ linkage_parts =
        core.def_submodule("linkage_parts", "Parts of the linkage room, to be checked alone.");
    bind_linkage_parts(linkage_parts);
}
