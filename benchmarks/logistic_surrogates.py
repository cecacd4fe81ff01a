"""How good are the incremental quadratic surrogates of the path? Their error against the step.

For each penalty, range of lam and step epsilon: the largest Euclidean distance between the
coefficients of the surrogate and the solution, over 300 random values of lam and, with l1, where
coefficients enter or leave; and the order of convergence that two successive steps show (2 where
the error is of the order of epsilon squared). "as printed" follows the l1 algorithm of the paper
to the letter, with its constant delta, at the knots.

    python benchmarks/logistic_surrogates.py
"""

import warnings

import numpy as np

POINTS, INFINITE = 300, 1e6
SHARES = (1.0, 1 / 3, 1 / 10, 1 / 30, 1 / 100, 1 / 300)
RANGES = ((0.1, 0.5), (0.01, 0.05), (0.001, 0.005))
DELTA = 1e-4


def truth(family, instance, lams):
    from certune.families.logistic.path import solution_at

    data = family.data(instance)
    return np.array([data.plain(solution_at(data, lam, 1e-12).coefficients) for lam in lams])


def surrogate(family, instance, epsilon, lams):
    path = family.surrogate(instance, epsilon)
    return np.array([path.at(lam) for lam in lams])


def as_printed(family, instance, epsilon, lams):
    """alg:rosset-lasso to the letter, at the knots."""
    from certune.families.logistic.path import solution_at

    data = family.data(instance)
    design, p = data.plain_rows(instance.X, instance.y), instance.n_features
    low, high = family.lam
    point = data.plain(solution_at(data, low, 1e-12).coefficients)
    active = np.append(np.flatnonzero(point[:p]), p)
    knots, points = [low], [point]
    while knots[-1] < high and np.abs(point).max() < INFINITE:
        chances = 1 / (1 + np.exp(np.clip(design @ point, -700, 700)))
        lam = knots[-1] + epsilon
        columns = design[:, active]
        gradient = -(columns.T @ chances) / len(design)
        hessian = (columns.T * (chances * (1 - chances) / len(design))) @ columns
        signs = np.where(active < p, np.sign(point[active]), 0.0)
        moved = np.zeros(p + 1)
        step = np.linalg.lstsq(hessian, gradient + lam * signs, rcond=None)[0]
        moved[active] = point[active] - step
        # What has just entered is zero, and leaves at once: as printed nothing ever enters.
        active = active[(np.abs(moved[active]) >= DELTA) | (active == p)]
        point = moved
        knots.append(lam)
        points.append(point)
    if knots[-1] < high:
        return None
    index = np.clip(np.searchsorted(knots, lams), 0, len(knots) - 1)
    return np.array(points)[index], np.array(knots)[index]


def shown(error, before, factor):
    if error is None or not error < INFINITE:
        return "diverges", ""
    order = np.log(before / error) / np.log(factor) if before and before < INFINITE else None
    return f"{error:.1e}", "" if order is None else f"{order:.1f}"


def main():
    import certune as ct

    warnings.simplefilter("ignore")
    [instance] = ct.datasets.breast_cancer_classification(1, n_train=200, n_validation=100)
    print("| penalty | range of lam | epsilon / lam_min | error | order | as printed |")
    print("|---|---|---|---|---|---|")
    for penalty in ("l2", "l1"):
        for low, high in RANGES:
            family = ct.RegularizedLogistic(penalty, (low, high), standardize=True)
            lams = np.random.default_rng(0).uniform(low, high, POINTS)
            events = family.path(instance).starts[1:] if penalty == "l1" else []
            lams = np.concatenate((lams, events)).tolist()
            exact = truth(family, instance, lams)
            before = None
            for number, share in enumerate(SHARES):
                epsilon = share * low
                found = surrogate(family, instance, epsilon, lams)
                error = float(np.linalg.norm(found - exact, axis=1).max())
                factor = SHARES[number - 1] / share if number else 1.0
                text, order = shown(error, before, factor)
                printed = "as here"
                if penalty == "l1":
                    answer = as_printed(family, instance, epsilon, lams)
                    printed = "diverges"
                    if answer is not None:
                        at_knots = truth(family, instance, np.minimum(answer[1], high).tolist())
                        gap = np.linalg.norm(answer[0] - at_knots, axis=1).max()
                        printed = f"{gap:.1e}" if gap < INFINITE else "diverges"
                print(
                    f"| {penalty} | [{low}, {high}] | {share:.3g} | {text} | {order} | {printed} |"
                )
                before = error


if __name__ == "__main__":
    main()
