"""Soft labels as balls, to as many bits as it takes.

Elimination in doubles is accurate but not to more than 53 bits.  Used as the approximate inverse
in iterative refinement, with weights and residuals in ball arithmetic, it gains more than 40 bits a
step at the cost of a matrix-vector product.  What remains is enclosed: the inverse of the matrix
has no negative entry, so an error is at most the inverse applied to the moduli of the residual.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, arb_mat, ctx, fmpq

from certune.families.graph_ssl.exponents import needed_range
from certune.families.graph_ssl.graph import Graph
from certune.families.graph_ssl.solver import PLAIN_RANGE, PointSolver
from certune.kernels.gth import solve_grounded

STEPS = 12
# Covers the relative error of the inverse in doubles, which is of the order of n**2 units.
INVERSE_SLACK = 1.01


def ball_labels(graph: Graph, rates: Sequence[Fraction], bits: int) -> list[list[arb]]:
    """Soft labels ``[class][node]`` as balls that contain the exact ones.

    The radii are about ``2**-bits``, relatively to 1. O(n^2) operations in ball arithmetic,
    O(n^3) if the exponents leave the range of doubles.
    """
    factors = np.array([float(rate) for rate in rates])
    smallest, largest = needed_range(graph, [graph.combined(factors)])
    # Sums of weights lose the bits by which the weights of one row differ.
    with ctx.workprec(bits + 2 * int(largest - smallest) + 64):
        matrix, right = _system(graph, rates, smallest)
        if largest - smallest > PLAIN_RANGE:
            solution = _by_elimination(matrix, right)
        else:
            solution = _refined(graph, rates, smallest, matrix, right, bits)
        n, n_classes = graph.n_nodes, graph.n_classes
        return [[solution[i, c] for i in range(n)] for c in range(n_classes)]


def _by_elimination(matrix: arb_mat, right: arb_mat) -> arb_mat:
    try:
        return matrix.solve(right)
    except ZeroDivisionError:
        return arb_mat([[arb(0, 1)] * right.ncols() for _ in range(right.nrows())])


def _refined(
    graph: Graph,
    rates: Sequence[Fraction],
    shift: float,
    matrix: arb_mat,
    right: arb_mat,
    bits: int,
) -> arb_mat:
    solver = PointSolver(graph)
    soft = arb_mat(solver.solve(rates, shift, shift).tolist())
    error = np.ones((graph.n_nodes, graph.n_classes))
    for _ in range(STEPS):
        residual = right - matrix * soft
        scale = _power_of_two(residual)
        moduli = _doubles(residual * scale, lambda ball: float(abs(ball).upper()))
        solve_grounded(solver.weights, solver.sums, moduli)
        error = moduli * INVERSE_SLACK
        if float(arb(float(error.max())) / scale) < 2.0**-bits:
            break
        step = _doubles(residual * scale, lambda ball: float(ball.mid()))
        solve_grounded(solver.weights, solver.sums, step)
        soft = _midpoints(soft + arb_mat(step.tolist()) * (1 / scale))
    else:
        # The last step was not measured.
        residual = right - matrix * soft
        moduli = _doubles(residual * scale, lambda ball: float(abs(ball).upper()))
        solve_grounded(solver.weights, solver.sums, moduli)
        error = moduli * INVERSE_SLACK
    radii = [[arb(0, arb(float(value)) / scale) for value in row] for row in error]
    return soft + arb_mat(radii)


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


def _system(graph: Graph, rates: Sequence[Fraction], shift: float) -> tuple[arb_mat, arb_mat]:
    """Grounded Laplacian and right-hand sides, all weights times exp(shift)."""
    n, n_classes = graph.n_nodes, graph.n_classes
    factors = [arb(fmpq(rate.numerator, rate.denominator)) for rate in rates]
    offset = arb(shift)

    def weight(distances: Any) -> arb:
        exponent = offset
        for factor, distance in zip(factors, distances, strict=True):
            exponent -= factor * distance
        return exponent.exp()

    matrix = [[arb(0)] * n for _ in range(n)]
    right = [[arb(0)] * n_classes for _ in range(n)]
    for i in range(n):
        for j in range(i + 1, n):
            if graph.is_edge[i, j]:
                w = weight(graph.between[:, i, j].tolist())
                matrix[i][j] = matrix[j][i] = -w
                matrix[i][i] += w
                matrix[j][j] += w
        for j, c in enumerate(graph.class_of.tolist()):
            if graph.is_edge_to_labelled[i, j]:
                w = weight(graph.to_labelled[:, i, j].tolist())
                matrix[i][i] += w
                right[i][c] += w
    return arb_mat(matrix), arb_mat(right)
