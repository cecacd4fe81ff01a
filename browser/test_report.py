"""The report in a real browser: three widths, light and dark, from a file, offline."""

import itertools
import shutil

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

import certune as ct

FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    instances = ct.datasets.random_clustering(10, n_clusters=3, n_per_cluster=5, spread=0.4)
    result = ct.tune(ct.Linkage(alpha=(-3, 3)), instances[:7])
    path = tmp_path_factory.mktemp("report") / "report.html"
    result.report(path, instances[7:])
    return path.as_uri()


@pytest.fixture(params=itertools.product((390, 820, 1440), ("light", "dark")), ids=str)
def browser(request, tmp_path):
    width, theme = request.param
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for flag in (*FLAGS, f"--user-data-dir={tmp_path}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options, Service(shutil.which("chromedriver")))
    screen = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    scheme = {"features": [{"name": "prefers-color-scheme", "value": theme}]}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", scheme)
    driver.theme = theme
    yield driver
    driver.quit()


def test_the_page_works(browser, page):
    browser.get(page)
    assert not [row for row in browser.get_log("browser") if row["level"] == "SEVERE"]
    requests = [row["message"] for row in browser.get_log("performance")]
    assert not [text for text in requests if '"url":"http' in text and "requestWillBeSent" in text]
    assert browser.execute_script("return document.documentElement.dataset.theme") == browser.theme
    # Nothing is wider than the screen, and every picture is drawn and has a name.
    wide = "return document.documentElement.scrollWidth - window.innerWidth"
    assert browser.execute_script(wide) <= 0
    charts = browser.find_elements(By.CSS_SELECTOR, ".chart")
    assert len(charts) >= 3
    for chart in charts:
        assert chart.find_elements(By.TAG_NAME, "canvas") and chart.get_attribute("aria-label")


def test_keys_and_buttons(browser, page):
    browser.get(page)
    browser.find_element(By.ID, "landscape").send_keys(Keys.ARROW_RIGHT)
    assert "mean utility" in browser.find_element(By.ID, "spoken").get_attribute("textContent")
    browser.find_element(By.ID, "theme").click()
    changed = browser.execute_script("return document.documentElement.dataset.theme")
    assert changed != browser.theme
    title = browser.find_element(By.CSS_SELECTOR, "th button")
    browser.execute_script("arguments[0].click()", title)
    assert title.find_element(By.XPATH, "..").get_attribute("aria-sort") == "ascending"
    assert not [row for row in browser.get_log("browser") if row["level"] == "SEVERE"]
