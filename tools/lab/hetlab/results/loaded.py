# SPDX-License-Identifier: GPL-2.0
"""Modules that a run loaded, with their hashes, as a result names them: ``sch_replay 0123456789abcdef, tcp_...``.

A machine loads no other modules of this tree than its run uses (Job.modules), so nothing else of them can change its
bytes: a change of one module leaves the results of runs without it as they are. Machines of other kinds load all, and
have one hash of all, without a name.
"""

from hetlab.model.job import Job


def by_name(text: str) -> dict[str, str]:
    """Hashes by the names of modules; a hash without a name has the empty one."""
    found = (item.rpartition(" ") for item in text.split(", ") if item)
    return {name: digest for name, _space, digest in found}


def as_text(digests: dict[str, str]) -> str:
    """The inverse of by_name, in the order of names."""
    return ", ".join(f"{name} {digests[name]}".strip() for name in sorted(digests))


def of_run(job: Job, hashes: dict[str, str]) -> dict[str, str]:
    """What a run is measured with, of all that is there."""
    used = {"", *job.modules}
    every = by_name(hashes["modules"])
    return hashes | {"modules": as_text({name: every[name] for name in every if name in used})}
