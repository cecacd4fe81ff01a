"""Coordinate descent for quadratic functions with an l1 penalty.

One of the few methods that cannot be led astray by an ill-conditioned Hessian: every update
minimises exactly along one coordinate, so that the objective never increases.
"""

from __future__ import annotations

from numba import njit


@njit(cache=True, nogil=True)
def penalised_minimum(hessian, linear, start, weights, n_sweeps, tolerance):
    """Minimise ``z.H z / 2 - linear.z + weights.abs(z)``, the last for the first coordinates.

    Stops after `n_sweeps` sweeps, or when no coordinate has changed the gradient by more than the
    tolerance times its weight (the smallest weight for one without). Coordinates without curvature
    stay where they are.
    """
    z = start.copy()
    product = hessian @ z
    smallest = weights.min() if weights.size else 0.0
    for _ in range(n_sweeps):
        settled = True
        for j in range(z.size):
            curvature = hessian[j, j]
            if curvature <= 0.0:
                continue
            target = curvature * z[j] - (product[j] - linear[j])
            if j < weights.size:
                if target > weights[j]:
                    target -= weights[j]
                elif target < -weights[j]:
                    target += weights[j]
                else:
                    target = 0.0
            change = target / curvature - z[j]
            if change != 0.0:
                z[j] += change
                for i in range(z.size):
                    product[i] += change * hessian[i, j]
                weight = weights[j] if j < weights.size else smallest
                settled = settled and abs(change) * curvature <= tolerance * weight
        if settled:
            break
    return z
