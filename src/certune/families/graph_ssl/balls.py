"""Soft labels as balls, to as many bits as it takes.

Small graphs are eliminated in balls; without subtraction that needs no more bits than the result.
For larger ones elimination in doubles is the approximate inverse in iterative refinement: with
weights and residuals in ball arithmetic it gains more than 40 bits a step at the cost of a
matrix-vector product.  What remains is enclosed: the inverse of the matrix has no negative entry,
so an error is at most the inverse applied to the moduli of the residual.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from flint import arb, arb_mat, ctx, fmpq

from certune.deadline import check_time
from certune.exact.precision import PRECISION_LOCK
from certune.families.graph_ssl.exponents import needed_range
from certune.families.graph_ssl.graph import Graph
from certune.families.graph_ssl.solver import PLAIN_RANGE, PointSolver
from certune.kernels.graph import solve_grounded

# What a step of iterative refinement gains at least, and steps that may gain nothing.
BITS_OF_A_STEP = 32
SPARE_STEPS = 4
# Graphs of up to this many nodes are eliminated in balls, which is then faster than refinement.
SMALL = 64
# Covers the relative error of the inverse in doubles, which is of the order of n**2 units.
INVERSE_SLACK = 1.01
GUARD_BITS = 64
# Added to residuals that are doubles: what underflowed.
TINY = 1e-300

Rows = list[list[arb]]


def ball_labels(
    graph: Graph, rates: Sequence[Fraction], bits: int, classes: Sequence[int] | None = None
) -> list[list[arb]]:
    """Soft labels ``[class][node]`` as balls that contain the exact ones.

    The radii are about ``2**-bits``, relatively to 1. O(n^3) operations in ball arithmetic for
    small graphs and if the exponents leave the range of doubles, else O(n^2) for each 40 bits.

    Parameters
    ----------
    graph : Graph
        The edges.
    rates : sequence of Fraction
        Exponents are the distances times these.
    bits : int
        Accuracy.
    classes : sequence of int, optional
        The classes that are wanted, in this order; all by default.
    """
    check_time()
    wanted = range(graph.n_classes) if classes is None else classes
    factors = np.array([float(rate) for rate in rates])
    smallest, largest = needed_range(graph, [graph.combined(factors)])
    spread = largest - smallest
    if spread > PLAIN_RANGE or graph.n_nodes <= SMALL:
        with PRECISION_LOCK, ctx.workprec(bits + GUARD_BITS + int(math.log2(1 + abs(largest)))):
            soft = _eliminated(*_weights(graph, rates, smallest))
            return [soft[c] for c in wanted]
    # Sums of weights lose the bits by which the weights of one row differ.
    with PRECISION_LOCK, ctx.workprec(bits + 2 * int(spread) + GUARD_BITS):
        return _refined(graph, rates, smallest, bits, list(wanted))


def _eliminated(weights: Rows, classes: Rows) -> list[list[arb]]:
    """Soft labels by elimination without subtraction, which needs no more bits than the result."""
    n, n_classes = len(weights), len(classes[0])
    later = []
    for p, row in enumerate(weights):
        neighbours = [j for j in range(p + 1, n) if row[j] != 0]
        total = sum((row[j] for j in neighbours), sum(classes[p], arb(0)))
        shares = [(j, row[j] / total) for j in neighbours]
        own = [weight / total for weight in classes[p]]
        for number, (i, _) in enumerate(shares):
            target, given = weights[i], row[i]
            for j, share in shares[number + 1 :]:
                target[j] += given * share
            for c in range(n_classes):
                classes[i][c] += given * own[c]
        classes[p] = own
        later.append(shares)
    soft = classes
    for p in range(n - 1, -1, -1):
        for j, share in later[p]:
            for c in range(n_classes):
                soft[p][c] += share * soft[j][c]
    return [[soft[i][c] for i in range(n)] for c in range(n_classes)]


def _refined(
    graph: Graph, rates: Sequence[Fraction], shift: float, bits: int, wanted: list[int]
) -> list[list[arb]]:
    matrix, right = _system(*_weights(graph, rates, shift), wanted)
    solver = PointSolver(graph)
    soft = arb_mat(solver.solve(rates, shift)[:, wanted].tolist())
    small_enough = arb(2) ** -bits
    for steps_left in range(bits // BITS_OF_A_STEP + SPARE_STEPS, -1, -1):
        residual = right - matrix * soft
        scale = _power_of_two(residual)
        scaled = residual * scale
        moduli = _doubles(scaled, lambda ball: float(abs(ball).upper())) + TINY
        error = INVERSE_SLACK * solve_grounded(solver.work, moduli)
        if steps_left == 0 or bool(arb(float(error.max())) / scale < small_enough):
            break
        step = solve_grounded(solver.work, _doubles(scaled, lambda ball: float(ball.mid())))
        soft = _midpoints(soft + arb_mat(step.tolist()) * (1 / scale))
    radii = [[arb(0, arb(float(value)) / scale) for value in row] for row in error]
    solution = soft + arb_mat(radii)
    return [[solution[i, c] for i in range(graph.n_nodes)] for c in range(len(wanted))]


def _power_of_two(matrix: arb_mat) -> arb:
    """A scale that brings the largest entry close to 1, so that doubles can hold all."""
    largest = max((abs(entry).upper() for entry in matrix.entries()), default=arb(0))
    if not largest > 0:
        return arb(1)
    exponent = math.floor(float(largest.log() / arb(2).log()))
    return arb(2) ** -exponent


def _doubles(matrix: arb_mat, convert: Any) -> Any:
    entries = [convert(entry) for entry in matrix.entries()]
    return np.array(entries).reshape(matrix.nrows(), matrix.ncols())


def _midpoints(matrix: arb_mat) -> arb_mat:
    entries = [entry.mid() for entry in matrix.entries()]
    return arb_mat(matrix.nrows(), matrix.ncols(), entries)


def _weights(graph: Graph, rates: Sequence[Fraction], shift: float) -> tuple[Rows, Rows]:
    """Weights times exp(shift): among nodes above the diagonal, and to the classes."""
    n, n_classes = graph.n_nodes, graph.n_classes
    factors = [arb(fmpq(rate.numerator, rate.denominator)) for rate in rates]
    offset = arb(shift)

    @cache
    def weight(*distances: float) -> arb:
        exponent = offset
        for factor, distance in zip(factors, distances, strict=True):
            exponent -= factor * distance
        return exponent.exp()

    weights = [[arb(0)] * n for _ in range(n)]
    classes = [[arb(0)] * n_classes for _ in range(n)]
    class_of = graph.class_of.tolist()
    for i in range(n):
        later = np.flatnonzero(graph.is_edge[i, i + 1 :]) + i + 1
        row = weights[i]
        for j, lengths in zip(later.tolist(), graph.between[:, i, later].T.tolist(), strict=True):
            row[j] = weight(*lengths)
        near = np.flatnonzero(graph.is_edge_to_labelled[i])
        row = classes[i]
        for j, lengths in zip(near.tolist(), graph.to_labelled[:, i, near].T.tolist(), strict=True):
            row[class_of[j]] += weight(*lengths)
    return weights, classes


def _system(weights: Rows, classes: Rows, wanted: list[int]) -> tuple[arb_mat, arb_mat]:
    """Grounded Laplacian and the right-hand sides of the classes that are wanted."""
    n = len(weights)
    upper = arb_mat(weights)
    matrix = -(upper + upper.transpose())
    sums = arb_mat(classes) * arb_mat(len(classes[0]), 1, [arb(1)] * len(classes[0]))
    sums -= matrix * arb_mat(n, 1, [arb(1)] * n)
    for i in range(n):
        matrix[i, i] = sums[i, 0]
    return matrix, arb_mat([[row[c] for c in wanted] for row in classes])
