# SPDX-License-Identifier: GPL-2.0
"""Changes to the copy of a candidate's sources so that code for kernels of other years compiles; each is told.

Only where what it means is the same on the lab's kernel, 6.12. What is not is explained by hetlab.candidates.hints.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from hetlab.candidates.gone import gone, placed

Texts = dict[str, str]  # file name to content

# What was renamed or got an argument: pattern, new text, since when
ARGUMENT = r"[^,()]+(?:\([^()]*\)[^,()]*)?"
RENAMED = (
    (r"(?m)^EXPORT_SYMBOL(?:_GPL)?\s*\(\w+\);$", "", "EXPORT_SYMBOL() left out: the kernel may have the same symbol"),
    (r"<asm/unaligned\.h>", "<linux/unaligned.h>", "asm/unaligned.h is linux/unaligned.h since 6.12"),
    (
        rf"\b__tcp_send_ack\s*\(({ARGUMENT}),({ARGUMENT})\)",
        r"__tcp_send_ack(\1,\2, 0)",
        "__tcp_send_ack() takes flags now",
    ),
    (
        rf"\btcp_cong_avoid_ai\s*\(({ARGUMENT}),({ARGUMENT})\)",
        r"tcp_cong_avoid_ai(\1,\2, 1)",
        "tcp_cong_avoid_ai() takes the packets acknowledged since 4.0: 1 here",
    ),
    (
        rf"\btcp_slow_start\s*\(({ARGUMENT})\)",
        r"tcp_slow_start(\1, 1)",
        "tcp_slow_start() takes the packets acknowledged since 3.13: 1 here",
    ),
    (
        rf"\btcp_is_cwnd_limited\s*\(({ARGUMENT}),{ARGUMENT}\)",
        r"tcp_is_cwnd_limited(\1)",
        "tcp_is_cwnd_limited() counts the packets in flight itself since 3.16",
    ),
    (r"\bget_seconds\s*\(\s*\)", "ktime_get_real_seconds()", "get_seconds() is ktime_get_real_seconds() since 5.6"),
    (
        r"(\binet_sk\s*\([^()]*\)->inet_id\b)(?!\s*=[^=])",
        r"((u16)atomic_read(&\1))",
        "inet_id is an atomic_t since 6.7",
    ),
    (r"\bprandom_u32_max\s*\(", "get_random_u32_below(", "prandom_u32_max() is get_random_u32_below() since 6.2"),
    (r"\bprandom_u32\s*\(", "get_random_u32(", "prandom_u32() is get_random_u32() since 6.1"),
    (r"\bget_random_int\s*\(", "get_random_u32(", "get_random_int() is get_random_u32() since 6.2"),
    (r"\bBTF_SET8_START\s*\(", "BTF_KFUNCS_START(", "BTF_SET8_START() of kfuncs is BTF_KFUNCS_START() since 6.8"),
    (r"\bBTF_SET8_END\s*\(", "BTF_KFUNCS_END(", "BTF_SET8_END() of kfuncs is BTF_KFUNCS_END() since 6.8"),
    (r"\btcp_time_stamp\s*\(", "tcp_time_stamp_ms(", "tcp_time_stamp(tp) is tcp_time_stamp_ms(tp) since 6.7"),
    (r"\btcp_time_stamp\b(?!\s*\()", "tcp_jiffies32", "tcp_time_stamp is tcp_jiffies32 since 4.15"),
)
# Of Linux 4.1 to 4.12, whose time stamps were structures
STAMPS = (
    (r"\bstruct\s+skb_mstamp\b", "u64"),
    (r"\bskb_mstamp_get\s*\(\s*&([^()]+)\)", r"(\1 = tcp_clock_us())"),
    (r"\bskb_mstamp_us_delta\s*\(\s*&([^(),]+),\s*&([^(),]+)\)", r"tcp_stamp_us_delta(\1, \2)"),
    (r"(\w*mstamp)\.(?:v64|stamp_us)\b", r"\1"),
)
# Of a file that offers its functions to BPF: a set of them has flags since 6.0
KFUNCS = re.compile(r"\b(?:btf_kfunc_id_set|DEFINE_KFUNC_BTF_ID_SET)\b")
OF_KFUNCS = (
    (r"\bBTF_SET_(START|END)\s*\(", r"BTF_KFUNCS_\1("),
    (r"\bBTF_ID\s*\(\s*func\s*,", "BTF_ID_FLAGS(func,"),
    (r"\.check_set\b", ".set"),
)


@dataclass(frozen=True)
class Operation:
    """One whose arguments changed: how many it had, what it takes now, the old ones in terms of these, and since when.

    ``now``: its name on the lab's kernel, if that changed; ``gives``: what it returns; ``last``: how its last argument
    was called, where the number of arguments does not tell.
    """

    had: int
    takes: str
    call: str
    since: str
    now: str = ""
    gives: str = "void"
    last: str = ""


SK, RS = "struct sock *sk", "const struct rate_sample *rs"
OPERATIONS: Sequence[tuple[str, Operation]] = (
    ("cong_control", Operation(2, f"{SK}, u32 ack, int flag, {RS}", "sk, rs", "(sk, ack, flag, rs) since 6.10")),
    (
        "cong_avoid",
        Operation(
            4,
            f"{SK}, u32 ack, u32 acked",
            "sk, ack, acked, tcp_packets_in_flight(tcp_sk(sk))",
            "(sk, ack, acked) since 3.15",
        ),
    ),
    (
        "cong_avoid",
        Operation(
            3,
            f"{SK}, u32 ack, u32 acked",
            "sk, ack, tcp_packets_in_flight(tcp_sk(sk))",
            " has the packets acknowledged, not in flight, since 3.15",
            last="in_?flight",
        ),
    ),
    (
        "pkts_acked",
        Operation(
            3,
            f"{SK}, const struct ack_sample *sample",
            "sk, sample->pkts_acked, sample->rtt_us",
            "(sk, sample) since 4.7",
        ),
    ),
    (
        "tso_segs",
        Operation(
            2,
            SK,
            "sk, tcp_sk(sk)->mss_cache",
            " of patched kernels is min_tso_segs(sk) here: bursts may be longer, not shorter",
            "min_tso_segs",
            "u32",
        ),
    ),
)
# Lines of a table of operations: pattern, new text, what changed
FIELDS = (
    (
        r"\.tso_segs_goal\b",
        ".min_tso_segs",
        "tso_segs_goal(sk) is min_tso_segs(sk) in later kernels: bursts may be longer, not shorter",
    ),
    (r"\.min_cwnd\s*=[^,}]*,", "", "min_cwnd(sk) left out: no kernel since 3.16 asks for it"),
)
GET_INFO = "get_info(sk, ext, skb) left out: what it tells ss has another form since 4.1"
TX_START = "cwnd_event_tx_start(sk) is cwnd_event(sk, CA_EVENT_TX_START) before 7.2"
UNDO = "undo_cwnd(sk) is required since 4.10: tcp_reno_undo_cwnd(), what kernels before did without it"
OPS = re.compile(r"^(?:static\s+|const\s+)*struct\s+tcp_congestion_ops\s+\w+[^;={]*=\s*\{", re.M)
LONGEST = 15  # characters of a name in the kernel
NAME = re.compile(r'(\.name\s*=\s*)"([^"]+)"')


def adapt(files: Texts, header: str = "") -> tuple[Texts, list[str]]:
    """The sources with all changes that are needed, and a line for each; ``header``: the kernel's own net/tcp.h.

    What a patch of the user's gives the kernel is not done here.
    """
    notes: list[str] = []
    return {name: _adapted(name, files, notes, header) for name in files}, notes


def _adapted(name: str, files: Texts, notes: list[str], header: str) -> str:
    text = files[name]
    for pattern, new, note in RENAMED:
        changed = re.sub(pattern, new, text)
        if changed != text:
            notes.append(f"{name}: {note}")
            text = changed
    if KFUNCS.search(text):
        text = _all_changed(text, OF_KFUNCS, notes, f"{name}: a set of kfuncs is BTF_KFUNCS_START(), .set now")
    if "skb_mstamp" in text:
        text = _all_changed(text, STAMPS, notes, f"{name}: struct skb_mstamp is u64, in microseconds, since 4.13")
    text = _table_fields(name, text, notes)
    if "(*cwnd_event_tx_start)" not in header:
        text = _one_event(name, text, notes)
    for operation, now in OPERATIONS:
        for function in dict.fromkeys(_functions(text, operation)):
            if not now.now or f"(*{operation})" not in header:
                text = _wrapped(name, text, (operation, function), now, files, notes)
    text, told = gone(text, header)
    notes += [f"{name}: {note}" for note in told]
    return text


def _all_changed(text: str, changes: Sequence[tuple[str, str]], notes: list[str], note: str) -> str:
    """Several patterns for one thing, told once."""
    changed = text
    for pattern, new in changes:
        changed = re.sub(pattern, new, changed)
    if changed != text:
        notes.append(note)
    return changed


def _table_fields(name: str, text: str, notes: list[str]) -> str:
    """Tables of operations without what is gone, with what is required."""
    for start, end in reversed(_tables(text)):
        table = text[start:end]
        for pattern, new, note in FIELDS:
            if re.search(pattern, table):
                table = re.sub(pattern, new, table)
                notes.append(f"{name}: {note}")
        if ".undo_cwnd" not in table and ".ssthresh" in table:
            table = re.sub(r"\.ssthresh\b", ".undo_cwnd = tcp_reno_undo_cwnd, .ssthresh", table)
            notes.append(f"{name}: {UNDO}")
        for function in re.findall(r"\.get_info\s*=\s*&?(\w+)", table):
            if re.search(rf"\b{function}\s*\([^()]*\bsk_buff\b[^()]*\)\s*\{{", text):
                table = re.sub(r"\.get_info\s*=\s*&?\w+\s*,?", "", table)
                notes.append(f"{name}: {GET_INFO}")
        text = text[:start] + table + text[end:]
    return text


def _functions(text: str, operation: str) -> Iterator[str]:
    """What tables give for an operation."""
    for start, end in _tables(text):
        yield from re.findall(rf"\.{operation}\s*=\s*&?(\w+)", text[start:end])


def _one_event(name: str, text: str, notes: list[str]) -> str:
    """Tables without the event of the first packet as an operation of its own, which it is in later kernels."""
    for start, end in reversed(_tables(text)):
        table = text[start:end]
        first = re.search(r"\.cwnd_event_tx_start\s*=\s*&?(\w+)\s*,?", table)
        if not first:
            continue
        notes.append(f"{name}: {TX_START}")
        table = table.replace(first[0], "")
        others = re.search(r"\.cwnd_event\s*=\s*&?(\w+)\s*,?", table)
        table = table.replace(others[0], "") if others else table
        wrapper = f"{first[1]}_adapted"
        rest = f"\telse\n\t\t{others[1]}(sk, event);\n" if others else ""
        added = (
            f"static void {wrapper}({SK}, enum tcp_ca_event event)\n"
            f"{{\n\tif (event == CA_EVENT_TX_START)\n\t\t{first[1]}(sk);\n{rest}}}\n\n"
        )
        begin = text.rfind("\n", 0, text.rindex("struct tcp_congestion_ops", 0, start)) + 1
        text = f"{text[:start]} .cwnd_event = {wrapper},{table}{text[end:]}"
        text = placed(text, begin, added)
    return text


def _wrapped(name: str, text: str, which: tuple[str, str], of: Operation, files: Texts, notes: list[str]) -> str:
    """An operation with the arguments of another kernel behind one with today's."""
    operation, function = which
    table = OPS.search(text)
    if not table or arguments(text, function, files) != of.had or not _ends(text, function, of.last):
        return text
    notes.append(f"{name}: {operation}{of.since}, {function}() has {of.had} arguments: wrapped")
    wrapper = f"{function}_adapted"
    result = "return " if of.gives != "void" else ""
    added = f"static {of.gives} {wrapper}({of.takes})\n{{\n\t{result}{function}({of.call});\n}}\n\n"
    field = rf"\.{operation}(\s*=\s*)&?{function}\b"
    tables = re.sub(field, rf".{of.now or operation}\g<1>{wrapper}", text[table.start() :])
    return placed(text[: table.start()] + tables, table.start(), added)


def _ends(text: str, function: str, last: str) -> bool:
    """Whether every definition of a function calls its last argument so; an empty name is any."""
    found = re.findall(rf"\b{function}\s*\(([^()]*)\)\s*\{{", text)
    return not last or (bool(found) and all(re.search(rf"\b{last}\s*$", words) for words in found))


def arguments(text: str, function: str, files: Texts | None = None) -> int | None:
    """Number of arguments of a function, by its definition or, of one in another file, by what declares it.

    None where it is not found, or defined with several numbers of arguments, for several kernels.
    """
    for where, end in ((text, r"\{"), (text, ";"), ("\n".join((files or {}).values()), r"[{;]")):
        found = re.findall(rf"\b{function}\s*\(([^()]*\w[^()]*)\)\s*{end}", where)
        counts = {words.count(",") + 1 for words in found if re.search(r"\b(?:struct|u32|int)\b", words)}
        if counts:
            return counts.pop() if len(counts) == 1 else None
    return None


def rename(files: Texts, choose: Mapping[str, str]) -> Texts:
    """The sources with other names in their tables of operations: old ones to new ones."""
    return {file: _renamed(text, choose) for file, text in files.items()}


def _renamed(text: str, choose: Mapping[str, str]) -> str:
    for start, end in reversed(_tables(text)):
        table = NAME.sub(lambda m: f'{m[1]}"{choose.get(m[2], m[2])}"', text[start:end])
        text = text[:start] + table + text[end:]
    return text


def names(files: Texts) -> list[str]:
    """Names in tables of operations, as far as they are literal strings."""
    tables = [text[start:end] for text in files.values() for start, end in _tables(text)]
    return list(dict.fromkeys(match[2] for table in tables for match in NAME.finditer(table)))


def ill_named(files: Texts) -> list[str]:
    """Names of no or too many characters in tables of operations, a line each: ``FILE:LINE: ...``."""
    found = []
    for file, text in files.items():
        for start, end in _tables(text):
            for match in re.finditer(r'\.name\s*=\s*"([^"]*)"', text[start:end]):
                if not 0 < len(match[1]) <= LONGEST:
                    line = text.count("\n", 0, start + match.start()) + 1
                    found.append(f'{file}:{line}: the name "{match[1]}" has {len(match[1])} characters')
    return found


def _tables(text: str) -> list[tuple[int, int]]:
    """Where tables of operations begin and end."""
    found = []
    for match in OPS.finditer(text):
        end = text.find("\n};", match.end())
        found.append((match.end(), end if end >= 0 else len(text)))
    return found
