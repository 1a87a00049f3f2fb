# SPDX-License-Identifier: GPL-2.0
"""Changes to the copy of a candidate's sources so that code for kernels of other years compiles; each is told.

Only where what it means is the same on the lab's kernel, 6.12. What is not is explained by hetlab.candidates.hints.
"""

import re
from collections.abc import Mapping

Texts = dict[str, str]  # file name to content

# What was renamed or got an argument: pattern, new text, since when
ARGUMENT = r"[^,()]+(?:\([^()]*\)[^,()]*)?"
RENAMED = (
    (r"(?m)^EXPORT_SYMBOL(?:_GPL)?\s*\(\w+\);$", "", "EXPORT_SYMBOL() left out: the kernel may have the same symbol"),
    (
        rf"\b__tcp_send_ack\s*\(({ARGUMENT}),({ARGUMENT})\)",
        r"__tcp_send_ack(\1,\2, 0)",
        "__tcp_send_ack() takes flags now",
    ),
    (r"\bprandom_u32_max\s*\(", "get_random_u32_below(", "prandom_u32_max() is get_random_u32_below() since 6.2"),
    (r"\bprandom_u32\s*\(", "get_random_u32(", "prandom_u32() is get_random_u32() since 6.1"),
    (r"\bBTF_SET8_START\s*\(", "BTF_KFUNCS_START(", "BTF_SET8_START() of kfuncs is BTF_KFUNCS_START() since 6.8"),
    (r"\bBTF_SET8_END\s*\(", "BTF_KFUNCS_END(", "BTF_SET8_END() of kfuncs is BTF_KFUNCS_END() since 6.8"),
    (r"\btcp_time_stamp\s*\(", "tcp_time_stamp_ms(", "tcp_time_stamp(tp) is tcp_time_stamp_ms(tp) since 6.7"),
    (r"\btcp_time_stamp\b(?!\s*\()", "tcp_jiffies32", "tcp_time_stamp is tcp_jiffies32 since 4.15"),
)

SK, RS = "struct sock *sk", "const struct rate_sample *rs"
# Operations whose arguments changed: number of old ones, new arguments, the old ones in terms of these, since when
OPERATIONS: Mapping[str, tuple[int, str, str, str]] = {
    "cong_control": (2, f"{SK}, u32 ack, int flag, {RS}", "sk, rs", "(sk, ack, flag, rs) since 6.10"),
    "pkts_acked": (
        3,
        f"{SK}, const struct ack_sample *sample",
        "sk, sample->pkts_acked, sample->rtt_us",
        "(sk, sample) since 4.7",
    ),
}
OPS = re.compile(r"^(?:static\s+|const\s+)*struct\s+tcp_congestion_ops\s+\w+[^;={]*=\s*\{", re.M)
NAME = re.compile(r'(\.name\s*=\s*)"(\w+)"')


def adapt(files: Texts) -> tuple[Texts, list[str]]:
    """The sources with all changes that are needed, and a line for each."""
    notes: list[str] = []
    return {name: _adapted(name, text, notes) for name, text in files.items()}, notes


def _adapted(name: str, text: str, notes: list[str]) -> str:
    for pattern, new, note in RENAMED:
        changed = re.sub(pattern, new, text)
        if changed != text:
            notes.append(f"{name}: {note}")
            text = changed
    for operation in OPERATIONS:
        text = _wrapped(name, text, operation, notes)
    return text


def _wrapped(name: str, text: str, operation: str, notes: list[str]) -> str:
    """An operation with the arguments of another kernel behind one with today's."""
    count, new, call, since = OPERATIONS[operation]
    field = re.search(rf"\.{operation}\s*=\s*&?(\w+)", text)
    table = OPS.search(text)
    if not field or not table or arguments(text, field[1]) != count:
        return text
    notes.append(f"{name}: {operation}{since}, {field[1]}() has {count} arguments: wrapped")
    wrapper = f"{field[1]}_adapted"
    function = f"static void {wrapper}({new})\n{{\n\t{field[1]}({call});\n}}\n\n"
    text = text[: field.start(1)] + wrapper + text[field.end(1) :]
    return text[: table.start()] + function + text[table.start() :]


def arguments(text: str, function: str) -> int | None:
    """Number of arguments in a function's definition; None where it is not in this text."""
    found = re.search(rf"\b{function}\s*\(([^)]*)\)\s*\{{", text)
    return found[1].count(",") + 1 if found else None


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


def _tables(text: str) -> list[tuple[int, int]]:
    """Where tables of operations begin and end."""
    found = []
    for match in OPS.finditer(text):
        end = text.find("\n};", match.end())
        found.append((match.end(), end if end >= 0 else len(text)))
    return found
