# SPDX-License-Identifier: GPL-2.0
"""What the script of scorecard and report does in a browser: dark paper, and print."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from hetlab.judge import charts

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or ""
pytestmark = [pytest.mark.fast, pytest.mark.skipif(not CHROMIUM, reason="needs Chromium")]
CCS = ("reno", "cubic", "bbr")
DARK = "--blink-settings=preferredColorScheme=0"


def shown(directory: Path, body: str, *options: str) -> str:
    """A page with these words and the script of the scorecard, as a browser has it after that has run."""
    swatches = "".join(f'<span class="swatch" data-cc="{cc}"></span>' for cc in CCS)
    data = f'<script type="application/json" id="data">{charts.data(CCS, {})}</script>'
    page = directory / "page.html"
    page.write_text(f"<!DOCTYPE html>{swatches}{body}{data}<script>{charts.script()}</script><script>go()</script>")
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={directory}/profile"]
    done = subprocess.run(
        [*command, *options, "--virtual-time-budget=2000", "--dump-dom", f"file://{page}"],
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
