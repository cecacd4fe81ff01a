"""What a tuned setting will do on the next instance, and how many instances are enough.

Everything here is computed from the exact utility functions of the tuning instances, from the
utilities on held-out instances, or from the proved structure of a family; ``certune.TuningResult``
has methods that call it. Names say what is known: ``_bound`` and ``Guarantee`` hold with a stated
probability, ``_estimate`` and curves do not.
"""

from __future__ import annotations

from certune.guarantees.betting import betting_sequence
from certune.guarantees.bounded_mean import Interval, mean_interval
from certune.guarantees.candidates import Candidate, CandidateBootstrap, Candidates
from certune.guarantees.guarantee import Guarantee, make_guarantee
from certune.guarantees.learning import LearningCurve, PowerLaw, learning_curve
from certune.guarantees.occam import SimpleSetting, best_simple_setting
from certune.guarantees.rademacher import (
    RademacherComplexity,
    massart_bound,
    rademacher,
    rademacher_bound,
)
from certune.guarantees.records import Evidence, OptimismBound, Tuned
from certune.guarantees.refinement import JointRefinement, refine
from certune.guarantees.sample_sizes import InstancesNeeded, instances_needed
from certune.guarantees.selection import (
    Selection,
    one_standard_error,
    optimum,
    standard_error,
    widest_plateau,
)
from certune.guarantees.shared_points import decided_at_shared_points
from certune.guarantees.smoothing import smoothed_optimum
from certune.guarantees.stability import (
    Bootstrap,
    CrossValidation,
    Fold,
    bootstrap,
    cross_validate,
)
from certune.guarantees.sums import CellCover, SignedSums, cover_of
from certune.guarantees.surrogates import (
    Smooth,
    Surrogate,
    smooth_sample,
    step_surrogate,
    sup_distance,
)
from certune.guarantees.tail_interval import tail_interval
from certune.guarantees.vectors import count_utility_vectors
from certune.guarantees.worst_case import SurrogateClass, surrogate_bound

__all__ = [
    "Bootstrap",
    "Candidate",
    "CandidateBootstrap",
    "Candidates",
    "CellCover",
    "CrossValidation",
    "Evidence",
    "Fold",
    "Guarantee",
    "InstancesNeeded",
    "Interval",
    "JointRefinement",
    "LearningCurve",
    "OptimismBound",
    "PowerLaw",
    "RademacherComplexity",
    "Selection",
    "SignedSums",
    "SimpleSetting",
    "Smooth",
    "Surrogate",
    "SurrogateClass",
    "Tuned",
    "best_simple_setting",
    "betting_sequence",
    "bootstrap",
    "count_utility_vectors",
    "cover_of",
    "cross_validate",
    "decided_at_shared_points",
    "instances_needed",
    "learning_curve",
    "make_guarantee",
    "massart_bound",
    "mean_interval",
    "one_standard_error",
    "optimum",
    "rademacher",
    "rademacher_bound",
    "refine",
    "smooth_sample",
    "smoothed_optimum",
    "standard_error",
    "step_surrogate",
    "sup_distance",
    "tail_interval",
    "surrogate_bound",
    "widest_plateau",
]
