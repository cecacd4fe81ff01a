"""How SCIP should branch: a mixture of two scores, tuned exactly over all mixtures.

A branching rule chooses the variable on which a mixed-integer program is split. Here a candidate
with fraction f and objective coefficient c has the score

    mu * (fractionality 2 min(f, 1 - f)) + (1 - mu) * (weight |c| / largest |c|),

and SCIP takes every winner from certune, which finds the number of nodes as an exact function of mu
by running the solver once for each piece. Needs ``pip install "certune[scip]"``.
"""

import random
import sys
from fractions import Fraction

import certune as ct

try:
    from pyscipopt import SCIP_RESULT, Branchrule, Model, quicksum
except ImportError:
    print('this example needs SCIP: pip install "certune[scip]"')
    sys.exit(0)

MOST_NODES = 400


class MixedScores(Branchrule):
    """A branching rule whose winners are decided by somebody else."""

    def __init__(self, decisions):
        self.decisions = decisions

    def branchexeclp(self, allowaddcons):
        candidates, _, fractions, *_ = self.model.getLPBranchCands()
        costs = [abs(variable.getObj()) for variable in candidates]
        first = [2 * min(Fraction(f), 1 - Fraction(f)) for f in fractions]
        second = [Fraction(cost) / Fraction(max(costs)) for cost in costs]
        try:
            winner = self.decisions.choose_linear(
                second, [a - b for a, b in zip(first, second, strict=True)]
            )
        except BaseException:  # kept by certune; the solver only has to stop
            self.model.interruptSolve()
            return {"result": SCIP_RESULT.DIDNOTRUN}
        self.model.branchVar(candidates[winner])
        return {"result": SCIP_RESULT.BRANCHED}


def saved_nodes(problem, decisions):
    """Solve a packing problem and return the share of the allowed nodes that was not needed."""
    values, sizes, capacities = problem
    model = Model()
    model.hideOutput()
    for off in (model.setPresolve, model.setHeuristics, model.setSeparating):
        off(3)  # SCIP_PARAMSETTING.OFF
    model.setParam("propagating/maxrounds", 0)
    model.setParam("limits/nodes", MOST_NODES)
    taken = [model.addVar(vtype="B", obj=-value) for value in values]
    for row, capacity in zip(sizes, capacities, strict=True):
        model.addCons(quicksum(a * x for a, x in zip(row, taken, strict=True)) <= capacity)
    rule = MixedScores(decisions)
    model.includeBranchrule(rule, "mixture", "scores from certune", 10**6, -1, 1.0)
    model.optimize()
    return Fraction(MOST_NODES - min(model.getNTotalNodes(), MOST_NODES), MOST_NODES)


def problems(number, items=14, rows=2, seed=0):
    """Packing problems with several capacities."""
    rng = random.Random(seed)
    found = []
    for _ in range(number):
        values = tuple(rng.randint(10, 60) for _ in range(items))
        sizes = tuple(tuple(rng.randint(5, 50) for _ in range(items)) for _ in range(rows))
        found.append((values, sizes, tuple(sum(row) // 2 for row in sizes)))
    return found


def main():
    family = ct.DecisionFamily(
        saved_nodes,
        ct.Real("mu", 0, 1),
        baselines={"by weight": {"mu": 0.0}, "most fractional": {"mu": 1.0}},
    )
    result = ct.tune(family, problems(6))
    print(result)
    nodes = [round(MOST_NODES * (1 - family.run(each, result.best_params))) for each in problems(6)]
    print(f"nodes at mu = {result.best_params['mu']:.4f}: {nodes}")
    print(f"the solver ran {family.n_runs} times for exact functions of all mixtures")


if __name__ == "__main__":
    main()
