# SPDX-License-Identifier: GPL-2.0
"""The sentence of a page, the marks of its table and the words it explains."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from hetlab.cli.planned import alike
from hetlab.model import files, resolve
from hetlab.model.result import FORMAT_VERSION, RunResult, from_json
from hetlab.report import glossary, page
from hetlab.report.findings import best, by_chance, differ, finding, marked
from hetlab.report.runs import Group, group
from hetlab.results.columns import COLUMNS

pytestmark = pytest.mark.fast

TEMPLATE = page.TEMPLATES / "report.html.j2"


def run(cc: str, seed: int, mbit: float, p95_ms: float | None, scenario: str = "santacruz-basic") -> RunResult:
    """A result with a goodput and a delay; the queue is as long as the delay, retransmissions grow with the goodput."""
    sc = resolve.resolve(files.load(scenario)[0])
    delay = {"mean": p95_ms, "variance": 0, "min": 40.0, "p50": p95_ms, "p95": p95_ms, "p99": p95_ms, "packets": 9}
    queue = {f"steady_{key}_pkts": p95_ms for key in ("mean", "min", "max")}
    flows = [
        {
            "name": flow.name,
            "proto": flow.proto,
            "start_s": flow.start_s,
            "end_s": flow.end_s if hasattr(flow, "end_s") else flow.start_s + flow.duration_s,
            "cc": cc,
            "goodput_mbit": mbit,
            "retransmits": round(100 * mbit),
            "timeouts": 0,
        }
        for flow in sc.flows
    ]
    plain: dict[str, Any] = {
        "format": FORMAT_VERSION,
        "scenario": sc.name,
        "seed": seed,
        "cc": cc,
        "cc_params": {},
        "flows": flows,
        "queue": queue
        | {"link": sc.measure.bottleneck, "p95_pkts": p95_ms, "max_pkts": p95_ms, "drops": 0, "loss_model_drops": 0},
        "owd_ms": None if p95_ms is None else delay,
        "delivery_ms": None,
        "jain": 1.0,
        "jain_steady": 1.0,
        "scenario_resolved": asdict(sc),
    }
    return from_json(json.dumps(plain))


def made(runs: Mapping[str, Sequence[tuple[float, float | None]]], scenario: str = "santacruz-basic") -> Group:
    """A group: goodput (Mbit/s) and delay (ms) of each seed."""
    found = [
        (Path(f"{cc}-{seed}"), run(cc, seed, mbit, ms, scenario))
        for cc, pairs in runs.items()
        for seed, (mbit, ms) in enumerate(pairs, 1)
    ]
    (one,) = group(found)
    return one


def test_values_differ_where_seeds_and_means_do() -> None:
    assert differ([1.0, 1.1], [1.2, 1.3])
    assert not differ([1.0, 1.2], [1.15, 1.3]), "the ranges overlap"
    assert not differ([1.0], [1.009]), "less than 1 %"
    assert differ([1.0], [1.02])
    assert differ([0.0], [1.0])


def test_best_are_all_that_cannot_be_told_apart() -> None:
    values = {"a": [10.0, 11.0], "b": [10.9, 12.0], "c": [3.0, 4.0], "d": []}
    assert best(values, high=True) == {"a", "b"}
    assert best(values, high=False) == {"c"}
    assert best({"d": []}, high=True) == set()


def test_a_short_queue_of_a_slow_sender_is_no_merit() -> None:
    """What was found on a link with 1 % random loss: Reno and Vegas with 6 % of the link had most marks."""
    g = made({"reno": [(0.1, 41)], "vegas": [(0.1, 41)], "bbr": [(1.3, 60)], "santacruz": [(1.35, 50)]})
    for name in ("queue mean", "delay p95", "delay mean", "queue p95"):
        assert marked(g.results, COLUMNS[name]) == {"santacruz"}, name
    assert marked(g.results, COLUMNS["goodput"]) == {"santacruz"}
    assert marked(g.results, COLUMNS["retrans."]) == {"bbr"}, "not those that sent nearly nothing"


def test_what_most_have_is_not_marked() -> None:
    g = made({"reno": [(1.3, 60)], "cubic": [(1.3, 60)], "bbr": [(1.3, 80)], "vegas": [(0.2, 41)]})
    assert marked(g.results, COLUMNS["delay p95"]) == set(), "two of three that are as fast"
    assert marked(g.results, COLUMNS["goodput"]) == {"reno", "cubic", "bbr"}
    assert marked(g.results, COLUMNS["timeouts"]) == set()
    assert marked(g.results, COLUMNS["lost"]) == set(), "a number that is neither good nor bad"


def test_one_alone_is_not_the_best() -> None:
    g = made({"reno": [(1.3, 60)]})
    assert not any(marked(g.results, column) for column in COLUMNS.values())


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        (
            {"cubic": [(1.4, 210)], "vegas": [(1.2, 50)]},
            "CUBIC got the most goodput, 1.40 Mbit/s (93 % of the link), at a one-way delay of 210.0 ms (95th "
            "percentile); Vegas had the least delay, 50.0 ms, with 1.20 Mbit/s (80 % of the link).",
        ),
        (
            {"cubic": [(1.4, 50)], "vegas": [(1.2, 90)]},
            "CUBIC got the most goodput, 1.40 Mbit/s (93 % of the link), at a one-way delay of 50.0 ms (95th "
            "percentile), which is also the least.",
        ),
        (
            {"cubic": [(1.4, 90), (1.2, 91)], "reno": [(1.3, 60), (1.35, 61)]},
            "The congestion controls do not differ in goodput: both got 1.30 to 1.33 Mbit/s (87 to 88 % of the link), "
            "at a one-way delay of 60.5 and 90.5 ms (95th percentile); Reno had the least of all.",
        ),
        ({"reno": [(1.3, None)]}, "Reno got a goodput of 1.30 Mbit/s (87 % of the link)."),
    ],
    ids=["two winners", "one winner", "within the spread", "alone, no delay"],
)
def test_the_sentence(runs: dict[str, list[tuple[float, float | None]]], said: str) -> None:
    assert finding(made(runs)) == said


def test_the_sentence_of_several_flows_names_the_sum() -> None:
    said = finding(made({"reno": [(4.0, 60)], "vegas": [(8.0, 60)]}, "real_networks-share-rtt"))
    assert said.startswith("With Vegas the TCP flows together got the most goodput, 16.00 Mbit/s (80 % of the link)")
    assert said.endswith("; the delays do not differ.")


def test_many_winners_are_not_all_named() -> None:
    names = ["santacruz", "westwood_fr", "westwood_gfr", "reno", "cubic"]
    said = finding(made({cc: [(1.4, 60)] for cc in names} | {"vegas": [(0.5, 40)]}))
    assert said.startswith("Santa Cruz, FR-TCP, GFR-TCP and 2 more got the most goodput")


def test_chance_is_named_where_there_is_any() -> None:
    two = {"reno": [(1.0, 350.0)], "cubic": [(2.0, 350.0)]}
    assert by_chance(made(two, "geo")), "random loss, one seed"
    assert not by_chance(made(two)), "nothing random"
    assert not by_chance(made({cc: [*pairs, (1.5, 350.0)] for cc, pairs in two.items()}, "geo")), "two seeds"


def test_delay_of_the_path() -> None:
    assert made({"reno": [(1, 60)]}).path_ms == 40
    assert made({"reno": [(1, 60)]}, "real_networks-handover").path_ms is None, "it changes on the way"


# ------------------------------------------------------------------ glossary


def test_words_link_to_their_meaning() -> None:
    text = str(glossary.linked("Goodput against one-way delay <b>, delay & goodput"))
    assert text.startswith('<a class="term" href="#term-goodput">Goodput</a> against ')
    assert '<a class="term" href="#term-owd">one-way delay</a> &lt;b&gt;, delay &amp; goodput' in text, "once each"


def test_every_column_is_explained() -> None:
    for name in COLUMNS:
        assert name == "wall" or "href" in glossary.linked(name), name


def test_the_words_a_class_asks_for_are_there() -> None:
    names = " ".join(term.name for term in glossary.terms())
    for word in ("BDP", "one-way delay", "k, ", "queueing delay", "goodput", "share", "Jain", "cwnd", "ssthresh"):
        assert word in names, word
    anchors = [term.anchor for term in glossary.terms()]
    assert len(set(anchors)) == len(anchors)
    words = [word.lower() for term in glossary.terms() for word in term.words]
    assert len(set(words)) == len(words), "a word belongs to one entry"


def test_the_template_says_the_rule_with_its_numbers() -> None:
    source = TEMPLATE.read_text(encoding="utf-8")
    assert re.search(r"less than \{\{ rule.same \}\}", source) and "{{ rule.as_fast }}" in source


def test_seeds_that_change_nothing_are_told() -> None:
    """Three equal rows where nothing is random; not of one seed, nor where one congestion control differs."""
    same, one = (made({"reno": [(9.0, 30.0)] * n}) for n in (3, 1))
    assert ["nothing in it is random" in line for line in alike(run.result for run in same.every)] == [True]
    assert alike(run.result for run in one.every) == []
    mixed = made({"reno": [(9.0, 30.0)] * 2, "cubic": [(9.0, 30.0), (8.0, 30.0)]})
    assert alike(run.result for run in mixed.every) == []
