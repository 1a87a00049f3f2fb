# SPDX-License-Identifier: GPL-2.0
"""What ``--cc`` names: congestion controls that are there, and files of the user's own, built for the runs."""

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from hetlab.build import kernel, offered
from hetlab.candidates import module, sources
from hetlab.cli.campaigns import err
from hetlab.errors import LabError, meant
from hetlab.model import congestion, jobs
from hetlab.model.job import Candidate
from hetlab.ported import kernel as ported
from hetlab.ported.kernel import DEFAULT, Series

FILE = re.compile(r"^(?P<path>[^:]*?(?:\.c|/[^:@]*))(?:@(?P<name>\w+))?(?P<params>:.*)?$")


def loads(variants: Sequence[jobs.Variant]) -> list[str]:
    """What insmod takes to load the files among these, each once."""
    words = [shlex.join([v.candidate.ko, *(f"{k}={p}" for k, p in v.params.items())]) for v in variants if v.candidate]
    return list(dict.fromkeys(words))


def variants_of(
    texts: Sequence[str],
    patched: bool = False,
    on: str = "virtual",
    k: kernel.Kernel | None = None,
    patches: Sequence[Path] = (),
    series: Series = DEFAULT,
) -> list[jobs.Variant]:
    """Congestion controls with parameters; ``FILE.c[@NAME][:param=value,...]`` is built, and is all that it registers.

    LabError where one cannot be had. ``k``: the kernel that they are for; None: the lab's of a series, ``patched`` or
    not, with ``patches`` of the user's.
    """
    found: list[jobs.Variant] = []
    for text in texts:
        file = FILE.match(text)
        if not file:
            found.append(jobs.parse_cc(text))
        elif on != "virtual":
            raise LabError(f"--cc {text}: files of one's own are run in virtual time only, not --on {on}")
        else:
            found += _built(
                text, file, k or ported.kernel(err, series, patched, patches=patches), {v.cc for v in found}
            )
    return found


def _built(text: str, file: re.Match[str], k: kernel.Kernel, taken: set[str]) -> list[jobs.Variant]:
    """Variants of a file, named apart from the kernel's and from those before."""
    taken = taken | set(offered.offered(k, kernel.modules(err, k)))
    made = module.module(err, k, sources.gather(file["path"]), taken)
    for note in made.notes:
        err.print(f"hetlab: {file['path']}: {note}")
    wanted = file["name"]
    if wanted and wanted not in made.names:
        raise LabError(f"--cc {text}: it registers {', '.join(made.names)}, not {wanted}{meant(wanted, made.names)}")
    own = Candidate(names=made.names, module=made.name, ko=made.ko, digest=made.digest, top=made.top)
    params = congestion.parse(f"{made.names[0]}{file['params'] or ''}")[1]
    return [jobs.Variant(name, params, own) for name in ((wanted,) if wanted else made.names)]
