"""Every function of the compiled core, called with what it does not expect.

Each has a call that it accepts; then one argument at a time, or one array or number inside of it,
is replaced by something of another type, shape, layout or size, or by numbers out of range. The
core answers or refuses, in time; it neither ends the process nor (`make sanitize`) reads or writes
beyond its arrays.
"""

import inspect
import math
import time

import numpy as np
import pytest

import certune._core as core
from certune._core import Stop, TimeIsUp

N = 6  # points
M = 2  # labelled points, classes, metrics
SECONDS = 0.05  # after which the stop of a call is set
PATIENCE = 2.0  # seconds of the processor in which it must have ended then, with sanitizers too
REFUSALS = (TypeError, ValueError, IndexError, OverflowError, MemoryError, TimeIsUp)


class Size(int):
    """A number of results: what fits into memory is returned, so only small ones are tried."""


class Bounded(np.ndarray):
    """Whole numbers whose sums the callers of the core keep inside 64 bits."""


def bounded(numbers):
    return np.asarray(numbers).view(Bounded)


def reals(*shape):
    return np.random.default_rng(0).uniform(0.5, 2.0, shape)


def zeros(*shape, dtype=np.int64):
    return np.zeros(shape, dtype=dtype)


def trues(*shape):
    return np.ones(shape, dtype=bool)


def symmetric():
    values = reals(N, N)
    values += values.T
    np.fill_diagonal(values, 0.0)
    return values


def stop():
    return Stop(SECONDS)


# Graphs.


def edges():
    between, to_labelled = np.stack([symmetric()] * M), reals(M, N, M)
    return between, to_labelled, trues(N, N), trues(N, M), np.arange(M), M


def joined():
    return trues(N, N), trues(N, M)


def exponents():
    return symmetric(), reals(N, M)


def halving(count):
    """Return the matrix that takes coefficients on [-1, 1] to those on [-1, 0]."""
    nodes = np.cos(np.pi * (np.arange(count) + 0.5) / count)
    on_half = np.polynomial.chebyshev.chebvander(0.5 * (nodes - 1.0), count - 1)
    return np.linalg.solve(np.polynomial.chebyshev.chebvander(nodes, count - 1), on_half)


def elimination():
    work = np.triu(reals(N, N), 1), reals(N, M), np.zeros(N)
    assert core.graph.eliminate(work, Stop())
    return work


def spanning_tree():
    return core.graph.spanning_tree(exponents(), joined(), Stop())


def ranked_tree():
    return core.graph.rank_tree(spanning_tree(), exponents(), Stop())


GRAPH = {
    "fill_weights": lambda: (
        edges(),
        (reals(M), zeros(M, dtype=float)),
        0.0,
        elimination(),
        stop(),
    ),
    "eliminate": lambda: (elimination(), stop()),
    "substitute": lambda: (elimination(), stop()),
    "transition_shares": lambda: (edges(), (reals(M), zeros(M, dtype=float)), stop()),
    "solve_grounded": lambda: (elimination(), reals(N, 3), stop()),
    "inverse_diagonal": lambda: (elimination(), stop()),
    "class_energies": lambda: (elimination(), stop()),
    "chebyshev_coefficients": lambda: (reals(5, 3), stop()),
    "settle": lambda: (reals(N, M, 5), trues(N, M), reals(N) * 1e-9, halving(5), stop()),
    "spanning_tree": lambda: (exponents(), joined(), stop()),
    "gates": lambda: (joined(), stop()),
    "path_maxima": lambda: (exponents(), spanning_tree(), stop()),
    "rank_tree": lambda: (spanning_tree(), exponents(), stop()),
    "lower_margins": lambda: (exponents(), reals(N + 1, N + 1), exponents(), stop()),
    "tail_of_margins": lambda: (joined(), exponents(), stop()),
    "ranges_of_strong": lambda: (
        (exponents(), exponents()),
        joined(),
        exponents(),
        1.0,
        ranked_tree(),
        np.arange(N),
        stop(),
    ),
    "phase_links": lambda: (exponents(), joined(), ranked_tree(), stop()),
    "joined_groups": lambda: (Size(N), np.arange(3), np.arange(3) + 1),
    "path_below": lambda: (exponents(), ranked_tree(), np.arange(N), stop()),
    "crossing_sum": lambda: (exponents(), joined(), reals(N + 1, N + 1), stop()),
    "leak_sums": lambda: (
        exponents(),
        joined(),
        exponents(),
        1.0,
        reals(N + 1, N + 1),
        reals(N + 1, N + 1),
        stop(),
    ),
    "log_conductances": lambda: (exponents(), joined(), reals(N), np.arange(N), stop()),
    "chained_growth": lambda: (reals(3, N), reals(3, N), np.arange(N), reals(N), 0.5, stop()),
    "bounds_by_neighbours": lambda: (
        (exponents(), exponents()),
        joined(),
        np.arange(3),
        reals(N),
        0.1,
        reals(4, 3, 2),
        stop(),
    ),
    "exponents_at": lambda: (edges(), reals(3, M), stop()),
    "dominant_classes": lambda: (edges(), reals(3, N, N + M), np.arange(3), 1.0, stop()),
    "soft_models": lambda: (
        edges(),
        elimination(),
        reals(N, M),
        (reals(M), reals(4, M), 0.0, 1.0),
        (1e-9, 1e-9, 1e-9),
        stop(),
    ),
    "rule_out": lambda: (reals(4, N, M), reals(N, M), zeros(N), trues(N, M), stop()),
    "conflicts": lambda: (reals(N, 4) - 1.0, stop()),
    "SpanningTree": None,
    "RankedTree": None,
}

# Learning.


def step_weights():
    weights = core.learning.StepWeights(0.0, 1.0, 0.5)
    weights.add(np.array([0.25, 0.5]), np.array([1.0, 2.0, 0.0]))
    return weights


def ends():
    return np.array([0.0, 0.5, 0.75]), np.arange(3)


def joint_steps_arguments():
    return (
        (zeros(2), zeros(2) + 1),
        np.array([0, 1, 0]),
        (zeros(3) + 1, zeros(3) + 1),
        np.array([1, -1, 1]),
        np.array([True, False, True]),
    )


def joint_steps():
    return core.learning.JointSteps(*joint_steps_arguments())


LEARNING = {
    "fullest_window": lambda: (ends(), ends(), 3, 0.3, True, stop()),
    "StepWeights": lambda: (0.0, 1.0, 0.5),
    "StepWeights.set_rate": lambda: (step_weights(), 0.7),
    "StepWeights.add": lambda: (step_weights(), np.array([0.1, 0.6]), reals(3)),
    "StepWeights.take_in": lambda: (step_weights(), np.array([0.1, 0.6]), reals(3), reals(3)),
    "StepWeights.cell_masses": lambda: (step_weights(), np.array([0.0, 0.4, 1.0])),
    "StepWeights.draw": lambda: (step_weights(), 0.3, 0.4),
    "StepWeights.pieces": lambda: (step_weights(),),
    "JointSteps": joint_steps_arguments,
    "JointSteps.signed_suprema": lambda: (
        joint_steps(),
        trues(3),
        bounded(zeros(4, 2) + 1),
        stop(),
    ),
    "JointSteps.weighted_optima": lambda: (
        joint_steps(),
        np.array([0.0, 0.3, 0.6]),
        1.0,
        bounded(zeros(4, 2) + 1),
        stop(),
    ),
}

# Linkage.


def codes():
    return np.arange(N * N, dtype=np.uint64).reshape(N, N)


def pairs_arguments(mode=1):
    logs = np.log(symmetric() + np.eye(N))
    return mode, logs, 0.1 * logs, (1.0, 0.5), 1e-15, (codes(), True), np.arange(N), True


def pair_functions():
    return core.linkage.PairFunctions(*pairs_arguments())


def chain():
    """Return the children of a tree that joins one point after the other."""
    left, right = zeros(2 * N - 1), zeros(2 * N - 1)
    left[N:] = [0, *range(N, 2 * N - 2)]
    right[N:] = range(1, N)
    return left, right


def chains():
    """Return the children of two such trees."""
    return tuple(np.array([child, child]) for child in chain())


def merges():
    return np.arange(N), zeros(2 * N - 1), zeros(2 * N - 1), 0


def problem_arguments(kind=0):
    reference = zeros(N, N) + 1 - np.eye(N, dtype=np.int64)
    return kind, pair_functions(), (0.0, 1.0), merges(), (1, reference, 2)


def problem(kind=0):
    return core.linkage.Problem(*problem_arguments(kind))


def panels():
    return np.array([[1.0, 1.5], [1.5, 2.0]]), zeros(2, 2, dtype=bool)


def answer(*_):
    return 2


def no_codes():
    return zeros(0, 0, dtype=np.uint64), False


def splits():
    return np.array([[1.1, 1.2, -1.0, 1.0, -1.0, -1.0], [1.3, 1.4, 1.0, -1.0, 0.0, -1.0]])


def marks():
    return np.array([[1, 2, 3, 0, 0, 0], [1, 2, 3, 3, 0, 0]], dtype=np.uint8)


def leaves():
    intervals = np.array([[1.0, 1.2], [1.1, 1.4], [1.3, 2.0]])
    return intervals, np.array([[-1, 0, 0], [0, 1, 1], [1, -1, 0]]), splits()


def cover():
    return np.array([1.0, 1.5, 2.0]), np.array([0, 1]), np.array([1, 1])


LINKAGE = {
    "PairFunctions": pairs_arguments,
    "Problem": problem_arguments,
    "contract": lambda: (0, (symmetric(), symmetric()), 0.0, merges()[:3], stop()),
    "panel_edges": lambda: (pair_functions(), np.arange(N), (1.0, 2.0), 1e-6, stop()),
    "search": lambda: (problem(), *panels(), 0.25, answer, (1.0, 0.0, 0.5), stop()),
    "follow": lambda: (problem(), *panels(), (no_codes(), (codes(), True)), stop()),
    "solve_at": lambda: (problem(), 1.0, symmetric(), 1e-12, answer, (1.0, 0.0, 0.5), stop()),
    "polish": lambda: (0, pair_functions(), splits(), marks(), np.array([0, 1]), stop()),
    "may_tie": lambda: (0, pair_functions(), marks()[0], 1.2, stop()),
    "ranked_leaves": lambda: (leaves(), np.array([3, 4]), 4, np.array([[1.0, 2.0]])),
    "envelope": lambda: (*cover()[0:1], cover()[0] + 0.5, zeros(3), zeros(3) + 2),
    "unsettled_splits": lambda: (splits(), cover()),
    "joined": lambda: (cover(), np.array([1.25])),
    "prune": lambda: (1, bounded(zeros(N, N) + 1), *chains(), 2, stop()),
    "merge_values": lambda: (0, symmetric(), *chain()),
    "heaviest_matching": lambda: (bounded(np.arange(12).reshape(3, 4)),),
    "matched_points": lambda: (np.arange(N) % 2, np.arange(2 * N).reshape(2, N) % 3, stop()),
}

# Parts of it.

EIGHT = [1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7]
OTHER = [1.7, 1.6, 1.5, 1.4, 1.3, 1.2, 1.1, 1.0]
MEMBERS = [0], [1, 2], [3, 4]


def followed_arguments():
    return list(range(4)), reals(6, 8), 1, 1.5


def followed():
    parts = core.linkage_parts.FollowedParts(*followed_arguments())
    assert parts.unite(0, 1, [2, 3], False) == 4
    return parts


def saved_frame():
    return core.linkage_parts.SavedFrame(reals(4, 4, 8))


PARTS = {
    "locate": lambda: (EIGHT, OTHER),
    "accurate_exp": lambda: (1.0, 1e-17),
    "accurate_log": lambda: (2.0,),
    "restriction": lambda: (0.25, 0.5),
    "restrict_evidence": lambda: (EIGHT, OTHER, 2.0, 0.25, 0.5, True),
    "judge": lambda: (EIGHT, OTHER, 1, 1e-9, (0.0, 1.0), (0.0, 1.0), 0.5),
    "slope_beside": lambda: (symmetric(), symmetric(), 1e-15, MEMBERS, 1.0, 1e-6),
    "same_sums": lambda: (codes(), MEMBERS),
    "model_error": lambda: (1, symmetric(), symmetric(), (1.0, 0.5), 1e-15, (1.0, 1.1)),
    "costs_of": lambda: (1, bounded(zeros(N, N) + 1), *(side.tolist() for side in chain()), 2),
    "holds_coarse": lambda: (0.0, 0.5),
    "FollowedParts": followed_arguments,
    "FollowedParts.unite": lambda: (followed(), 4, 2, [3], False),
    "FollowedParts.begin_again": lambda: (followed(), True),
    "FollowedParts.members": lambda: (followed(), 4),
    "FollowedParts.key": lambda: (followed(), 4, 2, 0.5),
    "FollowedParts.nearest": lambda: (followed(), 4, [2, 3], 0.5),
    "FollowedParts.doubts": lambda: (followed(), 2, 3, [4], 0.5, False),
    "FollowedParts.until": lambda: (followed(), (2, 3), (4, 2), 0.5),
    "FollowedParts.bars": lambda: (followed(), 2),
    "FollowedParts.key_bar": lambda: (followed(),),
    "FollowedParts.record": lambda: (followed(), 4, 2, True),
    "FollowedParts.forget": lambda: (followed(), 4, True),
    "FollowedParts.knows": lambda: (followed(), 4, 2),
    "SavedFrame": lambda: (reals(4, 4, 8),),
    "SavedFrame.merge": lambda: (saved_frame(), 1, 0, 1, (0.5, 0.5), [2, 3]),
    "SavedFrame.rewind": lambda: (saved_frame(), 0),
}

# Boxes of it.

VERTICES = np.array([[0.6, 0.4], [0.5, 0.5]])


def boxes_arguments():
    distances = symmetric()
    data = np.stack([distances, 2.0 * distances + (distances > 0)])
    return data, np.arange(N), False, 0, (0, False)


def box_problem():
    return core.linkage_boxes.Problem(*boxes_arguments())


def ties():
    faces = np.array([[1, 0, 0]])
    return codes(), faces, codes()[None]


def following(vertices=VERTICES):
    return (
        box_problem(),
        vertices,
        (1.0, 0.4, False, 1.0),
        (1e-12, 1e-14),
        ties(),
        zeros(0, 2),
        (64, 16),
        stop(),
    )


def decision_tree():
    tree = core.linkage_boxes.Problem.follow(*following()[:-1], Stop())
    assert tree.complete
    return tree


def valued_tree():
    tree = decision_tree()
    tree.set_values(np.arange(len(tree.leaves)))
    return tree


def part():
    tree = valued_tree()
    return tree, tree.root, np.array([[-0.5, -0.5], [0.5, 0.5]]), zeros(0, 0, dtype=float)


BOXES = {
    "Problem": boxes_arguments,
    "Problem.follow": following,
    "DecisionTree": None,
    "DecisionTree.set_values": lambda: (lambda tree: (tree, np.arange(len(tree.leaves))))(
        decision_tree()
    ),
    "DecisionTree.look": part,
    "DecisionTree.linear": part,
}

# Logistic regression.


def design_arguments():
    rows = reals(N, 3)
    return rows, np.ascontiguousarray(rows.T), np.ones(N), 4.0


def design():
    return core.logistic.Design(*design_arguments())


def factor():
    return core.logistic.Factor(np.eye(3), 1.0)


LOGISTIC = {
    "Design": design_arguments,
    "Factor": lambda: (np.eye(3), 1.0),
    "accurate_residual": lambda: (design(), reals(3), reals(3), stop()),
    "distance_bound": lambda: (0.1, 1.0, 2.0),
    "refined": lambda: (
        design(),
        (0.1, reals(3), reals(3)),
        factor(),
        reals(3),
        0.1,
        1e-9,
        stop(),
    ),
    "solved_near": lambda: (
        design(),
        factor(),
        (reals(3), reals(3)),
        reals(4),
        reals(4, 3),
        1e-9,
        stop(),
    ),
    "penalised_minimum": lambda: (
        np.eye(3),
        reals(3),
        reals(3),
        reals(2),
        False,
        (10, 1e-9),
        stop(),
    ),
    "accurate_transposed_product": lambda: (reals(N, 3), reals(N), stop()),
}

# Polynomials.


def polynomials():
    return reals(3, 4), np.array([4, 1, 2])


NUMERIC = {
    "evaluate": lambda: (polynomials(), np.arange(3), np.array([-1.0, 0.0, 0.5]), stop()),
    "add_samples": lambda: (
        polynomials(),
        (np.array([0, -1, 2]), reals(3) - 2.0, reals(3)),
        reals(3, 5),
        np.array([5, 0, 3]),
        stop(),
    ),
    "interpolate": lambda: (reals(3, 5), np.array([5, 0, 3]), stop()),
}

# Programs.

FIRST, SECOND = (1.0, 0.0, 0.0, 2.0, 0.0, 0.0), (2.0, 0.0, 1e-18, -1.0, 0.0, 1e-18)


def tape_arguments(n_parameters=1):
    steps = [[0, 0, 0], [1, 0, 0], [2, 0, 1], [5, 2, 1], [6, 3, 3], [7, 4, 4], [8, 5, 5], [9, 6, 6]]
    return np.array(steps), np.array([[2.0, 2.0]]), n_parameters


def tape(n_parameters=1):
    return core.programs.Tape(*tape_arguments(n_parameters))


PROGRAMS = {
    "crossing": lambda: (FIRST, SECOND),
    "sign_at": lambda: (FIRST, SECOND, 0.5),
    "kinetic_order": lambda: (reals(N, 6), np.arange(N), (0.0, 1.0, 100), stop()),
    "Tape": tape_arguments,
    "Tape.on_boxes": lambda: (tape(2), reals(100, 4), stop()),
    "Tape.on_interval": lambda: (tape(), 0.5, 1.0),
}

CALLS = {
    "graph": GRAPH,
    "learning": LEARNING,
    "linkage": LINKAGE,
    "linkage_boxes": BOXES,
    "linkage_parts": PARTS,
    "logistic": LOGISTIC,
    "numeric": NUMERIC,
    "programs": PROGRAMS,
}


def names_of(room):
    """Return the names of all functions, classes and methods of a room."""
    for name, entry in vars(room).items():
        if name.startswith("_") or not callable(entry):
            continue
        yield name
        if inspect.isclass(entry):
            for method, function in vars(entry).items():
                if not method.startswith("_") and callable(function):
                    yield f"{name}.{method}"


def test_every_function_is_called():
    rooms = {name for name, entry in vars(core).items() if inspect.ismodule(entry)}
    assert rooms == set(CALLS)
    for room in rooms:
        assert set(names_of(getattr(core, room))) == set(CALLS[room]), room


# What takes the place of an argument.


def in_place_of(value):
    """Yield what may stand where a value stood: nothing of it need be accepted."""
    if isinstance(value, tuple):
        yield from (None, (), value[:-1], (*value, value[-1]), (value,))
        for i, entry in enumerate(value):
            for other in in_place_of(entry):
                yield (*value[:i], other, *value[i + 1 :])
    elif isinstance(value, np.ndarray):
        yield from other_arrays(value)
    elif isinstance(value, list):
        yield from (None, [], value[:-1], [*value, value[-1]], [str(value[0])])
        for other in in_place_of(value[-1]):
            yield [*value[:-1], other]
    elif isinstance(value, bool):
        yield from (None, not value, "yes")
    elif isinstance(value, Size):
        yield from (None, -1, 0, 1, -(2**63), 2**62, 2**70, 0.5, "1")
    elif isinstance(value, int):
        yield from (None, -1, 0, 1, value + 1, 7, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63), 2**70)
        yield from (0.5, "1")
    elif isinstance(value, float):
        yield from (None, math.nan, math.inf, -math.inf, 0.0, -1.0, 5e-324, 1e308, -1e308, "1")
    elif isinstance(value, Stop):
        yield from (None, Stop(0.0))
    elif callable(value):
        yield from (None, lambda *_: "nearer", lambda *_: (1.2, 1.1, 7), lambda: 0, lambda *_: 9)
        yield lambda *_: 1 // 0
    else:
        yield from (None, object())


def other_arrays(array):
    """Yield arrays of other types, shapes and layouts, and with single entries out of range."""
    out_of_range = entries_out_of_range(array)
    array = np.asarray(array)
    yield from (None, array.tolist(), array.astype(np.float32), array.astype(complex))
    yield array.astype(np.int64 if array.dtype != np.int64 else np.float64)
    yield array.astype(">f8")
    yield from (array[None], np.asfortranarray(np.stack([array] * 2))[0], array[..., ::-1])
    yield np.repeat(array, 2, axis=-1)[..., ::2]
    for axis in range(array.ndim):
        entries = np.arange(array.shape[axis])
        for taken in (entries[:0], entries[:-1], np.append(entries, entries[-1:])):
            yield np.ascontiguousarray(array.take(taken, axis=axis))
    if array.ndim:
        yield np.zeros((2**20, *(0 for _ in array.shape[1:])), array.dtype)
        yield np.zeros((2**12, *(2**4 for _ in array.shape[1:])), array.dtype)
    fixed = array.copy()
    fixed.flags.writeable = False
    yield fixed
    if array.size:
        for entry in out_of_range:
            for place in {0, array.size // 2, array.size - 1}:
                changed = array.copy()
                changed.reshape(-1)[place] = entry
                yield changed
            yield np.full_like(array, entry)


def entries_out_of_range(array):
    if isinstance(array, Bounded):
        return -1, 0, 1000
    if array.dtype == bool:
        return True, False
    if array.dtype == np.float64:
        return math.nan, math.inf, -math.inf, 0.0, -1.0, 1e308, -1e308, 5e-324
    if array.dtype == np.int64:
        return -1, 0, len(array), 1000, 2**31, 2**63 - 1, -(2**63)
    return 0, 4, np.iinfo(array.dtype).max


def answered(function, arguments):
    """Call a function and tell how long it took if it answered or refused."""
    begin = time.process_time()
    try:
        function(*arguments)
    except REFUSALS:
        pass
    except ZeroDivisionError:  # what a test's own answer raises comes through
        assert any(callable(argument) for argument in arguments)
    return time.process_time() - begin


def calls_of(room):
    return [name for name, arguments in CALLS[room].items() if arguments is not None]


@pytest.mark.parametrize(
    ("room", "name"), [(room, name) for room in CALLS for name in calls_of(room)]
)
def test_strange_arguments_are_answered_or_refused(room, name):
    owner = getattr(core, room)
    for part in name.split(".")[:-1]:
        owner = getattr(owner, part)
    function = getattr(owner, name.split(".")[-1])
    arguments = CALLS[room][name]
    # The plain call is accepted, however busy the machine is.
    function(*(Stop() if isinstance(own, Stop) else own for own in arguments()))
    for i in range(len(arguments())):
        for other in in_place_of(arguments()[i]):
            own = arguments()
            changed = (*own[:i], other, *own[i + 1 :])
            assert answered(function, changed) < PATIENCE, (i, other)
    with pytest.raises(TypeError):
        function(*arguments(), None)
