"""The reports in a real browser: three widths, light and dark, from a file, offline; and axe."""

import itertools
import shutil
from importlib.resources import files

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

import certune as ct
from certune.report import findings_of, write_report

FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip


def write_tuning(path):
    instances = ct.datasets.random_clustering(10, n_clusters=3, n_per_cluster=5, spread=0.4)
    result = ct.tune(ct.Linkage("energy", alpha=(0.1, 4), objective="cut"), instances[:7])
    result.report(path, instances[7:])


def write_map(path):
    metrics = ("euclidean", "cityblock")
    instances = ct.datasets.digits_clustering(2, n_per_class=4, metrics=metrics)
    family = ct.Linkage("power-mean", alpha=(0.5, 3), weights="tune", n_metrics=2)
    ct.tune(family, instances, timeout=20).report(path)


def write_folds(path):
    instances = ct.datasets.breast_cancer_classification(6, 40, 20)
    result = ct.tune(ct.RegularizedLogistic(standardize=True), instances[:4])
    code = f"instances = {list(range(60))}"
    held_out = result.evaluate(instances[4:])
    write_report(path, findings_of(result, held_out, command=f"certune {code}", code=code))


def write_online(path):
    instances = ct.datasets.random_clustering(40, n_clusters=3, n_per_cluster=5, spread=0.4)
    family = ct.Linkage("energy", alpha=(0.1, 4), objective="cut")
    tuner = ct.OnlineTuner(family, random_state=0)
    for instance in instances:
        tuner.update(instance)
    tuner.report(path)


PAGES = {"tuning": write_tuning, "map": write_map, "folds": write_folds, "online": write_online}


@pytest.fixture(scope="module", params=PAGES)
def page(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    PAGES[request.param](path)
    return path.as_uri()


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options, Service(shutil.which("chromedriver")))
    yield driver
    driver.quit()


@pytest.fixture(params=itertools.product((390, 820, 1440), ("light", "dark")), ids=str)
def browser(request, driver):
    width, theme = request.param
    screen = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    scheme = {"features": [{"name": "prefers-color-scheme", "value": theme}]}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", scheme)
    driver.theme = theme
    for log in ("browser", "performance"):
        driver.get_log(log)
    return driver


def test_the_page_works(browser, page):
    browser.get(page)
    assert not [row for row in browser.get_log("browser") if row["level"] == "SEVERE"]
    requests = [row["message"] for row in browser.get_log("performance")]
    assert not [text for text in requests if '"url":"http' in text and "requestWillBeSent" in text]
    assert browser.execute_script("return document.documentElement.dataset.theme") == browser.theme
    # Nothing is wider than the screen, and every picture is drawn and has a name.
    wide = "return document.documentElement.scrollWidth - window.innerWidth"
    assert browser.execute_script(wide) <= 0
    # A large screen has room for every table.
    hidden = (
        "return [...document.querySelectorAll('.wide:has(table)')].filter((box) => "
        "box.scrollWidth > box.clientWidth).map((box) => box.textContent)"
    )
    if browser.execute_script("return window.innerWidth") >= 1440:
        assert browser.execute_script(hidden) == []
    charts = browser.find_elements(By.CSS_SELECTOR, ".chart")
    assert len(charts) >= 3
    for chart in charts:
        assert chart.find_elements(By.TAG_NAME, "canvas") and chart.get_attribute("aria-label")


def option_of(browser, chart):
    """Return what a picture was drawn from, without its functions."""
    return browser.execute_script(
        "return JSON.parse(JSON.stringify("
        "certune.charts.find((item) => item.box.id === arguments[0]).view.getOption()))",
        chart,
    )


@pytest.mark.parametrize("page", ["online"], indirect=True)
def test_rounds_end_with_the_data_and_have_whole_ticks(browser, page):
    browser.get(page)
    for chart in ("regret", "played", "density", "dispersion"):
        (axis,) = option_of(browser, chart)["xAxis"]
        ticks = axis["axisLabel"]["customValues"]
        assert axis["max"] == ticks[-1] == 40
        assert axis["min"] == ticks[0] >= 1 and len(ticks) >= 3
        assert all(tick == round(tick) for tick in ticks)
        # The last label has room beside the one before.
        assert ticks[-2] <= 36


@pytest.mark.parametrize("page", ["tuning"], indirect=True)
def test_small_numbers_have_few_zeros(browser, page):
    browser.get(page)
    numbers = "[0, 0.25, 0.0001, 0.00009, 3.7e-6, -2.3e-7, 12000, null]"
    texts = browser.execute_script(f"return {numbers}.map((x) => certune.shown(x))")
    assert texts == ["0", "0.25", "0.0001", "9e-5", "3.7e-6", "-2.3e-7", "12000", "unknown"]


@pytest.mark.parametrize("page", ["tuning"], indirect=True)
def test_the_learning_curve_has_ticks_between_its_ends(browser, page):
    browser.get(page)
    (axis,) = option_of(browser, "learning")["xAxis"]
    ticks = axis["axisLabel"]["customValues"]
    assert ticks[0] == axis["min"] and ticks[-1] == axis["max"] and len(ticks) >= 3
    assert all(tick == round(tick) for tick in ticks)


@pytest.mark.parametrize("page", ["map"], indirect=True)
def test_neighbouring_optimal_cells_look_like_one_region(browser, page):
    browser.get(page)
    cells = browser.execute_script(
        "return JSON.parse(document.getElementById('findings').textContent).cells"
    )
    best = max(cells["lower"])
    boxes = []
    for outline, low, high in zip(cells["outlines"], cells["lower"], cells["upper"], strict=True):
        x, y = outline[::2], outline[1::2]
        # Rectangles only: their edges are the ends of their coordinates.
        if low == high == best and len({*x}) == len({*y}) == 2:
            boxes.append((min(x), max(x), min(y), max(y)))
    shared = [
        (a[1], 0.5 * (max(a[2], b[2]) + min(a[3], b[3])), a)
        for a, b in itertools.permutations(boxes, 2)
        if a[1] == b[0] and min(a[3], b[3]) - max(a[2], b[2]) > 0.1
    ]
    assert shared
    pixel = (
        "const { box, view } = certune.charts.find((item) => item.box.id === 'cells');"
        "const at = view.convertToPixel('grid', arguments[0]);"
        "const canvas = box.querySelector('canvas');"
        "const ratio = canvas.width / box.clientWidth, pen = canvas.getContext('2d');"
        "return Array.from(pen.getImageData(at[0] * ratio, at[1] * ratio, 1, 1).data)"
    )
    for x, y, (left, right, *_) in shared:
        inside = browser.execute_script(pixel, [0.5 * (left + right), y])
        assert browser.execute_script(pixel, [x, y]) == inside


@pytest.mark.parametrize("page", ["folds"], indirect=True)
def test_lines_are_where_their_parameters_are(browser, page):
    browser.get(page)
    # A line is opaque where a picture has neither text nor curves, and what is beside it is not.
    columns = (
        "const { box, view } = certune.charts.find((item) => item.box.id === arguments[0]);"
        "const [x] = view.convertToPixel('grid', [arguments[1], 0]);"
        "const grid = view.getModel().getComponent('grid').coordinateSystem.getRect();"
        "const canvas = box.querySelector('canvas'), pen = canvas.getContext('2d');"
        "const opaque = (x, y) => pen.getImageData(x, y, 1, 1).data[3] > 200;"
        "const ratio = canvas.width / box.clientWidth, y = (grid.y + 0.02 * grid.height) * ratio;"
        "return [-5, -1, 0, 1, 5].map((step) => opaque(Math.round(x * ratio) + step, y))"
    )
    (low, high), best = browser.execute_script(
        "return [certune.findings.plateau, certune.findings.best_params]"
    )
    for chart, place in ("landscape", (low * high) ** 0.5), ("portrait", *best.values()):
        left, *middle, right = browser.execute_script(columns, chart, place)
        assert any(middle), chart
        assert not (left and right), chart


def test_nothing_is_hard_to_reach(browser, page):
    browser.get(page)
    browser.execute_script((files("axe_core_python") / "axe.min.js").read_text(encoding="utf-8"))
    found = browser.execute_async_script(
        "const done = arguments[0]; axe.run().then((found) => done(found.violations.map("
        "(item) => [item.impact, item.id, item.nodes.map((node) => node.html)])))"
    )
    assert found == []


def test_what_is_printed_is_whole(browser, page):
    browser.get(page)
    browser.execute_script("window.dispatchEvent(new Event('beforeprint'))")
    media = {"media": "print", "features": []}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    try:
        # A4 has 718 pixels between its margins.
        wide = "return [...document.querySelectorAll('.chart canvas')].map((c) => c.clientWidth)"
        assert set(browser.execute_script(wide)) <= set(range(640, 719))
        titles = "return [...document.querySelectorAll('th button')].map((b) => b.offsetHeight)"
        assert all(browser.execute_script(titles))
        torn = (
            "return [...document.querySelectorAll('.controls, #theme, details:not([open])')]"
            ".filter((item) => item.offsetHeight).map((item) => item.outerHTML)"
        )
        assert browser.execute_script(torn) == []
        assert browser.execute_script("return document.documentElement.dataset.theme") == "light"
    finally:
        scheme = [{"name": "prefers-color-scheme", "value": browser.theme}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": scheme})
    browser.execute_script("window.dispatchEvent(new Event('afterprint'))")
    assert browser.execute_script("return document.documentElement.dataset.theme") == browser.theme
    assert browser.execute_script("return document.documentElement.className") == ""


def test_long_tables_are_leafed_through_in_place(browser, page):
    browser.get(page)
    long = browser.execute_script(
        "return [...document.querySelectorAll('.wide:has(tbody tr:nth-child(25))')]"
        ".filter((box) => box.offsetHeight > 600).length"
    )
    assert long == 0


def test_the_last_row_of_the_verdict_has_no_hole(browser, page):
    browser.get(page)
    ends = browser.execute_script(
        "const list = document.querySelector('.verdict').getBoundingClientRect();"
        "const last = document.querySelector('.verdict li:last-child').getBoundingClientRect();"
        "return [list.right, last.right]"
    )
    assert abs(ends[0] - ends[1]) < 2


def test_keys_and_buttons(browser, page):
    browser.get(page)
    browser.find_element(By.ID, "landscape").send_keys(Keys.ARROW_RIGHT)
    assert "mean " in browser.find_element(By.ID, "spoken").get_attribute("textContent")
    browser.find_element(By.ID, "theme").click()
    changed = browser.execute_script("return document.documentElement.dataset.theme")
    assert changed != browser.theme
    title = browser.find_element(By.CSS_SELECTOR, "th button")
    browser.execute_script("arguments[0].click()", title)
    assert title.find_element(By.XPATH, "..").get_attribute("aria-sort") == "ascending"
    assert not [row for row in browser.get_log("browser") if row["level"] == "SEVERE"]
