#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>

namespace certune {

// Memory for numbers that is not written before its owner does: pages that are never used are never
// fetched. It can grow, keeping what it holds.
template <class Number>
class Buffer {
   public:
    Buffer() = default;
    explicit Buffer(std::size_t size) { reserve(size); }

    Number* data() { return memory_.get(); }
    const Number* data() const { return memory_.get(); }
    std::size_t size() const { return size_; }
    Number& operator[](std::size_t i) { return memory_[i]; }
    const Number& operator[](std::size_t i) const { return memory_[i]; }
    std::span<Number> part(std::size_t start, std::size_t count) {
        return {memory_.get() + start, count};
    }
    std::span<const Number> part(std::size_t start, std::size_t count) const {
        return {memory_.get() + start, count};
    }

    // Makes room for at least so many numbers; what was there is kept.
    void reserve(std::size_t size) {
        if (size <= size_) return;
        const std::size_t larger = std::max(size, 2 * size_);
        auto memory = std::make_unique_for_overwrite<Number[]>(larger);
        std::copy_n(memory_.get(), size_, memory.get());
        memory_ = std::move(memory);
        size_ = larger;
    }

   private:
    std::unique_ptr<Number[]> memory_;
    std::size_t size_ = 0;
};

}  // namespace certune
