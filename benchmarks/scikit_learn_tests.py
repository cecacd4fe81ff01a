"""Does scikit-learn's own test suite pass with certune's estimators in the place of its own?

Runs the tests of the installed scikit-learn that fit LogisticRegressionCV, RidgeCV, LassoCV or
ElasticNetCV with these four replaced by certune's, and prints a table: what passes, and what does
not, with the reason. `DIFFERENT` lists the tests that ask for something else than what certune's
estimators mean; any other failure is a defect, and the exit code is 1.

    python benchmarks/scikit_learn_tests.py [--files test_ridge ...] [-k EXPRESSION]

The file is its own pytest plugin: `pytest -p scikit_learn_tests` with this folder on PYTHONPATH.
"""

import argparse
import functools
import importlib
import os
import pathlib
import re
import subprocess
import sys
import time

FILES = (
    "test_ridge",
    "test_coordinate_descent",
    "test_sparse_coordinate_descent",
    "test_common",
    "test_logistic",
)
NAMES = {
    "RidgeCV": "sklearn.linear_model._ridge",
    "LassoCV": "sklearn.linear_model._coordinate_descent",
    "ElasticNetCV": "sklearn.linear_model._coordinate_descent",
    "LogisticRegressionCV": "sklearn.linear_model._logistic",
}
GRID = "expects the best value of a grid; certune's is the best of the whole range"
SCORE = "a score of one's own, which has no exact function of the parameter; the message says so"
SOLVER = "about solvers, which have no effect here"
LOOSE = "compares six digits with a solver that stops at tol=1e-4"
MIXED = "l1 and l2 penalties together in logistic regression have no exact path; refused"
FOLD = "a class is missing in the training part of a fold; refused, with the fold's name"
AGES = "expects a deprecation warning of scikit-learn; certune's arguments do not change"
DIGITS = "compares best alphas digit for digit; certune's agree as far as their gap determines them"
SINGLE = "targets of a fold are all equal, where R2 is not defined; refused, with the fold's name"
EXPECTS_REFUSAL = (
    "expects groups to be refused without metadata routing; certune hands them to the splitter"
)
MODE = "expects a warning about gcv_mode, which has no effect here"
# Cases of tests, as patterns of their whole names, and why they differ.
DIFFERENT = {
    r"test_ridge_loo_cv_asym_scoring": SCORE,
    r"test_ridge_cv_custom_multioutput_scorer\[(tall|wide)\]": SCORE,
    r"test_ridgecv_store_cv_results\[_mean_squared_error_callable\]": SCORE,
    r"test_dense_sparse\[csr_(array|matrix)-_test_ridge_loo\]": GRID,
    r"test_ridge_gcv_sample_weights\[y_shape2-True-150\.0-8-(asarray|csr_.*)-eigen\]": GRID,
    r"test_ridge_gcv_sample_weights\[y_shape2-True-150\.0-8-asarray-svd\]": GRID,
    r"test_ridge_gcv_vs_ridge_loo_cv\[y_shape[01]-.*-True-(tall|wide)-.*\]": DIGITS,
    r"test_ridge_gcv_vs_ridge_loo_cv\[y_shape2-150\.0-True-tall-.*\]": DIGITS,
    r"test_ridge_cv_individual_penalties": DIGITS,
    r"test_ridgecv_alphas_zero\[RidgeCV-3\]": SINGLE,
    r"test_ridgecv_sample_weight": SINGLE,
    r"test_regularization_limits_ridge_gcv\[csr_.*-svd-(zero|inf)_alpha\]": MODE,
    r"test_lasso_cv": GRID,
    r"test_1d_multioutput_enet_and_multitask_enet_cv": GRID,
    r"test_1d_multioutput_lasso_and_multitask_lasso_cv": GRID,
    r"test_enet_cv_grid_search\[("
    r"False-ElasticNetCV-ElasticNet|True-ElasticNetCV-ElasticNet)\]": GRID,
    r"test_sparse_input_convergence_warning\[csr_(array|matrix)-(ElasticNetCV|LassoCV)\]": SOLVER,
    r"test_lassoCV_does_not_set_precompute\[("
    r"False-False|True-True|auto-False)\]": SOLVER,
    r"test_cv_estimators_reject_params_with_no_routing_enabled\[("
    r"ElasticNetCV|LassoCV)\]": EXPECTS_REFUSAL,
    r"test_check_solver_option\[LogisticRegressionCV\]": SOLVER,
    r"test_liblinear_multiclass_raises\[LogisticRegressionCV\]": SOLVER,
    r"test_logistic_cv\[(42-False|42-True)\]": LOOSE,
    r"test_logistic_cv_mock_scorer": SCORE,
    r"test_multinomial_cv_iris\[(False|True)\]": FOLD,
    r"test_logistic_cv_folds_with_classes_missing\[("
    r"2-False|2-True|3-False|3-True)\]": FOLD,
    r"test_LogisticRegressionCV_GridSearchCV_elastic_net\[(2|3)\]": MIXED,
    r"test_LogisticRegressionCV_no_refit\[(2-l1_ratios1|3-l1_ratios1)\]": MIXED,
    r"test_LogisticRegressionCV_elasticnet_attribute_shapes\[(2|3)\]": MIXED,
    r"test_scores_attribute_layout_elasticnet": MIXED,
    r"test_penalty_deprecated\[LogisticRegressionCV\]": AGES,
    r"test_logisticregressioncv_warns_with_use_legacy_attributes": AGES,
    r"test_l1_ratio_None_deprecated": AGES,
    r"test_lr_scoring_warns": AGES,
}


def reason(test):
    """Why a test may fail, or None."""
    for pattern, why in DIFFERENT.items():
        if re.fullmatch(pattern, test):
            return why
    return None


# ---- the plugin -------------------------------------------------------------------------------

_fitted = set()
_current = [None]


def pytest_configure(config):
    import sklearn.linear_model as grids

    import certune.linear_model as certified
    from certune.linear_model.search import CertifiedSearch

    for name, home in NAMES.items():
        for module in (grids, importlib.import_module(home)):
            setattr(module, name, getattr(certified, name))
    plain = CertifiedSearch.fit

    @functools.wraps(plain)
    def noted(self, *args, **options):
        _fitted.add(_current[0])
        return plain(self, *args, **options)

    CertifiedSearch.fit = noted


def pytest_runtest_setup(item):
    _current[0] = item.nodeid


def pytest_runtest_logreport(report):
    if report.nodeid in _fitted and (report.when == "call" or report.failed):
        print(f"\nFITTED {report.outcome} {report.nodeid.split('::', 1)[1]}", flush=True)


# ---- the table --------------------------------------------------------------------------------


def selected(file):
    """Tests of a file that name one of the estimators, in themselves or in a helper."""
    import ast

    source = file.read_text()
    functions = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    words = list(NAMES)

    def text(node):
        parts = [node, *node.decorator_list]
        return "\n".join(ast.get_source_segment(source, part) for part in parts)

    texts = {node.name: text(node) for node in functions}
    words += [name for name in texts if not name.startswith("test") and _names(texts[name], words)]
    return [name for name in texts if name.startswith("test") and _names(texts[name], words)]


def _names(text, words):
    return any(re.search(rf"\b{word}\b", text) for word in words)


def run(file, expression):
    """Outcome of every test of a file that fitted one of the estimators."""
    import sklearn.linear_model.tests as home

    path = pathlib.Path(next(iter(home.__path__))) / f"{file}.py"
    here = str(pathlib.Path(__file__).resolve().parent)
    folders = [here, os.environ.get("PYTHONPATH", "")]
    command = [sys.executable, "-m", "pytest", "-q", "-s", "--tb=no", "-p", "no:cacheprovider"]
    # The settings of the project that has the environment are not those of scikit-learn.
    command += ["-c", os.devnull]
    command += [
        "-p",
        "scikit_learn_tests",
        *(["-k", expression] * bool(expression)),
    ]
    command += [f"{path}::{name}" for name in selected(path)]
    finished = subprocess.run(
        [part for part in command if part],
        capture_output=True,
        text=True,
        check=False,
        cwd=path.parent,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, folders))},
    )
    found = re.findall(r"^FITTED (\w+) (.+)$", finished.stdout, re.MULTILINE)
    if not found and not expression:
        sys.exit(f"pytest did not run {path}:\n{finished.stdout[-2000:]}{finished.stderr[-2000:]}")
    return {test: outcome for outcome, test in found}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", nargs="+", default=FILES, choices=FILES)
    parser.add_argument("-k", dest="expression")
    options = parser.parse_args()
    import sklearn

    print(f"scikit-learn {sklearn.__version__}, tests that fit one of {', '.join(NAMES)}")
    defects = []
    for file in options.files:
        started = time.perf_counter()
        outcomes = run(file, options.expression)
        failed = [test for test, outcome in outcomes.items() if outcome == "failed"]
        passed = len(outcomes) - len(failed)
        seconds = time.perf_counter() - started
        print(f"\n{file}: {passed} pass, {len(failed)} do not ({seconds:.0f} s)", flush=True)
        counts = {}
        for test in failed:
            why = reason(test)
            if why is None:
                defects.append(test)
            key = test.split("[")[0], why or "DEFECT"
            counts[key] = counts.get(key, 0) + 1
        for (test, why), count in counts.items():
            print(f"  {test} ({count}): {why}")
    print(f"\n{len(defects)} defects")
    return int(bool(defects))


if __name__ == "__main__":
    sys.exit(main())
