"""Is a difference of two linkage values zero at every parameter of a line?

Such a difference is a sum of real powers, one for each distance vector, with integer coefficients.
Powers of different vectors may be equal themselves: their pairs of points have one code then.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from flint import fmpq, fmpq_poly
from numpy.typing import NDArray

from certune.exact import Radicals
from certune.exact.radicals import is_zero, power_products
from certune.families.linkage.course import Course
from certune.families.linkage.lines import Line, Vector


def vanishes(line: Line, terms: dict[Vector, int]) -> bool:
    """Is the sum with these coefficients of distance vectors proved to be zero at every t?"""
    if line.product:
        return _product_vanishes(line, terms)
    return _power_vanishes(line, terms)


def merged_codes(course: Course, powers: Sequence[Fraction]) -> NDArray[np.uint64]:
    """Codes of the pairs of points, equal ones for equal products of these powers.

    ``course.first`` holds the logarithms of the products, up to their sign.  Those that agree as
    floats are compared exactly; if the powers are too long for that, codes stay different.
    """
    codes = course.instance.pair_codes
    rows, columns = np.nonzero(np.triu(course.instance.different))
    logs = course.first[rows, columns]
    order = np.argsort(logs, kind="stable")
    rows, columns = rows[order], columns[order]
    close = np.diff(logs[order]) <= 2 * course.input_error
    close &= np.diff(codes[rows, columns]) != 0
    which = np.flatnonzero(np.append(close, False) | np.append(False, close))
    rows, columns = rows[which], columns[which]
    known, firsts = np.unique(codes[rows, columns], return_index=True)
    vectors = course.instance.distances[:, rows[firsts], columns[firsts]].T.tolist()
    products = power_products([tuple(map(Fraction, vector)) for vector in vectors], powers)
    if not products:
        return codes
    code_of: dict[fmpq, np.uint64] = {}
    merged = [code_of.setdefault(*entry) for entry in zip(products, known, strict=True)]
    places = np.minimum(np.searchsorted(known, codes), len(known) - 1)
    return np.where(known[places] == codes, np.array(merged)[places], codes)


def _product_vanishes(line: Line, terms: dict[Vector, int]) -> bool:
    """Group the terms by the slope of their exponent, then test each group at t = 0."""
    bases = {vector: tuple(map(Fraction, vector)) for vector in terms}
    exponents = line.exponents(Fraction(0))
    return all(
        len(group) > 1
        and is_zero(
            Radicals(
                tuple(terms[vector] for vector in group),
                tuple(bases[vector] for vector in group),
                exponents,
            )
        )
        for group in _with_equal_slopes(line, bases)
    )


def _with_equal_slopes(line: Line, bases: dict[Vector, tuple[Fraction, ...]]) -> list[list[Vector]]:
    """Distance vectors whose products of powers are multiples of each other.

    Products of small powers are equal rationals then. Of large ones the slopes of the exponents
    are compared: those that differ by more than thousands of roundings as floats.
    """
    slopes = tuple(Fraction(slope) for _, slope in line.alpha)
    products = power_products(list(bases.values()), slopes)
    if products is not None:
        classes: dict[fmpq, list[Vector]] = {}
        for vector, product in zip(bases, products, strict=True):
            classes.setdefault(product, []).append(vector)
        return list(classes.values())
    groups: list[tuple[float, float, list[Vector]]] = []
    for vector in bases:
        parts = [
            slope * math.log(delta) for (_, slope), delta in zip(line.alpha, vector, strict=True)
        ]
        slope, size = math.fsum(parts), math.fsum(map(abs, parts))
        for other, other_size, group in groups:
            if abs(slope - other) > 1e-12 * (size + other_size):
                continue
            pair = bases[vector], bases[group[0]]
            if is_zero(Radicals((1, -1), pair, slopes, logarithm=True)):
                group.append(vector)
                break
        else:
            groups.append((slope, size, [vector]))
    return [group for _, _, group in groups]


def _power_vanishes(line: Line, terms: dict[Vector, int]) -> bool:
    """Identity of sums of d(t) ** alpha(t), d affine.

    If alpha moves, powers of different affine functions are independent (compare their
    monodromy at the zeros of d), so equal ones must cancel.  If alpha is fixed, d's that are
    multiples of each other are put together; a whole number alpha >= 0 gives polynomials.
    """
    alpha, slope = (Fraction(1), Fraction(0))
    if not line.infinite:
        alpha, slope = (Fraction(value) for value in line.alpha[0])
    functions: Counter[tuple[Fraction, Fraction]] = Counter()
    for vector, count in terms.items():
        functions[line.distance(vector)] += count
    if all(count == 0 for count in functions.values()):
        return True
    if slope != 0:
        return False
    if alpha > 0 and alpha.denominator == 1 and alpha <= 64:
        total = fmpq_poly([0])
        for (start, rate), count in functions.items():
            total += count * fmpq_poly([_fmpq(start), _fmpq(rate)]) ** int(alpha)
        return bool(total == fmpq_poly([0]))
    groups: dict[tuple[Fraction, Fraction], list[tuple[Fraction, int]]] = {}
    for (start, rate), count in functions.items():
        scale = start if start != 0 else rate
        groups.setdefault((start / scale, rate / scale), []).append((scale, count))
    if alpha == 0:
        if any(sum(count for _, count in group) for key, group in groups.items() if key[1] != 0):
            return False
        everything = [entry for group in groups.values() for entry in group]
        return is_zero(
            Radicals(
                tuple(count for _, count in everything),
                tuple((scale,) for scale, _ in everything),
                (Fraction(1),),
                logarithm=True,
            )
        )
    return all(
        is_zero(
            Radicals(
                tuple(count for _, count in group),
                tuple((abs(scale),) for scale, _ in group),
                (alpha,),
            )
        )
        for group in groups.values()
    )


def _fmpq(value: Fraction) -> fmpq:
    return fmpq(value.numerator, value.denominator)
