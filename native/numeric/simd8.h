#pragma once

// Records of eight numbers, one operation for all lanes at once.
//
// Two vectors of four doubles each, in the vector types of g++ and clang++; the compiler splits
// them where the processor has shorter ones. Loads and stores need no alignment.

#include <cstdint>
#include <cstring>

// Innermost loops are compiled three times, for any x86-64, for one with AVX2 and fused products,
// and for one with AVX-512, and the loader takes what the processor can do. All give the same bits:
// nothing is contracted, and std::fma is rounded once whether there is an instruction for it or
// not. Clang knows no versions of a function for these levels of processors: with it there is the
// first one only.
#if defined(__x86_64__) && defined(__linux__) && defined(__gnu_linux__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(CERTUNE_ONE_PROCESSOR)
#include <immintrin.h>
#define CERTUNE_HOT [[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]]
// Two versions of one function, where the compiler needs help to use vectors.
#define CERTUNE_VECTORS [[gnu::target("arch=x86-64-v3")]]
#define CERTUNE_PLAIN [[gnu::target("default")]]
#else
#define CERTUNE_HOT
#define CERTUNE_PLAIN
#endif
#define CERTUNE_INLINE [[gnu::always_inline]] inline

namespace certune::simd8 {

inline constexpr int lanes = 8;

using Reals4 = double __attribute__((vector_size(32)));
using Bits4 = std::int64_t __attribute__((vector_size(32)));
using Bits2 = std::int64_t __attribute__((vector_size(16)));
// The same in memory, at any place. Copies by memcpy take detours through the stack. In an alias
// declaration clang would not heed the alignment.
typedef double Reals4InMemory __attribute__((vector_size(32), aligned(8), may_alias));
typedef std::int64_t Bits4InMemory __attribute__((vector_size(32), aligned(8), may_alias));
static_assert(alignof(Reals4InMemory) == 8 && alignof(Bits4InMemory) == 8);

struct Reals {
    Reals4 low, high;
};
struct Bits {
    Bits4 low, high;
};

CERTUNE_INLINE void load(const double* from, Reals& to) {
    to.low = *reinterpret_cast<const Reals4InMemory*>(from);
    to.high = *reinterpret_cast<const Reals4InMemory*>(from + 4);
}
CERTUNE_INLINE void load(const double* from, Bits& to) {
    to.low = *reinterpret_cast<const Bits4InMemory*>(from);
    to.high = *reinterpret_cast<const Bits4InMemory*>(from + 4);
}
CERTUNE_INLINE void store(const Reals& from, double* to) {
    *reinterpret_cast<Reals4InMemory*>(to) = from.low;
    *reinterpret_cast<Reals4InMemory*>(to + 4) = from.high;
}
CERTUNE_INLINE void store(const Bits& from, double* to) {
    *reinterpret_cast<Bits4InMemory*>(to) = from.low;
    *reinterpret_cast<Bits4InMemory*>(to + 4) = from.high;
}

// target = source
CERTUNE_INLINE void copy(const double* source, double* target) {
    std::memcpy(target, source, lanes * sizeof(double));
}

// target = mirror = first_weight first + second_weight second, three roundings
CERTUNE_INLINE void blend(const double* first, double first_weight, const double* second,
                          double second_weight, double* target, double* mirror) {
    Reals a, b;
    load(first, a);
    load(second, b);
    const Reals sum{first_weight * a.low + second_weight * b.low,
                    first_weight * a.high + second_weight * b.high};
    store(sum, target);
    store(sum, mirror);
}

// target = mirror = factor source
CERTUNE_INLINE void scale(const double* source, double factor, double* target, double* mirror) {
    Reals a;
    load(source, a);
    const Reals product{factor * a.low, factor * a.high};
    store(product, target);
    store(product, mirror);
}

// target += source
CERTUNE_INLINE void add(const double* source, double* target) {
    Reals a, b;
    load(target, a);
    load(source, b);
    store(Reals{a.low + b.low, a.high + b.high}, target);
}

CERTUNE_INLINE bool any_negative(const Bits4& low, const Bits4& high) {
    const Bits4 both = low | high;
    const Bits2 half =
        __builtin_shufflevector(both, both, 0, 1) | __builtin_shufflevector(both, both, 2, 3);
    return (half[0] | half[1]) < 0;
}

// Is a lane of the record below that of the bars? Above, with flip = -1. Positive numbers have the
// order of their bits.
CERTUNE_INLINE bool any_below(const double* record, const Bits& bars, std::int64_t flip) {
    Bits value;
    load(record, value);
    return any_negative((value.low - bars.low) ^ flip, (value.high - bars.high) ^ flip);
}

// The same with the bars factor times another record.
CERTUNE_INLINE bool any_below_scaled(const double* record, const double* other, double factor,
                                     std::int64_t flip) {
    Reals limit;
    load(other, limit);
    limit.low = factor * limit.low;
    limit.high = factor * limit.high;
    // Vectors of one size are cast bit by bit.
    return any_below(record, Bits{(Bits4)limit.low, (Bits4)limit.high}, flip);
}

// Sum of the lanes, each times its weight, added pairwise.
CERTUNE_INLINE double dot(const double* record, const double* weights) {
    Reals a, w;
    load(record, a);
    load(weights, w);
    const Reals4 sum = a.low * w.low + a.high * w.high;
    return (sum[0] + sum[2]) + (sum[1] + sum[3]);
}

// The same, added in the order of the lanes.
CERTUNE_INLINE double dot_in_order(const double* record, const double* weights) {
    Reals a, w;
    load(record, a);
    load(weights, w);
    const Reals4 sum = a.low * w.low + a.high * w.high;
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

// target = mirror = record times a matrix of eight rows, summed in the order of the rows.
CERTUNE_INLINE void transform(const double* record, const double* matrix, double* target,
                              double* mirror) {
    Reals sum, row;
    load(matrix, row);
    sum.low = record[0] * row.low;
    sum.high = record[0] * row.high;
    for (int lane = 1; lane < lanes; ++lane) {
        load(matrix + lanes * lane, row);
        sum.low += record[lane] * row.low;
        sum.high += record[lane] * row.high;
    }
    store(sum, target);
    store(sum, mirror);
}

// target = mirror = minima of lanes 0-3 and maxima of lanes 4-7, taken as integers.
CERTUNE_INLINE void extremes(const double* first, const double* second, double* target,
                             double* mirror) {
    Bits a, b;
    load(first, a);
    load(second, b);
    const Bits chosen{a.low < b.low ? a.low : b.low, a.high < b.high ? b.high : a.high};
    store(chosen, target);
    store(chosen, mirror);
}

}  // namespace certune::simd8
