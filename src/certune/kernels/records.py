"""Arithmetic on records of eight numbers, one vector operation each.

numba runs LLVM without its straight-line vectoriser, so eight equal operations on the lanes of a
record stay eight scalar ones.  These intrinsics emit vector instructions of width 8 (LLVM splits
them where the processor has shorter vectors).  They index flat arrays and check nothing.
"""

from __future__ import annotations

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from certune.kernels.series import TERMS

ir = cgutils.ir
LANES = 8
_DOUBLES = ir.VectorType(ir.DoubleType(), LANES)
_INTEGERS = ir.VectorType(ir.IntType(64), LANES)
_INDEX = ir.IntType(32)


def _pointer(context, builder, array_type, array, index, vector):
    data = cgutils.create_struct_proxy(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), vector.as_pointer())


def load(context, builder, array_type, array, index, vector):
    """Vector of the numbers of an array from an index on."""
    return builder.load(_pointer(context, builder, array_type, array, index, vector), align=8)


def store(context, builder, value, array_type, array, index):
    """Put a vector into an array."""
    pointer = _pointer(context, builder, array_type, array, index, value.type)
    builder.store(value, pointer, align=8)


def spread(builder, scalar, vector):
    """Vector with the same number in all lanes."""
    one = builder.insert_element(ir.Constant(vector, ir.Undefined), scalar, _INDEX(0))
    return builder.shuffle_vector(
        one,
        ir.Constant(vector, ir.Undefined),
        ir.Constant(ir.VectorType(_INDEX, vector.count), [0] * vector.count),
    )


def _fused(builder, first, second, third):
    """``first * second + third``, rounded once."""
    kind = first.type
    function = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(kind, [kind] * 3), f"llvm.fma.v{LANES}f64"
    )
    return builder.call(function, [first, second, third])


@intrinsic
def call(typing_context, address):
    """Call the C function without arguments at an address; it returns an integer."""

    def generate(context, builder, signature, arguments):
        kind = ir.FunctionType(ir.IntType(64), [])
        return builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), [])

    return types.int64(types.int64), generate


@intrinsic
def blend_records(typing_context, flat, i, j, weight_i, weight_j, target, k, mirror):
    """Put ``weight_i * flat[i:i+8] + weight_j * flat[j:j+8]`` at two places of ``target``."""

    def generate(context, builder, signature, arguments):
        array, at_i, at_j, w_i, w_j, other, at_k, at_mirror = arguments
        kind = signature.args[0]
        first = load(context, builder, kind, array, at_i, _DOUBLES)
        second = load(context, builder, kind, array, at_j, _DOUBLES)
        total = builder.fadd(
            builder.fmul(spread(builder, w_i, _DOUBLES), first),
            builder.fmul(spread(builder, w_j, _DOUBLES), second),
        )
        for place in (at_k, at_mirror):
            store(context, builder, total, signature.args[5], other, place)
        return context.get_dummy_value()

    i8, f8 = types.int64, types.float64
    return types.void(flat, i8, i8, f8, f8, target, i8, i8), generate


@intrinsic
def add_records(typing_context, flat, places, count, target, j):
    """Add the records at the first ``count`` places to that of ``target`` at j."""

    def generate(context, builder, signature, arguments):
        array, indices, number, other, at_j = arguments
        kind = signature.args[0]
        total = cgutils.alloca_once_value(
            builder, load(context, builder, signature.args[3], other, at_j, _DOUBLES)
        )
        data = cgutils.create_struct_proxy(signature.args[1])(context, builder, indices).data
        with cgutils.for_range(builder, number) as loop:
            place = builder.load(builder.gep(data, [loop.index]))
            record = load(context, builder, kind, array, place, _DOUBLES)
            builder.store(builder.fadd(builder.load(total), record), total)
        store(context, builder, builder.load(total), signature.args[3], other, at_j)
        return context.get_dummy_value()

    i8 = types.int64
    return types.void(flat, places, i8, target, i8), generate


@intrinsic
def extreme_records(typing_context, bits, i, j, target, mirror):
    """Put the minima (lanes 0-3) and maxima (4-7) of two integer records at two places."""

    def generate(context, builder, signature, arguments):
        array, at_i, at_j, at_target, at_mirror = arguments
        kind = signature.args[0]
        first = load(context, builder, kind, array, at_i, _INTEGERS)
        second = load(context, builder, kind, array, at_j, _INTEGERS)
        less = builder.icmp_signed("<", first, second)
        upper = ir.Constant(ir.VectorType(ir.IntType(1), LANES), [0, 0, 0, 0, 1, 1, 1, 1])
        chosen = builder.select(builder.xor(less, upper), first, second)
        store(context, builder, chosen, kind, array, at_target)
        store(context, builder, chosen, kind, array, at_mirror)
        return context.get_dummy_value()

    i8 = types.int64
    return types.void(bits, i8, i8, i8, i8), generate


@intrinsic
def below_record(typing_context, bits, i, bars, flip):
    """Not zero if any lane of ``(bits[i:i+8] - bars[0:8]) ^ flip`` is negative."""

    def generate(context, builder, signature, arguments):
        array, at_i, bar, invert = arguments
        value = load(context, builder, signature.args[0], array, at_i, _INTEGERS)
        zero = ir.IntType(64)(0)
        limit = load(context, builder, signature.args[2], bar, zero, _INTEGERS)
        lanes = builder.xor(builder.sub(value, limit), spread(builder, invert, _INTEGERS))
        negative = builder.icmp_signed("<", lanes, ir.Constant(_INTEGERS, [0] * LANES))
        return builder.zext(builder.bitcast(negative, ir.IntType(LANES)), ir.IntType(64))

    i8 = types.int64
    return i8(bits, i8, bars, i8), generate


@intrinsic
def below_scaled(typing_context, flat, i, j, factor, flip):
    """Not zero if a lane of the record at i is below that at j times ``factor``.

    Above, with ``flip`` = -1.  Positive numbers have the order of their bits.
    """

    def generate(context, builder, signature, arguments):
        array, at_i, at_j, scale, invert = arguments
        kind = signature.args[0]
        value = load(context, builder, kind, array, at_i, _INTEGERS)
        limit = builder.fmul(
            spread(builder, scale, _DOUBLES),
            load(context, builder, kind, array, at_j, _DOUBLES),
        )
        difference = builder.sub(value, builder.bitcast(limit, _INTEGERS))
        lanes = builder.xor(difference, spread(builder, invert, _INTEGERS))
        negative = builder.icmp_signed("<", lanes, ir.Constant(_INTEGERS, [0] * LANES))
        return builder.zext(builder.bitcast(negative, ir.IntType(LANES)), ir.IntType(64))

    i8, f8 = types.int64, types.float64
    return i8(flat, i8, i8, f8, i8), generate


def _reduced(builder, vector, combine):
    """Combine the lanes of a vector pairwise."""
    half = LANES // 2
    while half > 0:
        parts = [
            builder.shuffle_vector(
                vector,
                ir.Constant(vector.type, ir.Undefined),
                ir.Constant(ir.VectorType(_INDEX, half), list(range(start, start + half))),
            )
            for start in (0, half)
        ]
        vector = combine(*parts)
        half //= 2
    return builder.extract_element(vector, _INDEX(0))


@intrinsic
def dot_record(typing_context, flat, i, weights):
    """Sum of the lanes of the record at i, each times its weight."""

    def generate(context, builder, signature, arguments):
        array, at_i, weight = arguments
        zero = ir.IntType(64)(0)
        total = builder.fmul(
            load(context, builder, signature.args[0], array, at_i, _DOUBLES),
            load(context, builder, signature.args[2], weight, zero, _DOUBLES),
        )
        return _reduced(builder, total, builder.fadd)

    return types.float64(flat, types.int64, weights), generate


@intrinsic
def evaluate_records(typing_context, flat, weights, target, count):
    """Put the sums of the lanes of the first records, each times its weight, into ``target``.

    Four at a time: up to three records behind the last one are read, and their sums written.
    """

    def generate(context, builder, signature, arguments):
        array, weight, other, number = arguments
        half = ir.VectorType(ir.DoubleType(), LANES // 2)
        long = ir.IntType(64)
        lower, upper = (
            load(context, builder, signature.args[1], weight, long(at), half)
            for at in (0, LANES // 2)
        )

        def shuffled(first, second, lanes):
            order = ir.Constant(ir.VectorType(_INDEX, 4), lanes)
            return builder.shuffle_vector(first, second, order)

        with cgutils.for_range_slice(builder, long(0), number, long(4), long) as (index, _):
            sums = []
            for record in range(4):
                place = builder.mul(builder.add(index, long(record)), long(LANES))
                first, last = (
                    load(context, builder, signature.args[0], array, at, half)
                    for at in (place, builder.add(place, long(LANES // 2)))
                )
                sums.append(builder.fadd(builder.fmul(first, lower), builder.fmul(last, upper)))
            pairs = [
                builder.fadd(shuffled(a, b, [0, 4, 2, 6]), shuffled(a, b, [1, 5, 3, 7]))
                for a, b in (sums[:2], sums[2:])
            ]
            total = builder.fadd(shuffled(*pairs, [0, 1, 4, 5]), shuffled(*pairs, [2, 3, 6, 7]))
            store(context, builder, total, signature.args[2], other, index)
        return context.get_dummy_value()

    return types.void(flat, weights, target, types.int64), generate


@intrinsic
def transform_record(typing_context, source, i, matrix, target, j, mirror):
    """Put the product of a record and a flat (8, 8) matrix at ``j`` and at ``mirror``."""

    def generate(context, builder, signature, arguments):
        array, at_i, coefficients, other, at_j, at_mirror = arguments
        record = load(context, builder, signature.args[0], array, at_i, _DOUBLES)
        total = None
        for lane in range(LANES):
            weight = spread(builder, builder.extract_element(record, _INDEX(lane)), _DOUBLES)
            row = load(
                context,
                builder,
                signature.args[2],
                coefficients,
                ir.IntType(64)(lane * LANES),
                _DOUBLES,
            )
            term = builder.fmul(weight, row)
            total = term if total is None else builder.fadd(total, term)
        store(context, builder, total, signature.args[3], other, at_j)
        store(context, builder, total, signature.args[3], other, at_mirror)
        return context.get_dummy_value()

    i8 = types.int64
    return types.void(source, i8, matrix, target, i8, i8), generate


def _rearranged(builder, vector, lanes):
    return builder.shuffle_vector(
        vector,
        ir.Constant(vector.type, ir.Undefined),
        ir.Constant(ir.VectorType(_INDEX, LANES), lanes),
    )


@intrinsic
def add_model(typing_context, table, weight, factor, base, k, target, i):
    """Put the record at ``k`` plus ``weight * p(factor)`` at ``i``, see `series.folded` for p.

    Polynomial 7 - j is polynomial j mirrored at 0: their even parts (lanes 0-3 of the table) and
    odd parts (lanes 4-7) are found by one Horner's rule in ``factor**2``.
    """

    def generate(context, builder, signature, arguments):
        rows, w, r, before, at_k, array, at_i = arguments
        across = spread(builder, r, _DOUBLES)
        square = builder.fmul(across, across)
        total = None
        for row in range(TERMS // 2 - 1, -1, -1):
            coefficients = load(
                context,
                builder,
                signature.args[0],
                rows,
                ir.IntType(64)(row * LANES),
                _DOUBLES,
            )
            total = coefficients if total is None else _fused(builder, total, square, coefficients)
        even = _rearranged(builder, total, [0, 1, 2, 3, 3, 2, 1, 0])
        odd = _rearranged(builder, total, [4, 5, 6, 7, 7, 6, 5, 4])
        signs = ir.Constant(_DOUBLES, [1.0] * 4 + [-1.0] * 4)
        value = _fused(builder, builder.fmul(across, signs), odd, even)
        value = _fused(
            builder,
            spread(builder, w, _DOUBLES),
            value,
            load(context, builder, signature.args[3], before, at_k, _DOUBLES),
        )
        store(context, builder, value, signature.args[5], array, at_i)
        return context.get_dummy_value()

    i8, f8 = types.int64, types.float64
    return types.void(table, f8, f8, base, i8, target, i8), generate


@intrinsic
def add_moments(typing_context, weights, rates, i, sums):
    """Add ``weights * rates**k`` of the eight pairs from ``i`` on to the record k of ``sums``.

    What rounding drops from record 0 is added to the record after the last one.
    """

    def generate(context, builder, signature, arguments):
        w, x, at_i, out = arguments
        value = load(context, builder, signature.args[0], w, at_i, _DOUBLES)
        rate = load(context, builder, signature.args[1], x, at_i, _DOUBLES)
        kind = signature.args[3]

        def add(row, term):
            place = ir.IntType(64)(row * LANES)
            before = load(context, builder, kind, out, place, _DOUBLES)
            after = builder.fadd(before, term)
            store(context, builder, after, kind, out, place)
            return before, after

        before, after = add(0, value)
        part = builder.fsub(after, before)
        lost = builder.fadd(
            builder.fsub(before, builder.fsub(after, part)), builder.fsub(value, part)
        )
        add(TERMS, lost)
        for row in range(1, TERMS):
            value = builder.fmul(value, rate)
            add(row, value)
        return context.get_dummy_value()

    return types.void(weights, rates, types.int64, sums), generate


@intrinsic
def place_record(typing_context, source, i, first, second, roles, target, j, mirror):
    """Copy a record to ``j`` and ``mirror`` with some lanes replaced.

    ``first`` goes to the lanes whose role is 1 and ``second`` to those whose role is 2.
    """

    def generate(context, builder, signature, arguments):
        array, at_i, one, two, lanes, other, at_j, at_mirror = arguments
        record = load(context, builder, signature.args[0], array, at_i, _DOUBLES)
        zero = ir.IntType(64)(0)
        role = load(context, builder, signature.args[4], lanes, zero, _INTEGERS)
        for number, value in ((1, one), (2, two)):
            here = builder.icmp_signed("==", role, ir.Constant(_INTEGERS, [number] * LANES))
            record = builder.select(here, spread(builder, value, _DOUBLES), record)
        store(context, builder, record, signature.args[5], other, at_j)
        store(context, builder, record, signature.args[5], other, at_mirror)
        return context.get_dummy_value()

    i8, f8 = types.int64, types.float64
    return types.void(source, i8, f8, f8, roles, target, i8, i8), generate


@intrinsic
def move_record(typing_context, source, i, target, j):
    """``target[j:j+8] = source[i:i+8]``."""

    def generate(context, builder, signature, arguments):
        array, at_i, other, at_j = arguments
        record = load(context, builder, signature.args[0], array, at_i, _INTEGERS)
        store(context, builder, record, signature.args[2], other, at_j)
        return context.get_dummy_value()

    i8 = types.int64
    return types.void(source, i8, target, i8), generate
