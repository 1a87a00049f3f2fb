# SPDX-License-Identifier: GPL-2.0
"""What the kernel had, or will have, and the lab's 6.12 has not: defined in the file that uses it, and told."""

import re

# Name, its definition, what it was
DEFINITIONS = (
    (
        "TCP_CONG_RTT_STAMP",
        "#define TCP_CONG_RTT_STAMP 0",
        "TCP_CONG_RTT_STAMP is 0: every round trip is in microseconds now",
    ),
    (
        "TCP_CONG_WANTS_CE_EVENTS",
        "#define TCP_CONG_WANTS_CE_EVENTS 0",
        "TCP_CONG_WANTS_CE_EVENTS of patched kernels is 0: marks are told to those with TCP_CONG_NEEDS_ECN alone",
    ),
    (
        "strlcpy",
        "static inline size_t strlcpy(char *to, const char *from, size_t size)\n"
        "{\n\tstrscpy(to, from, size);\n\treturn strlen(from);\n}",
        "strlcpy() by strscpy(): gone since 6.8",
    ),
    (
        "ACCESS_ONCE",
        "#define ACCESS_ONCE(x) (*(volatile __typeof__(x) *)&(x))",
        "ACCESS_ONCE() is READ_ONCE() and WRITE_ONCE() since 4.15",
    ),
    (
        "tcp_ecn_mode_any",
        "static inline bool tcp_ecn_mode_any(const struct tcp_sock *tp)\n{\n\treturn tp->ecn_flags & TCP_ECN_OK;\n}",
        "tcp_ecn_mode_any(tp) is tp->ecn_flags & TCP_ECN_OK before 6.18",
    ),
    (
        "tcp_tso_autosize",
        "static inline u32 tcp_tso_autosize(const struct sock *sk, unsigned int mss, int least)\n"
        "{\n\tunsigned long room = sk->sk_gso_max_size - 1 - MAX_TCP_HEADER;\n"
        "\tunsigned long sent = READ_ONCE(sk->sk_pacing_rate) >> READ_ONCE(sk->sk_pacing_shift);\n\n"
        "\treturn max_t(u32, min(sent, room) / mss, least);\n}",
        "tcp_tso_autosize() defined here: the kernel's own is not for modules",
    ),
    (
        "DEFINE_KFUNC_BTF_ID_SET",
        "#define DEFINE_KFUNC_BTF_ID_SET(those, name) \\\n"
        "\tstruct btf_kfunc_id_set name = { .owner = THIS_MODULE, .set = (those) }",
        "DEFINE_KFUNC_BTF_ID_SET() is a struct btf_kfunc_id_set since 5.18",
    ),
    (
        "register_kfunc_btf_id_set",
        "#define register_kfunc_btf_id_set(list, kfuncs) \\\n"
        "\tregister_btf_kfunc_id_set(BPF_PROG_TYPE_STRUCT_OPS, kfuncs)",
        "register_kfunc_btf_id_set() is register_btf_kfunc_id_set() since 5.18",
    ),
    (
        "unregister_kfunc_btf_id_set",
        "#define unregister_kfunc_btf_id_set(list, kfuncs) do { } while (0)",
        "unregister_kfunc_btf_id_set() does nothing: the kernel does it since 5.18",
    ),
    (
        "timer_container_of",
        "#define timer_container_of(var, timer, field) from_timer(var, timer, field)",
        "timer_container_of() is from_timer() before 6.16",
    ),
    (
        "hrtimer_setup",
        "static inline void hrtimer_setup(struct hrtimer *timer, enum hrtimer_restart (*what)(struct hrtimer *),\n"
        "\t\t\t\t clockid_t clock, enum hrtimer_mode mode)\n"
        "{\n\thrtimer_init(timer, clock, mode);\n\ttimer->function = what;\n}",
        "hrtimer_setup() is hrtimer_init() and a field before 6.13",
    ),
)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
CONDITION = re.compile(r"\s*#\s*(if|endif|include)")


def gone(text: str, header: str = "") -> tuple[str, list[str]]:
    """The text with definitions of what it uses and neither itself nor the kernel's ``header`` has; a line for each."""
    code = COMMENT.sub("", text)
    used = [entry for entry in DEFINITIONS if re.search(rf"\b{entry[0]}\b", code)]
    wanted = [entry for entry in used if not _has(text, entry[0]) and not re.search(rf"\b{entry[0]}\b", header)]
    if not wanted:
        return text, []
    # Guarded, for a header may need the same as the file that includes it
    blocks = [f"#ifndef hetlab_{name}\n#define hetlab_{name}\n{code}\n#endif\n" for name, code, _note in wanted]
    lines = text.splitlines(keepends=True)
    at = len("".join(lines[: _behind_includes(lines)]))
    return placed(text, at, "".join(blocks)), [note for _name, _code, note in wanted]


def placed(text: str, at: int, added: str) -> str:
    """The text with more at the begin of a line, behind which the compiler counts on as in the user's file."""
    *_, before = re.split(r"^(#line \d+\n)", text[:at], flags=re.M)
    counted = re.findall(r"^#line (\d+)\n", text[:at], re.M)
    line = int(counted[-1] if counted else 1) + before.count("\n")
    return f"{text[:at]}{added}#line {line}\n{text[at:]}"


def _has(text: str, name: str) -> bool:
    """Whether a text defines this itself."""
    return re.search(rf"^\s*#\s*define\s+{name}\b|^[\w\s*]+\b{name}\s*\([^;{{]*\)\s*\{{", text, re.M) is not None


def _behind_includes(lines: list[str]) -> int:
    """Number of the line behind the last #include that depends on no condition; 0 without one."""
    depth = at = 0
    for number, line in enumerate(lines, 1):
        found = CONDITION.match(line)
        word = found[1] if found else ""
        depth += {"if": 1, "endif": -1}.get(word, 0)
        if word == "include" and not depth:
            at = number
    return at
