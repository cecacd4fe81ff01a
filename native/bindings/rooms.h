#pragma once

#include <nanobind/nanobind.h>

namespace certune::bindings {

// Each fills one module of certune._core; module.cpp lists them.
void bind_calls(nanobind::module_& core);
void bind_graph(nanobind::module_& room);
void bind_learning(nanobind::module_& room);
void bind_logistic(nanobind::module_& room);
void bind_numeric(nanobind::module_& room);
void bind_programs(nanobind::module_& room);
void bind_linkage_boxes(nanobind::module_& room);
void bind_linkage(nanobind::module_& room);
void bind_linkage_parts(nanobind::module_& room);

}  // namespace certune::bindings
