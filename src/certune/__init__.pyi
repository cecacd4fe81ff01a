# The public names, each written once: `__init__.py` reads this file, and so do type checkers.
from . import datasets, guarantees, linear_model, online, pfaffian, testing
from .aggregates import CVaR, Quantile
from .box import Box
from .cli.verifying import verify
from .data import folds, from_csv, from_frame, labeling_folds, read_stream, save_instances
from .dual import CellMap, PiecewiseFunction, PiecewisePolynomial, mean
from .errors import (
    CertificateError,
    CertuneError,
    CostWarning,
    InputError,
    NothingFinishedError,
    ParameterError,
    RangeWarning,
    TuningError,
    UndecidedError,
    UndecidedWarning,
    WorkerError,
)
from .estimators import (
    GenieClusterer,
    HarmonicClassifier,
    LinkageClustering,
    RegularizedLogisticPath,
)
from .families.genie import GenieClustering
from .families.graph_ssl import HarmonicLabeling, LabelingInstance
from .families.linkage import ClusteringInstance, Linkage, ThresholdLinkage
from .families.logistic import ClassificationInstance, RegularizedLogistic
from .families.programs import (
    AlignmentInstance,
    BinPackingInstance,
    ConstrainedThreshold,
    CostComplexityPruning,
    DecisionFamily,
    Decisions,
    DensityClustering,
    DensityInstance,
    GreedyIndependentSet,
    GreedyKnapsack,
    GreedySetCover,
    IndependentSetInstance,
    KnapsackInstance,
    NeighborInstance,
    NeighborVoting,
    ProgramFamily,
    PruningInstance,
    ScoredInstance,
    SequenceAlignment,
    SetCoverInstance,
    VectorBinPacking,
)
from .families.regression import RegressionInstance, RegularizedRegression
from .families.schedules import RuntimeInstance, SolverSchedule
from .guarantees import Guarantee
from .online import Dispersion, OnlineTuner, Regret, dispersion
from .pfaffian.bounds import PdimBound, SampleSize, pdim_bound, sample_size
from .pfaffian.structure import GJStructure, HomogeneousStructure, PiecewiseStructure
from .scores import Score
from .space import Categorical, Integer, LogReal, ParameterSpace, Real, Segment, Simplex
from .tuning import (
    BoxCertificate,
    BoxVerificationReport,
    Certificate,
    Choice,
    ChoiceCertificate,
    ChoiceProgress,
    ChoiceResult,
    ChoiceVerificationReport,
    CostEstimate,
    Evaluation,
    HeldOutEvaluation,
    LineTuningResult,
    Progress,
    Schedule,
    ScheduleResult,
    SearchProgress,
    SpaceTuningResult,
    Status,
    StoredRun,
    StoredSearch,
    StoredStream,
    StreamResult,
    TuningResult,
    VerificationReport,
    best_schedule,
    cell_map,
    estimate_cost,
    load,
    tune,
    tune_stream,
)

__version__: str
