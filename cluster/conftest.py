"""Real clusters of several processes on this machine."""

import os
import sys
from pathlib import Path

import joblib
import pytest

import certune as ct

# Workers import what they are sent by its name.
HERE = str(Path(__file__).parent)
sys.path.insert(0, HERE)
# Ray lets everybody else go first, which on a busy machine means that its workers never start.
os.environ.setdefault("RAY_worker_niceness", "0")
os.environ["PYTHONPATH"] = os.pathsep.join([HERE, *filter(None, [os.environ.get("PYTHONPATH")])])


@pytest.fixture(scope="session")
def dask():
    """Start Dask."""
    from distributed import Client, LocalCluster

    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(processes=True, **options) as cluster, Client(cluster):
        yield


@pytest.fixture(scope="session")
def ray():
    """Start Ray."""
    import ray
    from ray.util.joblib import register_ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    register_ray()
    yield
    ray.shutdown()


@pytest.fixture(params=["dask", "ray"])
def tune_away(request):
    """Tune on a cluster."""
    request.getfixturevalue(request.param)

    def tune(*given, **options):
        with joblib.parallel_config(backend=request.param):
            return ct.tune(*given, n_jobs=-1, **options)

    return tune
