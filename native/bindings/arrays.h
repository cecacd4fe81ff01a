#pragma once

// Arrays of numpy as spans and views of the rooms, and results of the rooms as arrays of numpy.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <span>
#include <utility>
#include <vector>

#include "matrix_view.h"

namespace certune::bindings {

namespace nb = nanobind;

// Arguments: bound with .noconvert(), so that an array of another type, dimension or layout is
// refused instead of copied. `const Number` also takes arrays that cannot be written to.
template <class Number>
using Vector = nb::ndarray<Number, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class Number>
using Matrix = nb::ndarray<Number, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class Number>
using Tensor = nb::ndarray<Number, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

template <class Number>
std::span<Number> span_of(const Vector<Number>& array) {
    return {array.data(), array.shape(0)};
}

template <class Number>
MatrixView<Number> view_of(const Matrix<Number>& array) {
    return {array.data(), array.shape(0), array.shape(1)};
}

// Results: the array owns the memory of the vector.
template <class Number>
using Result = nb::ndarray<nb::numpy, Number>;

template <class Number>
Result<Number> array_of(std::vector<Number>&& values, std::initializer_list<std::size_t> shape) {
    auto* kept = new std::vector<Number>(std::move(values));
    nb::capsule owner(
        kept, [](void* memory) noexcept { delete static_cast<std::vector<Number>*>(memory); });
    return Result<Number>(kept->data(), shape, owner);
}

template <class Number>
Result<Number> array_of(std::vector<Number>&& values) {
    const std::size_t size = values.size();
    return array_of(std::move(values), {size});
}

// A check at the door; what fails it is a mistake of the caller.
inline void expect(bool holds, const char* message) {
    if (!holds) throw nb::value_error(message);
}

}  // namespace certune::bindings
