# SPDX-License-Identifier: GPL-2.0
"""A congestion control of the user's own is built, named, run; one that breaks the kernel costs its own runs."""

import json
import re
import shutil
from pathlib import Path

import pytest

from commands import TOP, Hetlab, Run

pytestmark = pytest.mark.virtual
SOURCES = Path(__file__).with_name("sources")
AIMD = SOURCES / "tcp_aimd.c"
SHORT = ("--set", "duration_s=4")


def test_beside_the_kernels_own(run_json: Run, tmp_path: Path) -> None:
    """With a parameter of its own; nothing is left in the user's directory."""
    before = sorted(SOURCES.iterdir())
    runs = run_json("bulk", *SHORT, "--cc", AIMD, "--cc", f"{AIMD}:alpha=8", "--cc", "reno", "--out", tmp_path)
    plain, fast, reno = sorted(runs, key=lambda r: (r["cc"] == "reno", len(r["cc_params"])))
    assert (plain["cc"], fast["cc_params"]) == ("aimd", {"alpha": "8"})
    assert plain["hashes"]["candidates"] and "candidates" not in reno["hashes"]
    assert plain["flows"][0]["goodput_mbit"] > 5
    assert fast["queue"]["steady_mean_pkts"] > plain["queue"]["steady_mean_pkts"]
    assert sorted(SOURCES.iterdir()) == before


def test_parameters_are_there_when_it_is_loaded(run_json: Run, hetlab: Hetlab, tmp_path: Path) -> None:
    """One that can be set at no other time, and one that module_init() alone reads."""
    text = AIMD.read_text().replace("alpha, uint, 0644", "alpha, uint, 0444")
    text = text.replace("\tBUILD_BUG_ON", "\tif (alpha > 9)\n\t\treturn -ERANGE;\n\tgrowth = alpha;\n\tBUILD_BUG_ON")
    mine = tmp_path / "tcp_mine.c"
    mine.write_text(
        text.replace("acked * alpha", "acked * growth").replace("static void", "static u32 growth;\n\nstatic void", 1)
    )
    runs = run_json("bulk", *SHORT, "--cc", mine, "--cc", f"{mine}:alpha=8", "--out", tmp_path / "out")
    plain, fast = sorted(runs, key=lambda r: len(r["cc_params"]))
    assert fast["queue"]["steady_mean_pkts"] > plain["queue"]["steady_mean_pkts"]
    done = hetlab("run", "bulk", *SHORT, "--cc", f"{mine}:alpha=10", "--out", tmp_path / "out")
    assert done.returncode == 1 and "Traceback" not in done.stderr
    said = " ".join(done.stderr.split())
    assert "cannot be loaded" in said and "alpha=10: alpha: packets that the window grows by" in said


def test_a_file_of_the_kernels_tree(hetlab: Hetlab, tmp_path: Path) -> None:
    """What it includes of the folder that it comes from is found there."""
    mine = tmp_path / "tcp_mine.c"
    mine.write_text(AIMD.read_text().replace("#include <net/tcp.h>", '#include <net/tcp.h>\n#include "tcp_dctcp.h"'))
    done = hetlab("exec", "--cc", mine, "--", "true")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "rule", ["obj-$(CONFIG_TCP_CONG_MINE) += tcp_mine.o", "ifdef MINE\nobj-m += tcp_mine.o\nendif"]
)
def test_rules_that_depend_on_what_is_not_here(hetlab: Hetlab, tmp_path: Path, rule: str) -> None:
    (tmp_path / "tcp_mine.c").write_text(AIMD.read_text())
    (tmp_path / "Makefile").write_text(f"{rule}\nobj-m += tcp_other.o\n")
    done = hetlab("exec", "--cc", tmp_path / "tcp_mine.c", "--", "true")
    assert done.returncode == 0, done.stderr


def test_a_change_of_the_file_is_another_result(run_json: Run, hetlab: Hetlab, tmp_path: Path) -> None:
    """A repeated command takes what is there, unless the file has changed."""
    mine = tmp_path / "tcp_mine.c"
    mine.write_text(AIMD.read_text())
    words = ("run", "bulk", *SHORT, "--cc", mine, "--out", tmp_path / "out")
    hetlab(*words)
    assert "1 runs are in" in hetlab(*words, "--resume").stderr
    mine.write_text(AIMD.read_text().replace("/ 2, 2U", "* 3 / 4, 2U"))
    assert "1 runs are in" not in hetlab(*words, "--resume").stderr


def test_a_name_that_is_in_use(hetlab: Hetlab, tmp_path: Path) -> None:
    """Of the kernel, or of another file: it gets another one, and that is reported."""
    for name, text in (("a", "cubic"), ("b", "aimd")):
        (tmp_path / f"tcp_{name}.c").write_text(AIMD.read_text().replace('"aimd"', f'"{text}"'))
    files = (tmp_path / "tcp_a.c", tmp_path / "tcp_b.c", AIMD)
    done = hetlab("run", "bulk", *SHORT, *(w for f in files for w in ("--cc", f)), "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "the name cubic is in use: called cubic_2 here" in done.stderr
    assert sorted(p.name for p in (tmp_path / "out" / "bulk").iterdir()) == ["aimd", "aimd_2", "cubic_2"]


def test_a_module_of_the_kernels_name(hetlab: Hetlab, tmp_path: Path) -> None:
    """As one's own version of tcp_cubic.c has, also by rules of one's own, of one object or several."""
    files = [tmp_path / where / "tcp_cubic.c" for where in ("alone", "one", "two")]
    for file in files:
        file.parent.mkdir()
        shutil.copy(AIMD, file)
    (files[1].parent / "Kbuild").write_text("obj-m := tcp_cubic.o\n")
    files[2].rename(files[2].with_name("aimd_part.c"))
    (files[2].parent / "Makefile").write_text("obj-m += tcp_cubic.o\ntcp_cubic-objs := aimd_part.o\n")
    for file in (files[0], files[1], files[2].parent):
        done = hetlab("run", "bulk", *SHORT, "--cc", f"{file}:alpha=2", "--out", file.with_suffix(".out"))
        assert done.returncode == 0, done.stderr
        assert "called tcp_cubic_own here" in " ".join(done.stderr.split())


def test_a_changed_module_of_this_tree_beside_the_original(hetlab: Hetlab, tmp_path: Path) -> None:
    """With the tree's headers, wherever the file is; and the tree's own file, by the tree's Kbuild."""
    shutil.copy(TOP / "tcp_westwood_fr.c", tmp_path)
    for file in (tmp_path / "tcp_westwood_fr.c", TOP / "tcp_westwood_fr.c"):
        words = ("--cc", f"{file}@westwood_fr_2", "--cc", "westwood_fr", "--json")
        done = hetlab("run", "bulk", *SHORT, *words, "--out", tmp_path / file.parent.name)
        assert done.returncode == 0, done.stderr
        told = re.findall(r"the name (\w+) is in use", " ".join(done.stderr.split()))
        assert told == ["westwood_fr", "westwood_gfr"], "not those of other modules of the same rules"
        first, second = (json.loads(line)["flows"] for line in done.stdout.splitlines())
        assert first[0]["goodput_mbit"] == second[0]["goodput_mbit"]


def test_code_for_kernels_of_other_years(hetlab: Hetlab, tmp_path: Path) -> None:
    """Written as for Linux 3.15 to 6.7, of one file or several folders: built, run unchanged, each change reported."""
    years = sorted(SOURCES.with_name("years").glob("tcp_*.c"))
    words = [word for file in (*years, SOURCES.with_name("years") / "parts") for word in ("--cc", file)]
    done = hetlab("run", "bulk", "--set", "duration_s=3", *words, "--json", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    goodput = {run["cc"]: run["flows"][0]["goodput_mbit"] for run in map(json.loads, done.stdout.splitlines())}
    assert set(goodput) == {file.stem.removeprefix("tcp_") for file in years} | {"parts", "parts_reno"}
    assert min(goodput.values()) > 1, goodput
    said = " ".join(done.stderr.split())
    for change in ("tcp_jiffies32", "min_tso_segs", "pkts_acked", "undo_cwnd", "strlcpy", "kfuncs", "skb_mstamp"):
        assert change in said


def test_what_compilers_of_old_let_pass(hetlab: Hetlab, tmp_path: Path) -> None:
    """A function without a prototype or without its value, a name with a hyphen: they do, and it is told."""
    text = AIMD.read_text().replace("aimd_register(void)", "aimd_register()").replace('"aimd"', '"Own-aimd"')
    text = text.replace("\treturn tcp_register", "\ttcp_register")
    (tmp_path / "tcp_mine.c").write_text(text)
    done = hetlab("run", "bulk", *SHORT, "--cc", tmp_path / "tcp_mine.c", "--json", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["cc"] == "own_aimd"
    said = " ".join(done.stderr.split())
    assert "tcp_mine.c:58: a function ends without a value" in said
    assert "the name Own-aimd has other characters than a-z, 0-9, _: called own_aimd here" in said


def test_several_names_of_one_module(hetlab: Hetlab, tmp_path: Path) -> None:
    text = AIMD.read_text()
    second = text[text.index("static struct tcp_congestion_ops") : text.index("static int __init")]
    second = second.replace(" aimd __", " other __").replace('"aimd"', '"other"')
    text = text.replace("static int __init", second + "static int __init")
    text = text.replace(
        "\treturn tcp_register_congestion_control(&aimd);",
        "\ttcp_register_congestion_control(&other);\n\treturn tcp_register_congestion_control(&aimd);",
    )
    text = text.replace("\ttcp_unregister", "\ttcp_unregister_congestion_control(&other);\n\ttcp_unregister", 1)
    file = tmp_path / "tcp_two.c"
    file.write_text(text)
    done = hetlab("run", "bulk", *SHORT, "--cc", file, "--dry-run")
    assert [line.split()[1] for line in done.stdout.splitlines()[1:-1]] == ["aimd", "other"], done.stderr
    done = hetlab("run", "bulk", *SHORT, "--cc", f"{file}@other", "--dry-run")
    assert [line.split()[1] for line in done.stdout.splitlines()[1:-1]] == ["other"]
    assert (
        "it registers aimd, other, not othr; did you mean other?"
        in hetlab("run", "bulk", "--cc", f"{file}@othr").stderr
    )


BROKEN = {
    "syntax": ("\treturn max(tcp_snd_cwnd", "\treturn mx(tcp_snd_cwnd", ["tcp_mine.c:", "'mx'"]),
    "symbol": ("\tca->acked = 0;", "\textern void tcp_v4_rcv2(void);\n\ttcp_v4_rcv2();", ["tcp_v4_rcv2", "--patch"]),
    "state": ("\tu32 acked;", "\tu32 acked;\n\tu8 more[200];", ["ICSK_CA_PRIV_SIZE"]),
    "nothing registered": (
        "\treturn tcp_register_congestion_control(&aimd);",
        "\treturn 0;",
        ["registers no congestion"],
    ),
    "licence": ('MODULE_LICENSE("GPL");\n', "", ["missing MODULE_LICENSE() in tcp_mine.o", "hint: MODULE_LICENSE"]),
    "another licence": ('"GPL"', '"Proprietary"', ["GPL-only symbol 'tcp_slow_start'", "hint: MODULE_LICENSE"]),
    "operations": ("\t.ssthresh\t= aimd_ssthresh,\n", "", ["does not implement required ops", "needs .ssthresh"]),
    "a long name": ('"aimd"', '"aimd_of_sixteen_"', ["tcp_mine.c:51:", "has 16 characters", "1 to 15"]),
    "a long name of a macro": (
        '\t.name\t\t= "aimd",',
        '#define LONG "aimd_of_sixteen_"\n\t.name\t\t= LONG,',
        ["a name of more than 15 characters"],
    ),
    "crash at loading": (
        "\treturn tcp_register_congestion_control(&aimd);",
        "\t*(int *)16 = 1;\n\treturn tcp_register_congestion_control(&aimd);",
        ["module_init() ended the machine: Kernel panic", "at aimd_register(), tcp_mine.c:57"],
    ),
    "division by zero at loading": (
        "\treturn tcp_register_congestion_control(&aimd);",
        "\talpha = 3 / alpha;\n\treturn tcp_register_congestion_control(&aimd);",
        ["Kernel mode signal 8: at aimd_register(), tcp_mine.c:57"],
    ),
    "no end of loading": (
        "\treturn tcp_register_congestion_control(&aimd);",
        "\twhile (READ_ONCE(alpha) < 2)\n\t\tbarrier();\n\treturn tcp_register_congestion_control(&aimd);",
        ["tcp_mine: module_init() did not return in 30 s"],
    ),
    "refused": ("\treturn tcp_register_congestion_control(&aimd);", "\treturn -ENODEV;", ["No such device"]),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_what_does_not_build_or_load(hetlab: Hetlab, tmp_path: Path, fault: str) -> None:
    old, new, words = BROKEN[fault]
    text = AIMD.read_text()
    assert old in text
    if fault.startswith("division"):
        text = text.replace("alpha __read_mostly = 1", "alpha __read_mostly")
    (tmp_path / "tcp_mine.c").write_text(text.replace(old, new))
    done = hetlab("run", "bulk", "--cc", tmp_path / "tcp_mine.c", "--out", tmp_path / "out")
    assert done.returncode == 2 and "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr
    assert not (tmp_path / "out").exists()


STILL = "virtual time stands still"
FATAL = {"divides": "Kernel mode signal 8", "wild": "Kernel panic", "endless": STILL, "sleeps": STILL}
# Words of the source lines of which one is named
PLACES = {"divides": ["/ none"], "wild": ["0x10"], "endless": ["while", "cpu_relax"], "sleeps": ["msleep"]}


def line_of(name: str, word: str) -> str:
    file = SOURCES / f"tcp_{name}.c"
    return f"tcp_{name}.c:{next(i for i, text in enumerate(file.read_text().splitlines(), 1) if word in text)}"


def test_one_that_breaks_the_kernel_costs_its_own_runs(hetlab: Hetlab, tmp_path: Path) -> None:
    """The source line is named; the others are kept."""
    files = [SOURCES / f"tcp_{name}.c" for name in ("divides", "wild", "endless", "sleeps", "freed", "nothing", "aimd")]
    done = hetlab("run", "bulk", *SHORT, *(w for f in files for w in ("--cc", f)), "--out", tmp_path)
    assert done.returncode == 1
    assert sorted(p.name for p in (tmp_path / "bulk").iterdir()) == ["aimd", "nothing"]
    for name, said in FATAL.items():
        (line,) = (text for text in done.stderr.splitlines() if text.startswith(f"failed: bulk {name} "))
        assert said in line
        assert any(line_of(name, word) in line for word in PLACES[name]), line
    (freed,) = re.findall(r"^failed: bulk freed .*(?:\n(?!failed).*)*", done.stderr, re.M)
    assert "Kernel panic" in freed and "no place in a module of yours" in freed


def test_only_in_virtual_time(hetlab: Hetlab) -> None:
    done = hetlab("run", "bulk", "--cc", AIMD, "--on", "host")
    assert done.returncode == 2 and "in virtual time only, not --on host" in done.stderr


def test_a_command_has_it_as_well(hetlab: Hetlab) -> None:
    parameter = "/sys/module/tcp_aimd/parameters/alpha"
    available = "/proc/sys/net/ipv4/tcp_available_congestion_control"
    done = hetlab("exec", "--cc", f"{AIMD}:alpha=7", "--", "cat", parameter, available)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[0] == "7" and "aimd" in done.stdout.split()
