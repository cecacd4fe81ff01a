"""From files and frames to instances; what cannot be read is named, with a remedy."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

import certune as ct


def write(path, text, encoding="utf-8"):
    path.write_bytes(text.encode(encoding))
    return path


ROWS = [("1.5", "2", "u"), ("0.25", "4", "u"), ("9", "8.5", "v"), ("7.75", "9", "v")]


def csv_text(delimiter=",", decimal=".", rows=ROWS):
    lines = [delimiter.join(("x", "y", "kind"))]
    lines += [delimiter.join(cell.replace(".", decimal) for cell in row) for row in rows]
    return "\n".join(lines) + "\n"


POINTS = np.array([[float(x), float(y)] for x, y, _ in ROWS])


# Files as people have them: all hold the same four points.


@pytest.mark.parametrize(
    ("delimiter", "decimal", "encoding"),
    [
        (",", ".", "utf-8"),
        (";", ".", "utf-8"),
        (";", ",", "utf-8"),
        ("\t", ",", "utf-8"),
        ("|", ".", "utf-8"),
        (",", ".", "utf-8-sig"),
        (";", ",", "utf-16"),
        (",", ".", "utf-16-le"),
        (",", ".", "utf-16-be"),
    ],
)
def test_dialects_give_the_same_points(tmp_path, delimiter, decimal, encoding):
    path = write(tmp_path / "a.csv", csv_text(delimiter, decimal), encoding)
    (instance,) = ct.from_csv(path, target="kind")
    assert np.array_equal(instance.points, POINTS)
    assert instance.target_names == ("u", "v") and instance.k == 2


def test_quotes_blank_lines_and_windows_line_ends(tmp_path):
    text = 'x,y,kind\r\n"1.5",2,"a, b"\r\n\r\n0.25,4,"a, b"\r\n9,8.5,v\r\n'
    (instance,) = ct.from_csv(write(tmp_path / "a.csv", text), target="kind")
    assert instance.target_names == ("a, b", "v") and instance.n_points == 3


def test_a_pattern_and_a_folder_give_an_instance_for_each_file(tmp_path):
    for name in "ba":
        write(tmp_path / f"{name}.csv", csv_text())
    write(tmp_path / "._a.csv", "left by macOS")
    (tmp_path / "older.csv").mkdir()
    for source in (tmp_path, str(tmp_path / "*.csv"), [tmp_path / "a.csv", tmp_path / "b.csv"]):
        assert [item.name for item in ct.from_csv(source, target="kind")] == ["a", "b"]


def test_groups_are_instances(tmp_path):
    text = "x,site,kind\n" + "".join(f"{i},{'st'[i % 2]},{i % 4 // 2}\n" for i in range(8))
    instances = ct.from_csv(write(tmp_path / "all.csv", text), target="kind", group="site")
    assert [item.name for item in instances] == ["s", "t"]
    assert np.array_equal(instances[1].points, [[1], [3], [5], [7]])
    assert instances[1].target_names == (0, 1)


# The rule for columns


def test_categories_become_columns_of_zero_and_one_in_every_instance():
    columns = {
        "colour": ["red", "blue", "red", "green", "blue", "red"],
        "size": [1, 2, 3, 4, 5, 6],
        "flag": [True, False, True, False, True, True],
        "site": list("aaabbb"),
        "kind": list("uvuvuv"),
    }
    first, second = ct.from_frame(columns, target="kind", group="site")
    assert np.array_equal(first.points, [[0, 0, 1, 1, 1], [1, 0, 0, 2, 0], [0, 0, 1, 3, 1]])
    assert np.array_equal(second.points[0], [0, 1, 0, 4, 0])


def test_numbers_can_be_codes_of_categories():
    columns = {"zip": [3, 1, 3, 1], "kind": list("uvuv")}
    (instance,) = ct.from_frame(columns, target="kind", categorical=["zip"])
    assert np.array_equal(instance.points, [[0, 1], [1, 0], [0, 1], [1, 0]])


def test_frames_of_pandas_with_their_own_types():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "a": pandas.array([1, 2, 3, 4], dtype="Int64"),
            "b": pandas.Categorical(["x", "y", "x", "y"]),
            "kind": ["u", "u", "v", "v"],
        },
        index=["p", "q", "r", "s"],
    )
    (instance,) = ct.from_frame(frame, target="kind")
    assert np.array_equal(instance.points, [[1, 1, 0], [2, 0, 1], [3, 1, 0], [4, 0, 1]])
    frame.loc["r", "a"] = pandas.NA
    with pytest.raises(ct.InputError, match="row r, column 'a': the value is missing"):
        ct.from_frame(frame, target="kind")


def test_standardize():
    columns = {"a": [1.0, 2, 3, 4], "b": [7, 7, 7, 7], "kind": list("uuvv")}
    (instance,) = ct.from_frame(columns, target="kind", standardize=True)
    assert np.allclose(instance.points.mean(axis=0), 0)
    assert np.allclose(instance.points.std(axis=0), [1, 0])


# Tasks


def test_folds_are_those_of_scikit_learn():
    X, y = load_breast_cancer(return_X_y=True)
    instances = ct.folds(X, y, cv=5)
    for instance, (train, test) in zip(instances, StratifiedKFold(5).split(X, y), strict=True):
        assert np.array_equal(instance.X, X[train]) and np.array_equal(instance.X_val, X[test])
        assert np.array_equal(instance.y > 0, y[train] == 1)
    groups = np.arange(len(y)) // 60
    (first, *_) = ct.folds(X, y, GroupKFold(3), groups=groups)
    train, test = next(GroupKFold(3).split(X, y, groups))
    assert np.array_equal(first.X_val, X[test])
    shuffled = ct.folds(X, y, 5, random_state=3)
    assert not np.array_equal(shuffled[0].X, instances[0].X)


def test_classification_from_a_frame_equals_folds():
    X, y = load_breast_cancer(return_X_y=True)
    columns = {f"f{i}": X[:, i] for i in range(4)} | {"y": y}
    found = ct.from_frame(columns, target="y", task="classification", cv=3)
    expected = ct.folds(X[:, :4], y, 3)
    assert [item.fingerprint for item in found] == [item.fingerprint for item in expected]


def test_regression_from_a_frame_equals_folds():
    rng = np.random.default_rng(0)
    frame = {"x": rng.normal(size=12), "y": rng.normal(size=12), "price": rng.normal(size=12)}
    found = ct.from_frame(frame, target="price", task="regression", cv=3)
    X = np.column_stack((frame["x"], frame["y"]))
    made = ct.folds(X, frame["price"], cv=3, task="regression")
    assert [repr(item) for item in found] == [repr(item) for item in made]
    expected = [test for _, test in KFold(3).split(X)]
    for instance, test in zip(found, expected, strict=True):
        assert np.array_equal(instance.y_val, frame["price"][test])
    with pytest.raises(ct.ParameterError, match="task must be one of classification, regression"):
        ct.folds(X, frame["price"], task="ranking")


def test_labeling_hides_one_fold_after_the_other():
    X, y = load_iris(return_X_y=True)
    columns = {f"f{i}": X[:, i] for i in range(4)} | {"y": y}
    instances = ct.from_frame(columns, target="y", task="labeling", cv=5)
    hidden = np.concatenate([item.unlabeled for item in instances])
    assert np.array_equal(np.sort(hidden), np.arange(150))


def test_unknown_labels_are_minus_one_or_empty(tmp_path):
    rows = "".join(f"{i},{['a', 'b', '-1', ''][i % 4]}\n" for i in range(16))
    path = write(tmp_path / "few.csv", f"x,y\n{rows}")
    instances = ct.from_csv(path, target="y", task="labeling", cv=2)
    assert [len(item.labeled) for item in instances] == [4, 4]
    assert all(item.n_points == 16 for item in instances)
    assert set(instances[0].class_names) >= {"a", "b"}


def test_few_whole_numbers_are_classes_with_too_few_rows(tmp_path):
    rows = "".join(f"{i},{i % 10 if i < 14 else -1}\n" for i in range(40))
    path = write(tmp_path / "few.csv", f"x,y\n{rows}")
    with pytest.raises(ct.InputError, match="class '4' has 1 row, and folds need 2"):
        ct.from_csv(path, target="y", task="labeling", cv=2)


def test_the_one_file_with_other_columns_is_named(tmp_path):
    for name, columns in (("a", "x,z"), ("b", "x,y"), ("c", "x,y")):
        write(tmp_path / f"{name}.csv", f"{columns},kind\n1,2,u\n3,4,v\n")
    lacks = r"a.csv has no column 'y', which \S*b.csv and 1 more has; it has 'z', which the others"
    with pytest.raises(ct.InputError, match=lacks):
        ct.from_csv(tmp_path, target="kind")


def test_many_rows_are_read_and_a_matrix_of_them_is_refused(tmp_path):
    lines = "\n".join(f"{i},{i % 2}" for i in range(100_000))
    path = write(tmp_path / "big.csv", f"x,kind\n{lines}\n")
    with pytest.raises(ct.InputError, match=r"100,000 rows .* 75 GiB: divide it .* group="):
        ct.from_csv(path, target="kind")


# Mistakes: what is written, what the message must name


def wide(n):
    return "id,x,kind\n" + "".join(f"n{i},{i},{i % 2}\n" for i in range(n))


MISTAKES = {
    "wrong column": (csv_text(), {"target": "knd"}, "no column 'knd'; did you mean 'kind'?"),
    "wrong case": (csv_text(), {"target": "KIND"}, "did you mean 'kind'"),
    "wrong group": (csv_text(), {"group": "site"}, "no column 'site': it has 'x', 'y', 'kind'"),
    "wrong feature": (csv_text(), {"features": ["xx"]}, "did you mean 'x'"),
    "target as feature": (csv_text(), {"features": ["kind"]}, "which is the target"),
    "missing": ("x,kind\n1,u\n,v\n", {}, "line 3, column 'x': the value is missing"),
    "NA": ("x,kind\n1,u\nNA,v\n?,v\n", {}, "line 3, column 'x': the value is missing (2 of 3"),
    "missing target": ("x,kind\n1,u\n2,\n", {}, "line 3, column 'kind': the value is missing"),
    "missing group": ("x,s,kind\n1,,u\n2,a,v\n", {"group": "s"}, "line 2, column 's'"),
    "text in numbers": ("x,kind\n1,u\n2,v\nabc,v\n", {}, "line 4, column 'x': 'abc' is not a"),
    "identifier": (wide(60), {}, "column 'id' of"),
    "infinite": ("x,kind\n1,u\ninf,v\n", {}, "line 3, column 'x': inf is not finite"),
    "decimal commas between commas": ("x,kind\n1,5,u\n2,5,v\n", {}, "decimal commas"),
    "ragged": ("x,kind\n1,u\n2,v\n3\n", {}, "line 4: 1 fields"),
    "mixed decimals": ("x;y;kind\n1,5;1;u\n2.5;1;v\n", {}, "line 3, column 'x': '2.5'"),
    "thousands": ("x;kind\n1.234,5;u\n2.234,5;v\n", {}, "mark of thousands"),
    "no header": ("1,2\n3,4\n", {}, "add a first line with names"),
    "twice": ("x,x,kind\n1,2,u\n", {}, "several columns are named 'x'"),
    "no name": ("x,,kind\n1,2,u\n", {}, "column 2 has no name"),
    "empty": ("", {}, "is empty"),
    "only names": ("x,kind\n", {}, "no row of data"),
    "open quote": ('x,kind\n"1,u\n2,v\n', {}, "quotation mark"),
    "only target": ("kind\nu\nv\n", {}, "no column of features"),
    "task": (csv_text(), {"task": "cluster"}, "task must be one of clustering, labeling"),
    "option": (csv_text(), {"standardise": True}, "did you mean 'standardize'"),
    "delimiter": (csv_text(), {"delimiter": ";;"}, "one character"),
    "encoding": (csv_text(), {"encoding": "utf-99"}, "is not known"),
    "categorical": (csv_text(), {"categorical": ["q"]}, "categorical= has 'q'"),
    "few labels": ("x,y\n1,\n2,a\n", {"target": "y", "task": "labeling"}, "at least 2"),
    "numbers as classes": (
        "x,y\n" + "".join(f"{i},{i + 0.5}\n" for i in range(9)),
        {"target": "y", "task": "classification"},
        "has 9 different numbers in 9 rows, and classes repeat",
    ),
    "many whole numbers as classes": (
        "x,y\n" + "".join(f"{i},{7 * i}\n" for i in range(60)),
        {"target": "y", "task": "labeling"},
        "predict the numbers with task regression",
    ),
    "folds": (
        "x,y\n" + "".join(f"{i},{i < 2}\n" for i in range(9)),
        {"target": "y", "task": "classification"},
        "class 'True' has 2 rows, too few for 5 folds: pass cv=2",
    ),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_is_named_with_its_remedy(tmp_path, case):
    text, options, expected = MISTAKES[case]
    path = write(tmp_path / "data.csv", text)
    with pytest.raises(ct.CertuneError) as caught:
        ct.from_csv(path, **{"target": "kind", **options})
    assert expected in str(caught.value)
    # Mistakes in the file name the file.
    if case not in ("task", "option", "delimiter", "encoding", "categorical", "target as feature"):
        assert "data.csv" in str(caught.value)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(ct.InputError, match=r"^the folder \S* is empty; name the folder"):
        ct.from_csv(tmp_path, target="kind")
    write(tmp_path / "a.xlsx", "PK\x03\x04")
    with pytest.raises(ct.InputError, match="no CSV file .*: .* has a.xlsx; name the folder"):
        ct.from_csv(tmp_path, target="kind")
    with pytest.raises(ct.InputError, match=r"no file matches .*\*.csv.* has a.xlsx"):
        ct.from_csv(tmp_path / "*.csv", target="kind")
    with pytest.raises(ct.InputError, match="there is no file .*b.csv"):
        ct.from_csv(tmp_path / "b.csv", target="kind")
    with pytest.raises(ct.InputError, match="is a spreadsheet .* export it as CSV"):
        ct.from_csv(tmp_path / "a.xlsx", target="kind")
    with pytest.raises(ct.InputError, match="no files are named"):
        ct.from_csv([], target="kind")


def test_a_link_to_nothing_is_said_to_be_one(tmp_path):
    (tmp_path / "old.csv").symlink_to("gone.csv")
    with pytest.raises(ct.InputError, match=r"old.csv is a link to gone.csv, which does not exist"):
        ct.from_csv(tmp_path / "old.csv", target="label")


def test_text_of_another_encoding(tmp_path):
    path = write(tmp_path / "a.csv", "x,kind\n1,é\n2,v\n", "cp1252")
    with pytest.raises(ct.InputError, match=r"not utf-8 text \(line 2\).*encoding='cp1252'"):
        ct.from_csv(path, target="kind")
    (instance,) = ct.from_csv(path, target="kind", encoding="cp1252")
    assert instance.target_names == ("v", "é")


def test_files_with_different_columns(tmp_path):
    write(tmp_path / "a.csv", csv_text())
    write(tmp_path / "b.csv", "x,kind\n1,u\n")
    with pytest.raises(ct.InputError, match=r"b.csv has no column 'y', which .*a.csv has"):
        ct.from_csv(tmp_path, target="kind")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1.0], [2.0]], [0, 1, 1]), "one label for each of the 2 rows"),
        (([["a"], ["b"]], [0, 1]), "X must be numbers"),
        (([1.0, 2.0], [0, 1]), "rows and columns"),
        (([[1.0], [2.0]], [0, 1], 1), "at least 2 folds"),
        (([[1.0], [2.0]], [0, 1], "five"), "cannot be divided|must be a number"),
        (([[1.0], [2.0]], [0, 1], 2.5), "cv must be a number of folds"),
        (([[1.0], [2.0], [3.0], [4.0]], [0, 0, 1, 1], [([0, 1], [2, 3])]), "fold 1: y must have"),
    ],
)
def test_folds_refuse(arguments, message):
    with pytest.raises(ct.CertuneError, match=message):
        ct.folds(*arguments)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_missing_entries_are_named_by_the_row_of_the_data_and_not_of_a_fold(task):
    rows = np.arange(24.0).reshape(12, 2)
    rows[7, 1] = np.nan
    with pytest.raises(ct.InputError, match=r"^X has the value nan in row 7, column 1 "):
        ct.folds(rows, [0, 1] * 6, cv=3, task=task)
    labels = [0.0, 1.0] * 5 + [0.0, np.nan]
    with pytest.raises(ct.InputError, match=r"^y has the value nan in row 11 "):
        ct.folds(np.arange(24.0).reshape(12, 2), labels, cv=3, task=task)


@pytest.mark.parametrize("names", [("0", "1", "2", "3"), ("a", "b", "c", "d")])
def test_a_first_column_without_a_name_is_an_index_and_no_feature(tmp_path, names):
    rows = ["1,2,u", "3,4,u", "7,6,v", "8,9,v"]
    (tmp_path / "plain.csv").write_text("x,y,kind\n" + "\n".join(rows))
    numbered = [f"{name},{row}" for name, row in zip(names, rows, strict=True)]
    (tmp_path / "written.csv").write_text(",x,y,kind\n" + "\n".join(numbered))
    plain, written = ct.from_csv(tmp_path, target="kind")
    assert plain.fingerprint == written.fingerprint
    if names[0] == "0":
        asked = {"target": "kind", "features": ["index", "x"]}
        (found,) = ct.from_csv(tmp_path / "written.csv", **asked)
        assert found.points[:, 0].tolist() == [0, 1, 2, 3]


DATES = np.array(["2020-01-01", "2020-01-02"] * 6, dtype="datetime64[D]")


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (DATES, "row 0, column 'x': 2020-01-01 is a time, no number: make numbers"),
        (list(DATES.tolist()), "row 0, column 'x': 2020-01-01 is a time, no number"),
        (DATES - DATES[0], "row 0, column 'x': 0 days is a time, no number"),
        (pd.Series(DATES).dt.tz_localize("UTC"), "is a time, no number"),
        (1j * np.arange(12), "row 0, column 'x': 0j is a complex number"),
        (pd.Series([1.0] + [[1, 2]] * 11), r"row 1, column 'x': \[1, 2\] is a list of values"),
        (pd.Series([[1, 2]] * 12), r"row 0, column 'x': \[1, 2\] is a list of values"),
        (pd.Series([1, -(10**400)] * 6, dtype=object), "row 1, column 'x': -inf is not finite"),
    ],
)
def test_cells_that_are_neither_numbers_nor_categories_are_named(cells, message):
    frame = {"x": cells, "y": [0, 1] * 6}
    with pytest.raises(ct.InputError, match=message):
        ct.from_frame(frame, target="y", task="classification", cv=2)


def test_dates_may_be_named_as_categories():
    frame = {"x": DATES, "y": [0, 0, 1, 1] * 3}
    first, _ = ct.from_frame(frame, target="y", task="classification", cv=2, categorical=["x"])
    assert np.unique(first.X, axis=0).tolist() == [[0.0, 1.0], [1.0, 0.0]]


def test_targets_too_large_for_a_double_are_no_words():
    frame = {"x": range(12), "y": [1, 10**400] * 6}
    with pytest.raises(ct.InputError, match="row 1, column 'y': inf is not finite"):
        ct.from_frame(frame, target="y", task="regression", cv=2)
    frame["y"] = [1e200, -1e200] * 6
    with pytest.raises(ct.InputError, match=r"fold 1: y has the value -?1e\+200 .* divide the tar"):
        ct.from_frame(frame, target="y", task="regression", cv=2)


def test_the_group_with_a_single_row_is_named_also_if_its_name_is_a_letter():
    frame = {"x": range(9), "site": ["a"] * 8 + ["b"], "y": [0, 1, 0, 1, 0, 1, 0, 1, 1]}
    with pytest.raises(ct.InputError, match=r"class '1' has 1 row, .* \(instance 'b'\)$"):
        ct.from_frame(frame, target="y", group="site", task="classification", cv=2)


class Lazy:
    """Has columns that it does not give, as a lazy frame of polars."""

    columns = ("x", "y")

    def __getitem__(self, name):
        raise TypeError("'LazyFrame' object is not subscriptable")


def test_frames_that_give_no_cells_say_why():
    with pytest.raises(ct.InputError, match=r"does not give its column 'x': .*collect a lazy"):
        ct.from_frame(Lazy(), target="y")
    with pytest.raises(ct.InputError, match="the data frame has columns but no rows"):
        ct.from_frame({"x": [], "y": []}, target="y")
    with pytest.raises(ct.InputError, match="same length, got 2 in 'x', 1 in 'y'"):
        ct.from_frame({"x": [1, 2], "y": [0]}, target="y")


def test_tables_of_arrow():
    class Table:
        columns = (np.arange(4.0), np.array([0, 1, 0, 1]))
        column_names = ("x", "y")

        def __getitem__(self, name):
            return self.columns[self.column_names.index(name)]

    first, _ = ct.from_frame(Table(), target="y", task="classification", cv=2)
    assert first.X.tolist() == [[2.0], [3.0]]


def test_folds_of_nothing_and_labels_that_are_none():
    rows = np.arange(24.0).reshape(12, 2)
    with pytest.raises(ct.InputError, match=r"cv has no folds, got \[\]"):
        ct.folds(rows, [0, 1] * 6, [])
    labels = pd.Series(["u", "v", None] * 4, dtype="string")
    with pytest.raises(ct.InputError, match=r"^y has the value (<NA>|nan) in row 2 "):
        ct.folds(rows, labels, 2)
    with pytest.raises(ct.InputError, match=r"^y has the value inf in row 11 "):
        ct.folds(rows, [0.0, 1.0] * 5 + [0.0, np.inf], 2, task="regression")
