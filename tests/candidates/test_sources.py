# SPDX-License-Identifier: GPL-2.0
"""Which files belong to a congestion control of the user's own, and what is changed in their copy."""

from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from hetlab.build import programs
from hetlab.candidates import adapt, hints, module, sources
from hetlab.errors import LabError

pytestmark = pytest.mark.fast

TABLE = """static struct tcp_congestion_ops mine __read_mostly = {{
\t.ssthresh\t= tcp_reno_ssthresh,
\t{extra}
\t.name\t\t= "mine",
}};
static struct kobj_type other = {{
\t.name = "mine",
}};
"""


def write(top: Path, **files: str) -> Path:
    for name, text in files.items():
        path = top / name.replace("__", "/")
        path = path if path.suffix or path.name == "Kbuild" else path.with_suffix(".c")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return top


def names(s: sources.Sources) -> list[str]:
    return sorted(map(str, s.files))


def test_a_single_file_with_the_headers_beside_it(tmp_path: Path) -> None:
    write(tmp_path, tcp_a="a", tcp_b="b")
    (tmp_path / "common.h").touch()
    s = sources.gather(str(tmp_path / "tcp_a.c"))
    assert (s.module, s.kbuild, names(s)) == ("tcp_a", False, ["common.h", "tcp_a.c"])


def test_rules_beside_it_are_used_where_they_make_it(tmp_path: Path) -> None:
    write(tmp_path, tcp_a="a", more="b", Kbuild="obj-m := tcp_x.o\ntcp_x-objs := \\\n\ttcp_a.o more.o\n")
    assert sources.gather(str(tmp_path)).module == "tcp_x"
    assert not sources.gather(str(tmp_path / "tcp_a.c")).kbuild
    (tmp_path / "Kbuild").write_text("obj-$(CONFIG_X) += tcp_a.o # one\nobj-m += more.o")
    assert sources.gather(str(tmp_path / "tcp_a.c")).kbuild
    with pytest.raises(LabError, match=r"make tcp_a, more: name the \.c file of one"):
        sources.gather(str(tmp_path))


@pytest.mark.parametrize(("name", "said"), [("none.c", "no such file"), ("a.txt", "must be a .c file"), (".", "obj-m")])
def test_what_is_no_candidate(tmp_path: Path, name: str, said: str) -> None:
    with pytest.raises(LabError, match=said):
        sources.gather(str(tmp_path / name))


def test_a_tree_is_not_eaten_whole(tmp_path: Path) -> None:
    (tmp_path / "tcp_a.c").write_text(" " * (sources.LIMIT_BYTES + 1))
    with pytest.raises(LabError, match="more than 20 MB"):
        sources.gather(str(tmp_path / "tcp_a.c"))


def test_contents_make_the_digest(tmp_path: Path) -> None:
    write(tmp_path, tcp_a="a")
    first = sources.gather(str(tmp_path / "tcp_a.c")).digest
    write(tmp_path, tcp_a="b")
    assert sources.gather(str(tmp_path / "tcp_a.c")).digest != first


def test_names_are_those_of_the_table_alone() -> None:
    files = {"tcp_a.c": TABLE.format(extra=""), "b.c": 'struct x y = {\n\t.name = "no",\n};\n'}
    assert adapt.names(files) == ["mine"]
    renamed = adapt.rename(files, {"mine": "mine_2", "no": "yes"})
    assert renamed["tcp_a.c"].count('"mine_2"') == 1 and '.name = "mine",' in renamed["tcp_a.c"]
    assert renamed["b.c"] == files["b.c"]


def test_old_names_of_functions_are_told() -> None:
    text = "int f(void) { return prandom_u32_max(3) + tcp_time_stamp(tp) - tcp_time_stamp; }"
    (changed,), notes = adapt.adapt({"a.c": text})[0].values(), adapt.adapt({"a.c": text})[1]
    assert changed == "int f(void) { return get_random_u32_below(3) + tcp_time_stamp_ms(tp) - tcp_jiffies32; }"
    assert len(notes) == 3 and all(note.startswith("a.c: ") for note in notes)


def test_arguments_that_functions_got() -> None:
    calls = "__tcp_send_ack(sk, ca->prior); __tcp_send_ack(sk, READ_ONCE(tp->rcv_nxt)); __tcp_send_ack(sk, n, 0);"
    files, notes = adapt.adapt({"a.h": calls})
    wanted = (
        "__tcp_send_ack(sk, ca->prior, 0); __tcp_send_ack(sk, READ_ONCE(tp->rcv_nxt), 0); __tcp_send_ack(sk, n, 0);"
    )
    assert files["a.h"] == wanted and len(notes) == 1


def test_exports_of_a_copy_of_the_kernels_file_are_left_out() -> None:
    """A built-in tcp_vegas exports the same symbols: modpost refuses a second one."""
    files, notes = adapt.adapt({"a.c": "void f(void)\n{\n}\nEXPORT_SYMBOL_GPL(f);\nEXPORT_SYMBOL(g);\nint a;\n"})
    assert files["a.c"] == "void f(void)\n{\n}\n\n\nint a;\n" and len(notes) == 1


def test_cong_control_of_older_kernels_is_wrapped() -> None:
    old = "static void main_(struct sock *sk, const struct rate_sample *rs)\n{\n}\n"
    files, notes = adapt.adapt({"a.c": old + TABLE.format(extra=".undo_cwnd = u, .cong_control = main_,")})
    text = files["a.c"]
    assert ".cong_control = main__adapted," in text and "\tmain_(sk, rs);" in text
    assert text.index("main__adapted(struct sock") < text.index("struct tcp_congestion_ops")
    assert notes == ["a.c: cong_control(sk, ack, flag, rs) since 6.10, main_() has 2 arguments: wrapped"]
    new = old.replace("sk, const", "sk, u32 ack, int flag, const")
    assert adapt.adapt({"a.c": new + TABLE.format(extra=".undo_cwnd = u, .cong_control = main_,")})[1] == []


def test_packets_in_flight_were_the_third_argument() -> None:
    """Before 3.13: as many arguments as now, and the name alone tells what the last one is."""
    old = "static void avoid(struct sock *sk, u32 ack, u32 in_flight)\n{\n}\n"
    table = TABLE.format(extra=".undo_cwnd = u, .cong_avoid = avoid,")
    text = adapt.adapt({"a.c": old + table})[0]["a.c"]
    assert "\tavoid(sk, ack, tcp_packets_in_flight(tcp_sk(sk)));" in text and ".cong_avoid = avoid_adapted," in text
    new = old.replace("in_flight", "acked") + table
    both = f"#if OLD\n{old}#else\n{old.replace('in_flight', 'acked')}#endif\n{table}"
    for same in (new, both):
        assert adapt.adapt({"a.c": same}) == ({"a.c": same}, [])


def test_the_first_packets_event_of_later_kernels() -> None:
    """An operation of its own since 7.2: one event of cwnd_event() here, which goes on with the others."""
    events = "static void f(struct sock *sk)\n{\n}\nstatic void g(struct sock *sk, enum tcp_ca_event e)\n{\n}\n"
    extra = ".undo_cwnd = u, .cwnd_event = g,\n\t.cwnd_event_tx_start\t= f,"
    files, notes = adapt.adapt({"a.c": events + TABLE.format(extra=extra)})
    text = files["a.c"]
    assert text.count(".cwnd_event = f_adapted,") == 1 and ".cwnd_event = g" not in text and "tx_start\t=" not in text
    assert "\tif (event == CA_EVENT_TX_START)\n\t\tf(sk);\n\telse\n\t\tg(sk, event);\n" in text
    assert text.index("f_adapted(struct sock") < text.index("struct tcp_congestion_ops") and len(notes) == 1
    alone = adapt.adapt({"a.c": events + TABLE.format(extra=".undo_cwnd = u, .cwnd_event_tx_start = f,")})[0]["a.c"]
    assert "else" not in alone and ".cwnd_event = f_adapted," in alone
    header = "\tvoid (*cwnd_event_tx_start)(struct sock *sk);\n"
    text = events + TABLE.format(extra=extra)
    assert adapt.adapt({"a.c": text}, header) == ({"a.c": text}, [])


def test_what_ss_was_told_in_another_form_is_left_out() -> None:
    old = "static void info(struct sock *sk, u32 ext, struct sk_buff *skb)\n{\n}\n"
    files, notes = adapt.adapt({"a.c": old + TABLE.format(extra=".undo_cwnd = u, .get_info\t= info,")})
    assert ".get_info" not in files["a.c"] and len(notes) == 1
    new = old.replace("struct sk_buff *skb", "int *attr, union tcp_cc_info *info")
    text = new + TABLE.format(extra=".undo_cwnd = u, .get_info\t= info,")
    assert adapt.adapt({"a.c": text}) == ({"a.c": text}, [])


def test_seconds_and_numbers_of_packets() -> None:
    text = "if (get_seconds() > 3 && inet_sk(sk)->inet_id == 2) return inet_sk(sk)->inet_id;"
    wanted = "if (ktime_get_real_seconds() > 3 && ((u16)atomic_read(&inet_sk(sk)->inet_id)) == 2) return "
    files, notes = adapt.adapt({"a.c": text})
    assert files["a.c"] == wanted + "((u16)atomic_read(&inet_sk(sk)->inet_id));" and len(notes) == 2


@pytest.mark.parametrize(("name", "length"), [("", 0), ("a" * 16, 16), ("b" * 15, None), ("c-d", None)])
def test_a_name_that_the_kernel_cannot_keep(name: str, length: int | None) -> None:
    """It has no room for the end of a name of 16 characters, and reads on behind it."""
    said = adapt.ill_named({"a.c": f"\n{TABLE.format(extra='').replace('mine', name)}"})
    assert said == ([] if length is None else [f'a.c:5: the name "{name}" has {length} characters'])


def test_each_operation_of_each_table_is_wrapped() -> None:
    """Two tables with functions of their own, one of them for today's kernel."""
    old = "static void {0}(struct sock *sk, const struct rate_sample *rs)\n{{\n}}\n"
    new = "static void today(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)\n{\n}\n"
    tables = [TABLE.format(extra=f".cong_control = {f},").split("static struct kobj")[0] for f in ("a", "b", "today")]
    files, notes = adapt.adapt({"a.c": old.format("a") + old.format("b") + new + "".join(tables)})
    text = files["a.c"]
    assert [text.count(f".cong_control = {f},") for f in ("a_adapted", "b_adapted", "today")] == [1, 1, 1]
    assert sum("wrapped" in note for note in notes) == 2


def test_a_function_of_another_file_is_known_by_its_declaration() -> None:
    header = "void model(struct sock *sk, const struct rate_sample *rs);\n"
    table = TABLE.format(extra=".cong_control = model,")
    assert ".cong_control = model_adapted," in adapt.adapt({"a.c": table, "a.h": header})[0]["a.c"]
    assert ".cong_control = model," in adapt.adapt({"a.c": table})[0]["a.c"]


def test_one_that_is_defined_for_several_kernels_is_left_alone() -> None:
    both = """#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 10, 0)
static void m(struct sock *sk, const struct rate_sample *rs)
{
}
#else
static void m(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
}
#endif
"""
    text = both + TABLE.format(extra=".undo_cwnd = u, .cong_control = m,")
    assert adapt.adapt({"a.c": text}) == ({"a.c": text}, [])


def test_what_a_table_must_have_and_has_no_more() -> None:
    files, notes = adapt.adapt({"a.c": TABLE.format(extra=".min_cwnd\t= tcp_reno_min_cwnd,\n\t.tso_segs_goal = g,")})
    table = files["a.c"].partition("};")[0]
    assert ".undo_cwnd = tcp_reno_undo_cwnd, .ssthresh\t= tcp_reno_ssthresh," in table
    assert ".min_tso_segs = g," in table and "min_cwnd\t=" not in table and len(notes) == 3
    assert adapt.adapt({"a.c": TABLE.format(extra=".undo_cwnd = mine,")})[1] == []


def test_arguments_that_functions_of_old_did_without() -> None:
    calls = "tcp_cong_avoid_ai(tp, ca->cnt); tcp_slow_start(tp); if (!tcp_is_cwnd_limited(sk, in_flight)) return;"
    files, notes = adapt.adapt({"a.c": calls})
    wanted = "tcp_cong_avoid_ai(tp, ca->cnt, 1); tcp_slow_start(tp, 1); if (!tcp_is_cwnd_limited(sk)) return;"
    assert files["a.c"] == wanted and len(notes) == 3
    assert adapt.adapt({"a.c": wanted}) == ({"a.c": wanted}, [])


def test_time_stamps_that_were_structures() -> None:
    old = "struct skb_mstamp now, *p; skb_mstamp_get(&now); x = skb_mstamp_us_delta(&now, &ca->cycle_mstamp); "
    files, notes = adapt.adapt({"a.c": old + "if (tp->tcp_mstamp.v64) y = tp->tcp_mstamp.stamp_us;"})
    wanted = "u64 now, *p; (now = tcp_clock_us()); x = tcp_stamp_us_delta(now, ca->cycle_mstamp); "
    assert files["a.c"] == wanted + "if (tp->tcp_mstamp) y = tp->tcp_mstamp;" and len(notes) == 1


def test_what_the_kernel_has_by_a_patch_is_left_to_it() -> None:
    """tso_segs() is there then, and so is what its header defines."""
    function = "static u32 goal(struct sock *sk, unsigned int mss)\n{\n}\n"
    text = function + TABLE.format(extra=".undo_cwnd = u, .flags = TCP_CONG_WANTS_CE_EVENTS, .tso_segs = goal,")
    header = "#define TCP_CONG_WANTS_CE_EVENTS 0x4\n\tu32 (*tso_segs)(struct sock *sk, unsigned int mss);\n"
    assert adapt.adapt({"a.c": text}, header) == ({"a.c": text}, [])
    files, notes = adapt.adapt({"a.c": text})
    assert ".min_tso_segs = goal_adapted," in files["a.c"] and len(notes) == 2
    assert "\treturn goal(sk, tcp_sk(sk)->mss_cache);" in files["a.c"]


def test_what_is_gone_is_defined_behind_the_includes() -> None:
    text = "#include <net/tcp.h>\n#ifdef X\n#include <y.h>\n#endif\nint f(void) { return strlcpy(a, b, 3); }\n"
    files, notes = adapt.adapt({"a.c": text, "b.h": "static int g(void) { return strlcpy(a, b, 3); }\n"})
    lines = files["a.c"].splitlines()
    assert lines[:2] == ["#include <net/tcp.h>", "#ifndef hetlab_strlcpy"]
    assert files["b.h"].startswith("#ifndef hetlab_strlcpy\n") and len(notes) == 2


@pytest.mark.parametrize("own", ["#define strlcpy strscpy", "static size_t strlcpy(char *a, char *b, size_t n)\n{\n}"])
def test_what_a_file_defines_itself_is_its_own(own: str) -> None:
    text = f"#include <net/tcp.h>\n{own}\nint f(void) {{ return strlcpy(a, b, 3); }}\n"
    assert adapt.adapt({"a.c": text}) == ({"a.c": text}, [])


def test_what_only_a_comment_names_is_not_used() -> None:
    """As tcp_tso_autosize() in BBRv3."""
    text = "#include <net/tcp.h>\n/* Like strlcpy(),\n * ACCESS_ONCE() */\nint a; // tcp_tso_autosize()\n"
    assert adapt.adapt({"a.c": text}) == ({"a.c": text}, [])


def test_sets_of_functions_for_bpf() -> None:
    """As in 5.18; a set that is none of kfuncs stays."""
    old = "BTF_SET_START(a)\nBTF_ID(func, f)\nBTF_SET_END(a)\n"
    kfuncs = "static const struct btf_kfunc_id_set s = { .check_set = &a };\n"
    new = "BTF_KFUNCS_START(a)\nBTF_ID_FLAGS(func, f)\nBTF_KFUNCS_END(a)\n"
    assert adapt.adapt({"a.c": old + kfuncs})[0]["a.c"] == new + kfuncs.replace("check_set", "set")
    assert adapt.adapt({"a.c": old}) == ({"a.c": old}, [])


def test_a_header_of_the_kernel_keeps_its_path(tmp_path: Path) -> None:
    write(tmp_path, tcp_a="a")
    log = "/b/tcp_a.c:7:2: error: one\n/linux/include/bug.h:5:1: error: BUILD_BUG_ON failed\n"
    said = module._told(sources.gather(str(tmp_path / "tcp_a.c")), log, Path("/b")).splitlines()
    assert said[1:3] == [f"{tmp_path}/tcp_a.c:7: one", "/linux/include/bug.h:5: BUILD_BUG_ON failed"]


def test_lines_are_those_of_the_users_file(tmp_path: Path) -> None:
    """However much is put before them: definitions, wrappers of two operations, an event."""
    function = "static void {0}(struct sock *sk, {1})\n{{\n}}\n"
    old = function.format("c", "const struct rate_sample *rs") + function.format("p", "u32 n, s32 rtt_us")
    extra = ".min_cwnd = x,\n\t.cong_control = c, .pkts_acked = p, .cwnd_event_tx_start = e,"
    text = f"#include <net/tcp.h>\nint a = strlcpy(x, y, 3);\n{old}{TABLE.format(extra=extra)}int behind;\n"
    changed = adapt.adapt({"a.c": text})[0]["a.c"]
    assert changed.count("_adapted(struct sock") == 3 and "hetlab_strlcpy" in changed
    said, line = {}, 1
    for words in changed.splitlines():
        said[words] = line
        line = int(words.removeprefix("#line ")) if words.startswith("#line ") else line + 1
    for words in ("int a = strlcpy(x, y, 3);", "int behind;"):
        assert said[words] == text.splitlines().index(words) + 1


def test_what_the_compiler_says_is_explained() -> None:
    log = """/b/tcp_a.c:7:2: error: 'struct tcp_congestion_ops' has no member named 'tso_segs'
/b/tcp_a.c:9:2: warning: something
ERROR: modpost: "tcp_secret" [/b/tcp_a.ko] undefined!"""
    assert hints.faults(log, "/b") == ["tcp_a.c:7: 'struct tcp_congestion_ops' has no member named 'tso_segs'"]
    assert hints.undefined(log) == ["tcp_secret"]
    assert hints.refused(log, "/b") == ['ERROR: modpost: "tcp_secret" [tcp_a.ko] undefined!']
    first, second = hints.hints(log)
    assert "min_tso_segs" in first and "tcp_secret" in second


def test_what_a_changed_kernel_would_have_is_listed_whole() -> None:
    """Behind the first dozen errors, too; a typing error is listed as well, what is explained by itself is not."""
    log = """/b/tcp_a.c:7:2: error: 'const struct rate_sample' has no member named 'tx_in_flight'; did you mean 'x'?
/b/tcp_a.c:8:2: error: 'struct rate_sample' has no member named 'lost'
/b/tcp_a.c:9:2: error: 'struct <anonymous>' has no member named 'lost'
/b/tcp_a.c:9:9: error: 'struct tcp_sock' has no member named 'srtt'; did you mean 'srtt_us'?
/b/tcp_a.c:10:2: error: 'TCP_ECN_LOW' undeclared (first use in this function)
/b/tcp_a.c:11:2: error: implicit declaration of function 'mx' [-Werror=implicit-function-declaration]
/b/tcp_a.c:12:2: error: 'struct rate_sample' has no member named 'lost'
"""
    wanted = ["tx_in_flight, lost of struct rate_sample", "lost of a structure", "TCP_ECN_LOW", "mx()"]
    assert hints.lacking(log) == wanted
    srtt, all_of_them = hints.hints(log)
    assert "srtt_us" in srtt and "; ".join(wanted) in all_of_them and "--patch FILE" in all_of_them


def test_errors_beyond_the_first_dozen_are_counted(tmp_path: Path) -> None:
    write(tmp_path, tcp_a="a")
    log = "".join(f"/b/tcp_a.c:{line}:2: error: one\n" for line in range(1, 16))
    said = module._told(sources.gather(str(tmp_path / "tcp_a.c")), log, Path("/b")).splitlines()
    assert said[12:14] == [f"{tmp_path}/tcp_a.c:12: one", "and 3 more"]


def test_a_function_without_a_value_is_told() -> None:
    log = "/b/tcp_a.c:7:1: warning: control reaches end of non-void function [-Wreturn-type]\n"
    assert hints.no_value(log * 2, "/b") == ["tcp_a.c:7: a function ends without a value: what it returns is chance"]


def test_the_machines_programs_are_built_before_it_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A build folder with a kernel alone has no first process for the machine that loads the module."""
    done: list[str] = []

    def compiled(*args: Any) -> str:
        args[-1].mkdir(parents=True)
        return ""

    def loaded(*_: Any) -> tuple[str, ...]:
        done.append("loaded")
        return ("a",)

    monkeypatch.setattr(programs, "tools", lambda _: done.append("programs"))
    for name, stub in {
        "_copies": lambda *_: ({}, [], {}),
        "_module_name": lambda *_: "tcp_a",
        "_compile": compiled,
        "_registered": loaded,
        "BUILD": tmp_path,
    }.items():
        monkeypatch.setattr(module, name, stub)
    kernel: Any = SimpleNamespace(key="key")
    write(tmp_path, tcp_a="a")
    made = module.module(Console(file=StringIO()), kernel, sources.gather(str(tmp_path / "tcp_a.c")))
    assert made.names == ("a",) and done == ["programs", "loaded"]
