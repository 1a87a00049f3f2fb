# SPDX-License-Identifier: GPL-2.0
"""What the script of scorecard and report does in a browser: dark paper, print, a keyboard alone."""

import re
import subprocess
from pathlib import Path

import pytest

import browser
from hetlab.judge import case, charts, scorecard, verdict

pytestmark = pytest.mark.fast
CCS = ("reno", "cubic", "bbr")
DARK = "--blink-settings=preferredColorScheme=0"


def shown(directory: Path, body: str, *options: str) -> str:
    """A page with these words and the script of the scorecard, as a browser has it after that has run."""
    swatches = "".join(f'<span class="swatch" data-cc="{cc}"></span>' for cc in CCS)
    data = f'<script type="application/json" id="data">{charts.data(CCS, {})}</script>'
    page = directory / "page.html"
    page.write_text(f"<!DOCTYPE html>{swatches}{body}{data}<script>{charts.script()}</script><script>go()</script>")
    done = subprocess.run(
        browser.command(directory / "profile", *options, "--virtual-time-budget=2000", "--dump-dom", f"file://{page}"),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout


def test_colours_keep_their_hue_on_dark_paper(tmp_path: Path) -> None:
    """Lighter, so that they are seen, and as different as on white: only what is grey there is grey here."""
    empty = "<script>function go() {}</script>"
    light = re.findall(r'data-cc="\w+" style="--c: ([^;]+)', shown(tmp_path, empty))
    assert light == [charts.looks(CCS)[cc].colour for cc in CCS]
    dark = re.findall(r"--c: hsl\((-?\d+), (\d+)%, (\d+)%\)", shown(tmp_path, empty, DARK))
    (_, grey, _), (blue, much, _), (brown, also, _) = [tuple(map(int, found)) for found in dark]
    assert grey == 0 and min(much, also) >= 65 and abs(blue - brown) > 60
    assert min(int(light) for _hue, _saturation, light in dark) >= 60


def test_all_cases_are_open_on_paper_and_closed_again(tmp_path: Path) -> None:
    body = """<details id="one"></details><details id="two" open></details><output></output><script>
const opened = () => [...document.querySelectorAll("details[open]")].map((d) => d.id).join(" ");
function go() {
  const found = [opened()];
  for (const word of ["beforeprint", "afterprint"]) {
    dispatchEvent(new Event(word));
    found.push(opened());
  }
  document.querySelector("output").textContent = found.join(", ");
}
</script>"""
    assert "<output>two, one two, two</output>" in shown(tmp_path, body)


NOW = """(() => {
  const at = document.activeElement, look = getComputedStyle(at);
  return {
    at: at.getAttribute("href") || at.tagName + " " + (at.closest("details")?.id || at.id),
    seen: at.matches(":focus-visible") && look.outlineStyle !== "none" && parseFloat(look.outlineWidth) > 0,
    shown: at.getBoundingClientRect().top >= 0 && at.getBoundingClientRect().bottom <= innerHeight,
    open: [...document.querySelectorAll("details[open]")].map((d) => d.id),
  };
})()"""


@pytest.fixture
def card(tmp_path: Path) -> Path:
    """A scorecard of two cases and two congestion controls."""
    cases = [case.every()[name] for name in ("a-20", "b-1")]
    ours = verdict.estimate([0.9, 1.1])
    cells = [verdict.Cell(c, cc, j, "pass", ours, 1.0) for c in cases for cc in CCS[:2] for j in c.judge]
    return scorecard.write(tmp_path / "card.html", cases, CCS[:2], {c.id: {} for c in cases}, cells)


def tab_to(page: browser.Browser, wanted: str, most: int = 30) -> dict[str, object]:
    """Tab until this has the focus, each stop seen on the way."""
    for _ in range(most):
        page.press("Tab")
        now: dict[str, object] = page.value(NOW)
        assert now["seen"] or str(now["at"]).startswith("BODY"), now
        if now["at"] == wanted:
            return now
    raise AssertionError(f"{wanted} is not reached by Tab")


def test_a_keyboard_alone(card: Path, tmp_path: Path) -> None:
    """From a cell into its case and back, and the same cell again; a case by itself; all cases."""
    with browser.Browser(card, tmp_path / "profile") as page:
        tab_to(page, "#a-20")
        tab_to(page, "#b-1")
        for _again in range(2):
            page.press("Enter")
            inside = page.value(NOW)
            assert inside == {"at": "SUMMARY b-1", "seen": True, "shown": True, "open": ["b-1"]}
            page.press("Escape")
            assert page.value(NOW) == {"at": "#b-1", "seen": True, "shown": True, "open": []}
        tab_to(page, "SUMMARY a-20")
        page.press(" ")
        assert page.value(NOW)["open"] == ["a-20"]
        page.press("Escape")
        assert page.value(NOW) == {"at": "SUMMARY a-20", "seen": True, "shown": True, "open": []}
        page.press("Tab", shift=True)
        assert page.value(NOW)["at"] == "BUTTON all"
        page.press("Enter")
        assert page.value(NOW)["open"] == ["a-20", "b-1"]
