#pragma once

#include <cstddef>
#include <span>

namespace certune {

// A matrix in row-major order that somebody else owns.
template <class Number>
struct MatrixView {
    Number* data = nullptr;
    std::size_t rows = 0;
    std::size_t columns = 0;

    Number& operator()(std::size_t row, std::size_t column) const {
        return data[row * columns + column];
    }
    std::span<Number> row(std::size_t index) const { return {data + index * columns, columns}; }
    operator MatrixView<const Number>() const { return {data, rows, columns}; }
};

}  // namespace certune
