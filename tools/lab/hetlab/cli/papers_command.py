# SPDX-License-Identifier: GPL-2.0
"""hetlab claims and hetlab figures: what the papers say, by our runs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from hetlab.build import kernel
from hetlab.cli.arguments import (
    AgainOption,
    ClusterOption,
    FormatOption,
    MachinesOption,
    SeriesOption,
    StoreOption,
    VerifyOption,
)
from hetlab.cli.campaigns import carry_out, err, fail_on, kept, virtual_on
from hetlab.cli.tables import claims_list, claims_table, show
from hetlab.paths import BUILD
from hetlab.ported import kernel as ported
from hetlab.ported.kernel import DEFAULT, Series


def claims(
    ids: Annotated[list[str] | None, typer.Argument(metavar="ID", help="ids, or how they begin; all")] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="results; default build/claims, build/claims-SERIES")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object per claim on stdout")] = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="the table of docs/claims.md on stdout")] = False,
    list_: Annotated[bool, typer.Option("--list", help="what each needs and costs; nothing is run")] = False,
    cc: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", exists=True, dir_okay=False, help="in place of this tree's tcp_*.c of that name"),
    ] = None,
    series: SeriesOption = DEFAULT,
    again: AgainOption = False,
    store: StoreOption = None,
    verify: VerifyOption = 0,
    cluster: ClusterOption = None,
    machines: MachinesOption = None,
) -> None:
    """Evaluate the papers' claims: their numbers, ours, the verdict.

    Ours by each source of the forward delay. Status 1 if one fails without a known cause, or holds although a cause is
    named.
    """
    from hetlab.claims import evaluate
    from hetlab.claims.evidence import Evidence, plan

    chosen = evaluate.select(ids or [])
    if list_:
        show(claims_list(chosen))
        return
    instead = cc or []
    name = "claims-own" if instead else "claims"
    evidence = Evidence(out or BUILD / (name if series == DEFAULT else f"{name}-{series}"))
    planned = plan((need for c in chosen for need in c.needs), evidence)
    before = kept(store, verify, again)
    place = virtual_on(cluster, machines, instead=instead, series=series, store=before.store)
    campaign = carry_out(planned, place, evidence.out, evidence.add, before=before)
    evidence.points = play(list(dict.fromkeys(path for c in chosen for path in c.scripts)), instead, series)
    judged = evaluate.judge(chosen, evidence)
    if as_json or as_markdown:
        for j in judged:
            print(j.as_json() if as_json else j.as_markdown())
    else:
        show(claims_table(judged))
    fail_on(campaign)
    if not all(j.good for j in judged):
        raise typer.Exit(1)


def figures(
    directory: Annotated[Path | None, typer.Argument(metavar="DIR", help="default build/figures")] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="how their names begin, e.g. hybla-; repeatable; default: all"),
    ] = None,
    again: AgainOption = False,
    store: StoreOption = None,
    verify: VerifyOption = 0,
    cluster: ClusterOption = None,
    format_: FormatOption = None,
    machines: MachinesOption = None,
) -> None:
    """Figures and tables of the papers from our runs.

    Pictures and Markdown; the runs are in build/claims.
    """
    from hetlab.claims.evidence import Evidence, plan
    from hetlab.figures import outputs

    out = directory or BUILD / "figures"
    chosen = outputs.select(only or [])
    evidence = Evidence(BUILD / "claims")
    planned = plan(outputs.needs(chosen), evidence)
    before = kept(store, verify, again)
    place = virtual_on(cluster, machines, store=before.store)
    fail_on(carry_out(planned, place, evidence.out, evidence.add, before=before))
    for path in outputs.write(out, evidence, chosen, format_ or ["png"]):
        print(path)


def play(
    scripts: list[Path], instead: Sequence[Path] = (), series: Series = DEFAULT
) -> dict[tuple[bool, str, int], bool]:
    """Packet scripts on both kernels of a series: (patched, script, IP version) to whether it held."""
    from hetlab.packet import host

    host.check(scripts)
    found: dict[tuple[bool, str, int], bool] = {}
    for patched in (False, True) if scripts else ():
        k = ported.kernel(err, series, patched)
        output = host.play(k.executable, kernel.modules(err, k, instead=instead), host.command(scripts))
        found |= {(patched, *key): held for key, (held, _said) in host.points(output).items()}
    return found
