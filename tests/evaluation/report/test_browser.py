"""The page in a real browser: it opens, filters, steps through traces, and logs no error."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rag_research.evaluation.report.command import write_report

webdriver = pytest.importorskip("selenium.webdriver")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
DRIVER = shutil.which("chromedriver")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None or DRIVER is None, reason="no Chromium, or no driver"),
]
SWITCHES = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run", "--window-size=1280,900",
)  # fmt: skip
HOSTILE = '</script><script>document.title = "broken in"</script> & "quotes" of City 3'
PARTS = ".unknown, mark.bound"
# Every element that has text and is cut off by the window, tables that scroll aside left out.
OVERFLOWING = """
return [...document.querySelectorAll("main *")].filter((e) =>
  !e.closest(".scroll, .drawing, .hidden") && e.getBoundingClientRect().right > innerWidth + 1
).map((e) => e.className || e.tagName)
"""


class Page:
    """One browser on one report."""

    def __init__(self, driver: Any, file: Path) -> None:
        self.driver = driver
        self.address = file.as_uri()

    def open(self, part: str) -> None:
        """Open the file anew at an address inside it."""
        self.driver.get("about:blank")
        self.driver.get(f"{self.address}{part}")
        self.until("return document.documentElement.dataset.ready === 'yes'")
        if part.startswith("#/q/"):
            self.drawn("#question-title")

    def until(self, script: str) -> Any:
        """Wait until a script returns something true."""
        from selenium.webdriver.support.ui import WebDriverWait

        return WebDriverWait(self.driver, 60).until(lambda driver: driver.execute_script(script))

    def drawn(self, selector: str) -> None:
        """Wait until something matches: a question's block is decompressed first."""
        self.until(f"return document.querySelector({json.dumps(selector)}) !== null")

    def all(self, selector: str) -> list[Any]:
        """Elements that are shown."""
        found = self.driver.find_elements("css selector", selector)
        return [element for element in found if element.is_displayed()]

    def texts(self, selector: str) -> list[str]:
        """What elements show."""
        return [element.text for element in self.all(selector)]

    def press(self, *keys: str) -> None:
        """Keys, one after the other."""
        from selenium.webdriver.common.action_chains import ActionChains

        for key in keys:
            ActionChains(self.driver).send_keys(key).perform()

    def hash(self) -> str:
        """The address inside the file."""
        return str(self.driver.execute_script("return location.hash"))


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    options = Options()
    options.binary_location = CHROMIUM
    for switch in (*SWITCHES, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(switch)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield browser
    browser.quit()


@pytest.fixture
def report(folders: Any, driver: Any) -> Iterator[Callable[..., Page]]:
    """Writes a report of three systems, opens it, and in the end looks for logged errors."""

    def make(size: int = 6) -> Page:
        folders.write("t2rag", lambda n: n % 2 == 0, size=size, texts={3: HOSTILE})
        folders.write("threadrag", lambda n: n % 3 == 0, size=size, texts={3: HOSTILE})
        folders.write("tog3", lambda n: n == 0, size=size, texts={3: HOSTILE}, failed=[1])
        return Page(driver, write_report([folders.root], folders.root / "report.html"))

    driver.get_log("browser")
    yield make
    assert driver.get_log("browser") == []


def test_the_overview_shows_every_section_and_sorts(report) -> None:
    page = report()
    page.open("")
    titles = page.texts("#overview h2")
    assert titles[:4] == ["Results", "Differences", "Costs", "Rounds"]
    names = "table.comparison tbody th[scope=row]"
    assert [text.splitlines()[0] for text in page.texts(names)] == ["t2rag", "threadrag", "tog3"]
    assert "6 / 5 / 1" in page.texts("table.comparison")[0]
    next(b for b in page.all("table.comparison thead button") if b.text == "Run").click()
    next(b for b in page.all("table.comparison thead button") if b.text == "Run").click()
    assert [text.splitlines()[0] for text in page.texts(names)] == ["tog3", "threadrag", "t2rag"]
    assert page.driver.execute_script(
        "return document.querySelector('table.comparison th').getAttribute('aria-sort')"
    ) == ("descending")
    drawn = "return [...document.querySelectorAll('#results svg[role=img]')].map(e => e.ariaLabel)"
    page.until(f"{drawn}.length >= 3")
    assert "t2rag: 50.0 (40.0–60.0)" in " ".join(page.driver.execute_script(drawn))


def test_questions_are_filtered_by_text_and_by_outcome(report) -> None:
    page = report()
    page.open("#/questions")
    rows = ".list li .text"
    assert len(page.texts(rows)) == 6
    page.press("/")
    page.until("return document.activeElement.id === 'filter'")
    page.press("city 4")
    assert page.texts(rows) == ["Which sea does the river of City 4 flow into?"]
    assert page.texts(".status") == ["1 of 6 questions"]
    page.press(*["\ue003"] * len("city 4"))  # Backspace
    page.all("#only-wrong")[0].click()
    page.driver.find_element("css selector", "#wrong-in option[value='0']").click()
    assert sorted(shown(page)) == ["q1", "q3", "q5"]
    page.all("#only-wrong")[0].click()
    page.all("#only-disagreeing")[0].click()
    # Right: 0 all, 1 none, 2 t2rag, 3 threadrag, 4 t2rag, 5 none.
    assert shown(page) == ["q2", "q3", "q4"]
    page.all("#only-disagreeing")[0].click()
    page.driver.find_element("css selector", "#order option[value='worst']").click()
    assert set(shown(page)[:2]) == {"q1", "q5"}
    assert shown(page)[-1] == "q0"


def shown(page: Page) -> list[str]:
    """Ids of the listed questions."""
    return [row.get_attribute("data-id") for row in page.all(".list li")]


def test_hostile_text_is_text(report) -> None:
    page = report()
    page.open("#/q/q3")
    assert page.texts("#question-title") == [HOSTILE]
    assert page.driver.title.startswith(HOSTILE)


def test_triplets_turn_from_unknown_to_bound(report) -> None:
    page = report()
    page.open("#/q/q2/t2rag")
    page.drawn(".board thead th")
    heads = page.texts(".board thead th")
    assert heads == ["#", "Decompose", "Round 1"]
    # What is read out besides says "unknown", and what a bound place was before.
    found = [
        [part.text.replace("\n", " ") for part in row.find_elements("css selector", PARTS)]
        for row in page.all(".board tbody tr")
    ]
    assert found == [
        ["unknown ?river", "River 2 (was ?river)"],
        ["unknown ?river", "unknown ?sea", "River 2 (was ?river)", "unknown ?sea"],
    ]


def test_keys_step_through_a_trace_and_the_address_follows(report) -> None:
    page = report()
    page.open("#/q/q2/t2rag")
    page.drawn("article.step")
    current = "article.step[aria-current=step] h4"
    page.press("j")
    assert page.texts(current) == ["1Decompose"]
    page.press("j", "j")
    assert page.texts(current) == ["3Resolve"]
    assert page.hash() == "#/q/q2/t2rag/2"
    page.press("e")
    page.until("return document.querySelector('article[aria-current] details.call[open] pre')")
    assert "What is asked of resolve?" in page.texts("article[aria-current] .message")[1]
    page.press("k")
    assert page.texts(current) == ["2Retrieve"]
    page.press("]")
    page.until("return location.hash === '#/q/q2/threadrag'")
    page.until("return document.querySelector('.topology')")
    page.press("n")
    page.until("return location.hash === '#/q/q3/threadrag'")
    page.press("\ue00c")  # Escape
    page.until("return location.hash === '#/questions'")
    page.open("#/q/q2/t2rag/2")
    page.drawn(current)
    assert page.texts(current) == ["3Resolve"]


def test_the_topology_graph_has_its_nodes_edges_and_source_text(report) -> None:
    page = report()
    page.open("#/q/q0/threadrag")
    page.until("return document.querySelectorAll('.topology .drawing circle.node').length === 3")
    drawing = page.all(".topology .drawing svg")[0]
    classes = [e.get_attribute("class") for e in drawing.find_elements("css selector", "path.edge")]
    # Values 0.6 for likeness and 0.4 for entities: the edge is drawn as the larger.
    assert sorted(name.split()[1] for name in classes) == ["narrative", "semantic"]
    assert len(drawing.find_elements("css selector", "circle.ring")) == 1
    assert "3 spans of 2 documents, 2 edges, 1 kept" in drawing.get_attribute("aria-label")
    assert page.texts(".source mark.kept") == ["The first span here.0.60"]
    assert page.texts(".document .left") == ["The second span here."]
    nodes = drawing.find_elements("css selector", "circle.node")
    sizes = [float(node.get_attribute("r")) for node in nodes]
    assert sizes == pytest.approx([13, 3 + 10 * (0.1 / 0.6) ** 0.5, 3 + 10 * 0.5**0.5])


def test_a_subgraph_evolves(report) -> None:
    page = report()
    page.open("#/q/q0/tog3/4")
    page.until("return document.querySelectorAll('#step-4 .drawing .entity').length === 2")
    rows = page.texts("#step-4 .triplets li")
    assert rows == [
        "Ann — was born in → Keld new added by the model",
        "Ann — wrote → Salt Road gone from the text",
    ]
    assert page.texts("#step-3 .verdict") == ["not sufficient"]


def test_what_was_found_for_a_sub_question_is_listed(report) -> None:
    page = report()
    page.open("#/q/q0/tog3/4")
    page.drawn("#step-4 .fields .hits li")
    assert "tripletAnn — saw — Orm0.500" in page.texts("#step-4 .fields .hits li")


def test_what_the_reranker_kept_can_be_read(report) -> None:
    page = report()
    page.open("#/q/q0/tog3/1")
    page.drawn("#step-1 .hits li")
    kept = page.texts("#step-1 .hits li")
    assert kept == ["communityAnn and what she wrote.0.200", "tripletAnn — wrote — Salt Road0.600"]
    page.all("#step-1 .hits summary")[0].click()
    page.drawn("#step-1 .hits .source")
    assert page.texts("#step-1 .hits .source") == ["Ann and what she wrote."]


def test_a_failed_question_says_so(report) -> None:
    page = report()
    page.open("#/q/q1/tog3")
    page.drawn("table.answers")
    assert "LLMError: it broke" in page.texts("table.answers")[0]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(
    "part", ["", "#/questions", "#/q/q0/threadrag", "#/q/q0/tog3", "#/q/q0/t2rag"]
)
def test_nothing_is_cut_off_on_a_phone(report, theme, part) -> None:
    page = report()
    media = [{"name": "prefers-color-scheme", "value": theme}]
    metrics = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        page.open(part)
        assert page.driver.execute_script("return document.documentElement.scrollWidth") <= 390
        assert page.driver.execute_script(OVERFLOWING) == []
        ground = page.driver.execute_script(
            "return getComputedStyle(document.body).backgroundColor"
        )
        assert ground == {"light": "rgb(251, 250, 247)", "dark": "rgb(21, 23, 26)"}[theme]
    finally:
        page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_the_theme_button_overrides_the_system(report) -> None:
    page = report()
    page.open("")
    button = page.all("#theme")[0]
    while button.text != "Theme: dark":
        button.click()
    ground = "return getComputedStyle(document.body).backgroundColor"
    assert page.driver.execute_script(ground) == "rgb(21, 23, 26)"
    while button.text != "Theme: auto":
        button.click()


def test_a_thousand_questions_are_listed_and_the_last_one_opens(report) -> None:
    page = report(1000)
    page.open("#/q/q999/threadrag")
    assert page.texts("#question-title") == ["Which sea does the river of City 999 flow into?"]
    assert page.driver.execute_script("return document.querySelectorAll('.list li').length") == 1000
    page.press("/")
    page.until("return document.activeElement.id === 'filter'")
    page.press("city 77 flow")
    assert page.texts(".status") == ["1 of 1,000 questions"]
