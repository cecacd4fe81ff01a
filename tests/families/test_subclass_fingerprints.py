"""A user's subclass of a family is another family: what it overrides and holds is told apart."""

import functools
import importlib.util
import pickle
import subprocess
import sys
import threading
import types
from dataclasses import dataclass
from fractions import Fraction

import pytest

import certune as ct
from certune.families.reach import reach
from certune.testing import StepFamily, StepInstance

CLUSTERS = ct.datasets.random_clustering(2, n_per_cluster=4, random_state=0)
STEPS = [StepInstance((0.25, 0.5), (Fraction(0), Fraction(1), Fraction(1, 2)))]


class Halved(ct.Linkage):
    def run_exact(self, instance, params):
        return super().run_exact(instance, params) / 2


class Third(ct.Linkage):
    def run_exact(self, instance, params):
        return super().run_exact(instance, params) / 3


class Plain(ct.Linkage):
    """Nothing of its own."""


class Below(Halved):
    def solve(self, instance, params):
        return 1 - super().solve(instance, params)


PARENTS = {
    "linkage": lambda cls: cls(ct.Linkage)("energy", alpha=(0.5, 3)),
    "genie": lambda cls: cls(ct.GenieClustering)(),
    "graphs": lambda cls: cls(ct.HarmonicLabeling)(sigma=(0.5, 3)),
    "logistic": lambda cls: cls(ct.RegularizedLogistic)("l2", lam=(1e-3, 1)),
    "regression": lambda cls: cls(ct.RegularizedRegression)("l1", max_error=2),
    "knapsack": lambda cls: cls(ct.GreedyKnapsack)(),
    "schedule": lambda cls: cls(ct.SolverSchedule)(("a", "b"), cutoff=10),
    "program": lambda cls: cls(ct.ProgramFamily)(lambda x, p: 1, ct.Real("a", 0, 1)),
    "decisions": lambda cls: cls(ct.DecisionFamily)(lambda x, p: 1, ct.Real("a", 0, 1)),
    "steps": lambda cls: cls(StepFamily)(),
}


@pytest.mark.parametrize("name", PARENTS)
@pytest.mark.parametrize("method", ["run", "run_exact", "dual", "solve", "bound_on_box"])
def test_what_a_subclass_overrides_counts(name, method):
    def overriding(answer):
        def override(self, *given):
            return answer

        return lambda parent: type("Override", (parent,), {method: override})

    make = PARENTS[name]
    parent, one, again, other = (
        make(cls) for cls in (lambda p: p, overriding(1), overriding(1), overriding(2))
    )
    assert one.fingerprint == again.fingerprint
    assert len({parent.fingerprint, one.fingerprint, other.fingerprint}) == 3
    assert not one.fingerprint_doubts


def test_subclasses_of_subclasses_are_told_apart():
    families = [cls() for cls in (ct.Linkage, Halved, Third, Plain, Below)]
    assert len({family.fingerprint for family in families}) == len(families)
    assert Below().fingerprint == families[-1].fingerprint
    assert Halved("min-max").fingerprint != Halved().fingerprint
    assert not any(family.fingerprint_doubts for family in families)


class Penalised(ct.Linkage):
    def __init__(self, penalty, *given):
        super().__init__(*given)
        self.penalty = penalty


@dataclass(frozen=True, slots=True)
class Slotted(StepFamily):
    shift: float = 0.0


def test_attributes_of_a_subclass_count():
    for cls in (Penalised, lambda value: Slotted(shift=value)):
        one, again, other = cls(0.25), cls(0.25), cls(0.5)
        assert one.fingerprint == again.fingerprint != other.fingerprint
        assert pickle.loads(pickle.dumps(one)).fingerprint == one.fingerprint


def test_a_subclass_that_says_its_fingerprint_answers_for_itself():
    class Counting(StepFamily):
        calls = 0
        lock = threading.Lock()

        @property
        def fingerprint(self):
            return f"{super().fingerprint}00"

        def solve(self, instance, params):
            with self.lock:
                Counting.calls += 1
            return super().solve(instance, params)

    family = Counting()
    assert family.fingerprint == StepFamily().fingerprint + "00"
    assert not family.fingerprint_doubts
    certificate = ct.tune(family, STEPS, progress=False).certificate
    assert ct.verify(certificate, family, STEPS).optimal


def test_what_is_computed_once_and_kept_does_not_count():
    class Prepared(ct.Linkage):
        @functools.cached_property
        def table(self):
            return [self.objective.name]

    family = Prepared()
    before = family.fingerprint
    assert family.table and family.fingerprint == before

    def program(instance, parameters):
        return 1 if family.table else 0

    assert reach(program) == reach(program)
    holder = types.SimpleNamespace(family=Locked())
    assert reach(lambda: holder).doubts == holder.family.fingerprint_doubts


def test_fingerprints_do_not_depend_on_who_asks():
    def utility(target, labels):
        return float((target == labels).mean()) if family.kind else 0.0

    def at_depth(depth):
        return family.fingerprint if depth == 0 else at_depth(depth - 1)

    family = ct.Linkage(utility=utility)
    assert len({at_depth(depth) for depth in range(30)}) == 1


def test_families_that_refer_to_themselves_have_fingerprints():
    class Selfish(StepFamily):
        def solve(self, instance, params):
            return type(FRIENDS[0]).low, FRIENDS[1].high

    FRIENDS = [Selfish(), Selfish(0.0, 2.0)]
    object.__setattr__(FRIENDS[0], "own", FRIENDS[0])
    object.__setattr__(FRIENDS[0], "bound", FRIENDS[0].solve)
    first, second = (family.fingerprint for family in FRIENDS)
    assert first != second and [first, second] == [family.fingerprint for family in FRIENDS]


def test_certune_own_families_keep_their_fingerprints():
    """Values that certificates and states of earlier releases hold."""
    assert StepFamily().fingerprint[:16] == "fc36d021311be697"
    assert ct.Linkage("energy", alpha=(0.5, 3)).fingerprint[:16] == "6db80ab1f84a1801"
    assert ct.GreedyKnapsack().fingerprint[:16] == "36a8b403aa121b7c"


# Nothing of a parent and of its subclasses is mixed


def test_certificates_are_not_mixed():
    certificate = ct.tune(ct.Linkage(), CLUSTERS, progress=False).certificate
    assert ct.verify(certificate, ct.Linkage(), CLUSTERS)
    for other in (Plain(), Halved()):
        with pytest.raises(ct.CertificateError, match="another family"):
            ct.verify(certificate, other, CLUSTERS)
    own = ct.tune(Plain(), CLUSTERS, progress=False).certificate
    assert ct.verify(own, Plain(), CLUSTERS)


def test_run_directories_are_not_mixed(tmp_path):
    ct.tune(ct.Linkage(), CLUSTERS, run_dir=tmp_path / "run", progress=False)
    with pytest.raises(ct.InputError, match="another family|other family|fingerprint"):
        ct.tune(Plain(), CLUSTERS, run_dir=tmp_path / "run", progress=False)


def test_states_are_not_mixed(tmp_path):
    path = tmp_path / "state"
    with ct.OnlineTuner(StepFamily(), 5, 0, state=path) as tuner:
        tuner.update(STEPS[0])
    with pytest.raises(ct.InputError, match="its family differs"):
        ct.OnlineTuner(Slotted(), 5, 0, state=path)


def test_held_out_evidence_is_not_mixed():
    result = ct.tune(StepFamily(), STEPS, progress=False)
    other = ct.tune(Slotted(), STEPS, progress=False)
    held_out = [StepInstance((0.3,), (Fraction(0), Fraction(1)))]
    with pytest.raises(ct.InputError, match="another family"):
        result.guarantee(held_out=other.evaluate(held_out))


class Locked(StepFamily):
    lock = threading.Lock()

    def solve(self, instance, params):
        with self.lock:
            return super().solve(instance, params)


def test_what_cannot_be_told_is_named_and_kept_apart(tmp_path):
    family = Locked()
    (doubt,) = family.fingerprint_doubts
    assert "Locked.lock is or holds a _thread.lock" in doubt
    assert family.fingerprint == Locked().fingerprint  # in this process
    with pytest.raises(ct.InputError, match="Locked.lock"):
        ct.tune(family, STEPS, run_dir=tmp_path / "run", progress=False)
    with pytest.raises(ct.InputError, match="Locked.lock"):
        ct.OnlineTuner(family, 5, 0, state=tmp_path / "state")
    certificate = ct.tune(family, STEPS, progress=False).certificate
    assert ct.verify(certificate, family, STEPS).optimal


def test_a_checker_is_not_told_that_a_subclass_is_its_parent():
    """Programs that read the description would compute the parent's functions."""
    assert ct.Linkage().description["family"] == "Linkage"
    assert Halved().description == {}

    class Said(ct.Linkage):
        @property
        def description(self):
            return {"family": "Said"}

    assert Said().description == {"family": "Said"}


MODULE = '''
from certune.testing import StepFamily

class Shifted(StepFamily):
    """Documented."""

    shift = 0.25

    def solve(self, instance, params):
        return super().solve(instance, params) + helper()

def helper():
    return 0
'''


def made(tmp_path, name, text):
    path = tmp_path / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module.Shifted()


def test_sources_count_and_words_about_them_do_not(tmp_path):
    family = made(tmp_path, "shifted_one", MODULE)
    assert family.fingerprint[:16] == "ea692b61c98b584c"  # the same with Python 3.11 and 3.13
    same = made(tmp_path, "shifted_two", MODULE.replace("Documented", "Explained"))
    assert same.fingerprint == family.fingerprint
    for number, (old, new) in enumerate([("return 0", "return 1"), ("0.25", "0.5"), ("+", "-")]):
        other = made(tmp_path, f"shifted_other_{number}", MODULE.replace(old, new))
        assert other.fingerprint != family.fingerprint


SCRIPT = """
import sys
import certune as ct
from certune.testing import StepFamily, StepInstance


class Own(StepFamily):
    def dual(self, instance, along=None):
        return super().dual(instance, along)


class Below(Own):
    pass


instances = [StepInstance((0.25, 0.5), (0, 1, 0)), StepInstance((0.75,), (1, 0))]
if __name__ == "__main__":
    import joblib

    for family in (Own(), Below()):
        alone = ct.tune(family, instances)
        with joblib.parallel_config(backend="loky"):
            both = ct.tune(family, instances, n_jobs=2)
        assert both.certificate.checksum == alone.certificate.checksum
"""


def test_a_class_of_a_script_works_in_other_processes(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
