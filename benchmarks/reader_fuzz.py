"""Does any reader crash, hang, run code, leave its folder, or raise what is not certune's?

Honest files of every kind (certificates, run directories, findings, scenarios, CSV, npz, states of
online runs, plain instances) are changed at random: bytes, lines, JSON values with the checksums
made again, headers of arrays, entries of archives. Each is read under a limit of time and memory.
What comes out must be a result or a `CertuneError`; a continued run must be the one that was not
interrupted. Meanwhile an audit hook listens for code that is run, modules that are imported, and
files that are opened outside of the folder.

    python benchmarks/reader_fuzz.py [--count 100000] [--seed 0] [--reader csv]
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import hashlib
import io
import json
import os
import random
import resource
import shutil
import signal
import sys
import sysconfig
import tempfile
import time
import traceback
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from certificate_mutations import HOSTILE, changed_value, places_of

import certune as ct
from certune.cli.families import FAMILIES
from certune.cli.run_folder import read_findings
from certune.cli.running import read_problem
from certune.cli.scenario import read_scenario
from certune.report.collecting import findings_of
from certune.testing import StepFamily, StepInstance
from certune.tuning.work.cost_model import CACHE_VARIABLE, CostStore

os.environ[CACHE_VARIABLE] = ""  # runs here leave nothing behind

SECONDS = 10
MEGABYTES = 1500  # more than what the process has when the campaign begins
WORDS = [b"NaN", b"1e999", b"-1", b"\x00", b"\xff\xfe", b'"', b"\n", b",", b"[" * 3000, b"{" * 3000]
WORDS += [b"9" * 5000, b"../../etc/passwd", b"__import__('os')", b"\xef\xbb\xbf", b"=", b"'''"]


# Changing files


def changed_bytes(content: bytes, rng: random.Random) -> bytes:
    """Flip, drop, double, insert or move bytes; cut the end off."""
    made = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 5, 20])):
        i, j = sorted(rng.randrange(len(made) + 1) for _ in "ab")
        kind = rng.randrange(7)
        if kind == 0 and made:
            made[i % len(made)] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del made[i : min(j, i + rng.choice([1, 10, 10**6]))]
        elif kind == 2:
            made[j:j] = made[i : min(j, i + 2000)]
        elif kind == 3:
            made[i:i] = rng.choice(WORDS)
        elif kind == 4:
            del made[i:]
        elif kind == 5 and made:
            made[i % len(made)] = rng.randrange(256)
        else:
            made[i:i] = rng.randbytes(rng.choice([1, 4, 64]))
    return bytes(made[: 2**20])


def changed_json(content: bytes, rng: random.Random) -> bytes:
    """Change values anywhere in JSON data."""
    data = json.loads(content)
    return json.dumps(_changed_data(data, rng)).encode()


def _changed_data(data: Any, rng: random.Random) -> Any:
    data = copy.deepcopy(data)
    for _ in range(rng.choice([1, 1, 2, 4])):
        places = places_of(data)
        if not places:
            return rng.choice(HOSTILE)
        path = rng.choice(places)
        target = data
        for key in path[:-1]:
            target = target[key]
        target[path[-1]] = changed_value(target[path[-1]], rng)
    return data


def sealed(data: Any) -> bytes:
    """JSON data whose field ``checksum`` is made again, as a forger would."""
    if isinstance(data, dict):
        content = {name: value for name, value in data.items() if name != "checksum"}
        text = json.dumps(content, sort_keys=True, separators=(",", ":"))
        data["checksum"] = hashlib.sha256(text.encode()).hexdigest()
    return json.dumps(data).encode()


def changed_record(content: bytes, rng: random.Random) -> bytes:
    """Change a file of JSON, with the right checksum where it has one."""
    kind = rng.random()
    if kind < 0.4:
        return changed_bytes(content, rng)
    if kind < 0.6:
        return changed_json(content, rng)
    return sealed(_changed_data(json.loads(content), rng))


def changed_journal(content: bytes, rng: random.Random) -> bytes:
    """Change a journal: bytes, lines, or records with right checksums."""
    if rng.random() < 0.4:
        return changed_bytes(content, rng)
    lines = content.splitlines(keepends=True)
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    kind = rng.randrange(4)
    if kind == 0:
        del lines[i]
    elif kind == 1:
        lines[i], lines[j] = lines[j], lines[i]
    else:
        data = _changed_data(json.loads(lines[i][9:]), rng)
        text = json.dumps(data, separators=(",", ":")).encode()
        lines[i] = b"%08x %s\n" % (zlib.crc32(text), text)
    return b"".join(lines)


def changed_archive(content: bytes, rng: random.Random) -> bytes:
    """Change an archive: bytes, headers of arrays, names of entries, how much they unpack to."""
    if rng.random() < 0.4:
        return changed_bytes(content, rng)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = {info.filename: archive.read(info) for info in archive.infolist()}
    name = rng.choice(sorted(entries))
    kind = rng.randrange(6)
    if kind == 0:
        entries[name] = changed_bytes(entries[name], rng)
    elif kind == 1:
        shape = rng.choice([b"(9999999999,)", b"(-1,)", b"()", b"(3, 2**40)", b"(0, 10)", b"'x'"])
        dtype = rng.choice([b"'<f8'", b"'|O'", b"'<U900'", b"'V8'", b"'<c16'", b"[('a','<f8')]"])
        header = b"{'descr': %s, 'fortran_order': False, 'shape': %s, }" % (dtype, shape)
        header += b" " * (-(len(header) + 11) % 64) + b"\n"
        body = entries[name][128:]
        entries[name] = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + body
    elif kind == 2:
        entries[rng.choice(["../escape.npy", "/tmp/escape.npy", "x.npy", ".npy"])] = entries.pop(
            name
        )
    elif kind == 3:
        entries[name] = bytes(rng.choice([10**5, 10**7]))
    elif kind == 4:
        del entries[name]
    else:
        made: Any = rng.choice(
            [np.array([np.nan, 1]), np.zeros((2, 3, 4)), np.array("a"), np.zeros(0), np.ones(1) * 9]
        )
        buffer = io.BytesIO()
        np.save(buffer, made)
        entries[name] = buffer.getvalue()
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        warnings.simplefilter("ignore")
        for entry, data in entries.items():
            archive.writestr(entry, data)
    return buffer.getvalue()


def changed_lines(content: bytes, rng: random.Random) -> bytes:
    """Change text: bytes, or whole lines and cells."""
    if rng.random() < 0.6:
        return changed_bytes(content, rng)
    lines = content.splitlines(keepends=True)
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    kind = rng.randrange(4)
    if kind == 0:
        del lines[i]
    elif kind == 1:
        lines.insert(i, lines[j])
    elif kind == 2:
        cells = lines[i].split(b",")
        cells[rng.randrange(len(cells))] = rng.choice(WORDS)
        lines[i] = b",".join(cells)
    else:
        name, _, _ = lines[i].partition(b"=")
        value = rng.choice([b"[]", b"1e999", b"nan", b'"x"', b"[[1]]", b"-1", b"{a=1}", b"true"])
        lines[i] = name + b"= " + value + b"\n"
    return b"".join(lines)


# The readers


@dataclass
class Reader:
    """A kind of file: honest content by its path in a folder, how to change it, how to read it."""

    name: str
    files: dict[str, bytes]
    change: dict[str, Callable[[bytes, random.Random], bytes]]
    read: Callable[[Path], object]
    share: float = 1.0


def steps(number: int) -> StepInstance:
    """An instance whose function is known."""
    rng = np.random.default_rng(number)
    places = tuple(np.sort(rng.uniform(0.05, 0.95, 3)).tolist())
    values = tuple(Fraction(int(v), 3) for v in rng.integers(0, 4, 4))
    return StepInstance(places, values, name=f"number {number}")


INSTANCES = [steps(number) for number in range(3)]


def _files_of(folder: Path) -> dict[str, bytes]:
    paths = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def _told(result: Any) -> tuple[Any, ...]:
    return result.certificate.checksum, result.best_value, result.best_params


def readers() -> list[Reader]:
    """Return all readers with their honest files."""
    with tempfile.TemporaryDirectory() as scratch:
        return list(_readers(Path(scratch)))


def _readers(folder: Path) -> Iterator[Reader]:
    tuned = ct.tune(StepFamily(), INSTANCES, progress=False, run_dir=folder / "run")
    tuned.certificate.save(folder / "certificate.json")
    line = {"certificate.json": (folder / "certificate.json").read_bytes()}
    yield Reader("certificate", line, {"certificate.json": changed_record}, _read_certificate)

    space = ct.ParameterSpace((ct.Real("a", 0, 1), ct.Real("b", 0, 1)))
    family = ct.ProgramFamily(lambda x, p: 1 if p["a"] + p["b"] >= x else 0, space)
    ct.tune(family, [1], progress=False).certificate.save(folder / "box.json")
    boxes = {"certificate.json": (folder / "box.json").read_bytes()}
    yield Reader("box certificate", boxes, {"certificate.json": changed_record}, _read_certificate)

    run = _files_of(folder / "run")
    kinds = {name: changed_journal if name.endswith("l") else changed_record for name in run}
    yield Reader("run directory", run, kinds, ct.load)
    truth = _told(tuned)

    def resume(path: Path) -> None:
        again = ct.tune(StepFamily(), INSTANCES, progress=False, run_dir=path)
        assert _told(again) == truth, "a continued run is another one"

    # A function with a forged checksum is taken at its word; that is what `ct.verify` is for.
    damaged = dict.fromkeys(run, changed_bytes)
    yield Reader("resume", run, damaged, resume, 0.2)

    told = ct.tune_stream(StepFamily(), INSTANCES * 12, progress=False, run_dir=folder / "stream")
    stream = _files_of(folder / "stream")
    kinds = {name: changed_journal if name.endswith("l") else changed_record for name in stream}
    yield Reader("stream directory", stream, kinds, ct.load)

    def read_on(path: Path) -> None:
        again = ct.tune_stream(StepFamily(), INSTANCES * 12, progress=False, run_dir=path)
        assert again.landscape == told.landscape, "a continued stream is another one"

    yield Reader("resumed stream", stream, dict.fromkeys(stream, changed_bytes), read_on, 0.2)

    found = findings_of(tuned, None, title="t", command="certune")
    record = {"findings.json": found.to_json().encode()}
    yield Reader("findings", record, {"findings.json": changed_record}, read_findings, 0.5)

    with ct.OnlineTuner(StepFamily(), random_state=5, state=folder / "state") as tuner:
        for number in range(6):
            tuner.update(steps(number))

    def restore(path: Path) -> None:
        with ct.OnlineTuner(StepFamily(), random_state=5, state=path / "state") as again:
            again.update(steps(again.n_rounds))

    state = {"state": (folder / "state").read_bytes()}
    yield Reader("online state", state, {"state": changed_journal}, restore, 0.5)

    table = "x,y,site,kind\n" + "".join(
        f"{n * 0.5},{n % 4},{'ab'[n % 2]},{'uv'[n // 6]}\n" for n in range(12)
    )
    csv = {"data.csv": table.encode()}

    def read_csv(path: Path) -> None:
        for options in ({}, {"group": "site"}, {"task": "classification", "cv": 2}):
            with contextlib.suppress(ct.CertuneError):
                ct.from_csv(path / "data.csv", target="kind", **options)

    yield Reader("csv", csv, {"data.csv": changed_lines}, read_csv)

    scenario = (
        '[family]\nname = "linkage"\nkind = "power-mean"\nalpha = [-2.0, 2.0]\n\n[data]\n'
        'files = ["data.csv"]\ntarget = "kind"\ngroup = "site"\nstandardize = true\n\n'
        "[split]\nholdout = 0.5\nseed = 1\n\n[run]\ntimeout = 5\njobs = 1\n"
    )
    texts = {"scenario.toml": scenario.encode(), **csv}
    yield Reader("scenario", texts, {"scenario.toml": changed_lines}, _read_scenario)

    with tempfile.TemporaryDirectory() as room:
        costs = Path(room) / "costs.json"
        CostStore(costs).learn(["steps"], [(9, 1, 2)] * 3, [0.1, 0.2, 0.3], [10, 20, 30])
        texts = {"costs.json": costs.read_bytes()}
    yield Reader("costs", texts, {"costs.json": changed_record}, _read_costs)

    arrays: dict[str, dict[str, Any]] = {}
    points = np.arange(12.0).reshape(6, 2) ** 1.5
    arrays["linkage"] = {"points": points, "target": np.array([0, 0, 1, 1, 2, 2]), "k": 3}
    arrays["labeling"] = {
        "points": points, "labeled": np.array([0, 5]), "labels": np.array([0, 1]),
        "truth": np.array([0, 0, 0, 1, 1, 1]),
    }  # fmt: skip
    halves = {
        "X": points,
        "y": np.array([0, 1] * 3),
        "X_val": points,
        "y_val": np.array([0, 1] * 3),
    }
    arrays["logistic"] = halves
    for name, own in arrays.items():
        buffer = io.BytesIO()
        np.savez(buffer, **own)
        npz = {"data.npz": buffer.getvalue()}

        def read_npz(path: Path, name: str = name) -> None:
            instance = FAMILIES[name].read_instance(path / "data.npz")
            getattr(instance, "distances", None)

        yield Reader(f"npz {name}", npz, {"data.npz": changed_archive}, read_npz, 0.5)


def _read_costs(folder: Path) -> None:
    model = CostStore(folder / "costs.json").model(["steps"])
    assert model.seconds_of([(9, 1, 2)]) is None or model.memory_of([(9, 1, 2)], True) is not None


def _read_certificate(folder: Path) -> None:
    path = folder / "certificate.json"
    for kind in (ct.Certificate, ct.BoxCertificate):
        with contextlib.suppress(ct.CertuneError):
            kind.load(path)
    with contextlib.suppress(ct.CertuneError):
        ct.verify(path, StepFamily(), INSTANCES)


def _read_scenario(folder: Path) -> None:
    scenario = read_scenario(folder / "scenario.toml")
    if ":" in scenario.family_name:
        return  # the name of code of the user's own, which is run
    inside = os.path.realpath(folder)
    if all(os.path.realpath(name).startswith(inside) for name in scenario.data["files"]):
        read_problem(scenario)


# The campaign


def _importing() -> bool:
    """Tell whether a module is being imported; from where is what opened files tell."""
    frame = sys._getframe()
    while frame is not None:
        if "importlib._bootstrap" in frame.f_code.co_filename:
            return True
        frame = frame.f_back
    return False


class Guard:
    """Listens to what a reader does besides reading."""

    FORBIDDEN = ("exec", "os.system", "os.exec", "subprocess.Popen", "pickle.find_class",
                 "marshal.loads", "ctypes.dlopen", "socket.connect", "os.remove")  # fmt: skip

    def __init__(self) -> None:
        self.folder: str | None = None
        self.seen: list[str] = []
        self._allowed = [sys.prefix, sys.base_prefix, sysconfig.get_path("stdlib"), "/dev", "/proc"]
        self._allowed += ["/sys/fs/cgroup"]  # how much memory is free
        self._allowed += [str(Path(ct.__file__).parents[1]), str(Path(__file__).parent)]
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.folder is None:
            return
        if event in self.FORBIDDEN:
            own = event == "os.remove" and self._is_inside(arguments[0])
            if not own and not _importing():
                self.seen.append(f"{event} {arguments!r:.200}")
        elif event == "open" and isinstance(arguments[0], (str, bytes, os.PathLike)):
            if not self._is_inside(arguments[0]):
                self.seen.append(f"{event} {arguments!r:.200}")

    def _is_inside(self, path: Any) -> bool:
        real = os.path.realpath(os.fsdecode(path))
        return any(real.startswith(str(own)) for own in (self.folder, *self._allowed))


GUARD: list[Guard] = []  # a hook cannot be taken away, so that there is one for the process


@contextlib.contextmanager
def _listening(folder: Path) -> Iterator[Guard]:
    if not GUARD:
        GUARD.append(Guard())
    guard = GUARD[0]
    guard.folder, guard.seen = os.path.realpath(folder), []
    try:
        yield guard
    finally:
        guard.folder = None


def _too_long(*_: object) -> None:
    raise TimeoutError(f"more than {SECONDS} seconds")


def write(files: dict[str, bytes], folder: Path) -> None:
    """Write files into a folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def attempt(reader: Reader, files: dict[str, bytes], folder: Path) -> str:
    """Read changed files; returns what came of it, and raises what should not."""
    shutil.rmtree(folder, ignore_errors=True)
    write(files, folder)
    signal.signal(signal.SIGPROF, _too_long)
    signal.signal(signal.SIGALRM, _too_long)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    signal.alarm(30 * SECONDS)  # a machine may have others to serve, and a reader may sleep
    try:
        with _listening(folder) as guard, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                reader.read(folder)
                outcome = "read"
            except ct.CertuneError as error:
                str(error)
                outcome = "refused"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
    assert not guard.seen, f"it does more than reading: {guard.seen[:3]}"
    return outcome


def campaign(count: int, seed: int, only: str | None = None) -> Counter[str]:
    """Change files and count what becomes of them; what should not be is a DEFECT."""
    rng = random.Random(seed)
    known = [reader for reader in readers() if only in (None, reader.name)]
    outcomes: Counter[str] = Counter()
    examples: dict[str, str] = {}
    fsync, limits = os.fsync, resource.getrlimit(resource.RLIMIT_AS)
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=memory) as room:
        for reader in known:  # all that is imported at the first time
            write(reader.files, Path(room) / reader.name)
            reader.read(Path(room) / reader.name)
        os.fsync = lambda _: None  # nothing of this has to survive
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + MEGABYTES * 2**20, limits[1]))
        try:
            for reader in known:
                assert attempt(reader, reader.files, Path(room) / "f") == "read", reader.name
            for number in range(count):
                reader = rng.choices(known, [own.share for own in known])[0]
                files = dict(reader.files)
                for name in rng.sample(sorted(reader.change), k=1):
                    files[name] = reader.change[name](files[name], rng)
                try:
                    outcome = attempt(reader, files, Path(room) / "f")
                except Exception as error:
                    outcome = _defect(error, examples, f"input {number}, {files!r:.3000}")
                outcomes[f"{reader.name}: {outcome}"] += 1
        finally:
            os.fsync = fsync
            resource.setrlimit(resource.RLIMIT_AS, limits)
    for outcome, example in examples.items():
        print(f"{outcome}, for example {example}", file=sys.stderr)
    return outcomes


def _defect(error: Exception, examples: dict[str, str], example: str) -> str:
    """Name a defect by what was raised where, and keep the first example."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "certune" in frame.filename] or frames
    where = f"{Path(own[-1].filename).name}:{own[-1].lineno}"
    name = f"DEFECT {type(error).__name__} at {where}: {str(error)[:150]}"
    examples.setdefault(name, example)
    return name


def main() -> None:
    """Run the campaign and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--reader", help="only this one")
    given = parser.parse_args()
    started = time.perf_counter()
    outcomes = campaign(given.count, given.seed, given.reader)
    for name, number in sorted(outcomes.items()):
        print(f"{number:8d}  {name}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    seconds = time.perf_counter() - started
    print(f"{given.count} changed inputs in {seconds:.0f} s, at most {peak:.0f} MB of memory")
    sys.exit(any("DEFECT" in name for name in outcomes))


if __name__ == "__main__":
    main()
