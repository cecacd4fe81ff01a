"""Coordinate descent for quadratic functions with an l1 penalty.

One of the few methods that cannot be led astray by an ill-conditioned Hessian: every update
minimises exactly along one coordinate, so that the objective never increases.
"""

from __future__ import annotations

from numba import njit


@njit(cache=True, nogil=True)
def penalised_minimum(hessian, linear, start, n_penalised, weight, n_sweeps, tolerance):
    """Minimise ``z.H z / 2 - linear.z + weight * sum(abs(z[:n_penalised]))``.

    Stops after `n_sweeps` sweeps, or when no coordinate has changed the gradient by more than the
    tolerance. Coordinates without curvature stay where they are.
    """
    z = start.copy()
    product = hessian @ z
    for _ in range(n_sweeps):
        largest = 0.0
        for j in range(z.size):
            curvature = hessian[j, j]
            if curvature <= 0.0:
                continue
            target = curvature * z[j] - (product[j] - linear[j])
            if j < n_penalised:
                if target > weight:
                    target -= weight
                elif target < -weight:
                    target += weight
                else:
                    target = 0.0
            change = target / curvature - z[j]
            if change != 0.0:
                z[j] += change
                for i in range(z.size):
                    product[i] += change * hessian[i, j]
                largest = max(largest, abs(change) * curvature)
        if largest <= tolerance:
            break
    return z
