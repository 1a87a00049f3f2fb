# SPDX-License-Identifier: GPL-2.0
"""What a compiler's or linker's complaint about a candidate means on the lab's kernel, and what to do."""

import re

UNDEFINED = re.compile(r'modpost: "(\w+)" \[[^\]]+\] undefined')
FAULT = re.compile(r"^.*?([\w./+-]+\.[chS]):(\d+):(?:(\d+):)? (?:fatal )?error: (.*)$", re.M)
# What modpost has against a module as a whole
MODPOST = re.compile(r"^ERROR: modpost: .*$", re.M)
RETURNS = re.compile(r"^.*?([\w./+-]+\.[chS]):(\d+):(?:\d+:)? warning: .*\[-Wreturn-type\]$", re.M)

# What sources use and nobody declares: of a structure, or a name alone
MEMBER = re.compile(r"error: '(?:const )?(?:volatile )?((?:struct|union) [^']+)' has no member named '(\w+)'")
NAMED = re.compile(r"error: (?:'(\w+)' undeclared|implicit declaration of function '(\w+)')")
NAMELESS = ("struct <anonymous>", "union <anonymous>")

# A pattern of what was said, and its explanation
KNOWN = (
    (
        r"missing MODULE_LICENSE|GPL-incompatible module",
        'MODULE_LICENSE("GPL") is wanted, or "Dual BSD/GPL" and such (linux/module.h): the kernel gives what a '
        "congestion control needs to such modules alone.",
    ),
    (
        r"does not implement required ops",
        "a table of operations needs .ssthresh, .undo_cwnd, and .cong_avoid or .cong_control.",
    ),
    (
        r"has no member named .tso_segs.",
        "tso_segs(sk, mss) is an operation of kernels with BBRv3's patches; a stock one has min_tso_segs(sk). Its "
        "function is wrapped if the file that has the table of operations declares it; or give the changes by --patch.",
    ),
    (
        r"\.h: No such file or directory",
        "a header that your own make writes must be there before, as it is for Linux 6.12; one of the kernel may have "
        "moved.",
    ),
    (
        r"CA_EVENT_(?:FAST|SLOW)_ACK.",
        "CA_EVENT_FAST_ACK and CA_EVENT_SLOW_ACK are the operation in_ack_event(sk, flags) since 4.0: flags has "
        "CA_ACK_SLOWPATH or not.",
    ),
    (
        r"CA_EVENT_(?:NON_)?DELAYED_ACK.",
        "CA_EVENT_DELAYED_ACK and CA_EVENT_NON_DELAYED_ACK are gone since 4.19: TCP sends the delayed ACK itself.",
    ),
    (
        r"has no member named .srtt.",
        "srtt is srtt_us since 3.15: microseconds, times 8.",
    ),
    (
        r"proc_create.*incompatible|passing argument . of .proc_create",
        "proc_create() takes a struct proc_ops since 5.6.",
    ),
    (
        r"incompatible.pointer.type.*cong_control|initialization of .*rate_sample.*from incompatible",
        "cong_control is (sk, ack, flag, rs) since 6.10 and was (sk, rs) before; define the function in the file that "
        "has the table of operations, and it is adapted.",
    ),
    (
        r"implicit declaration of function .(do_gettimeofday|getnstimeofday|current_kernel_time)",
        "gone since 5.0: ktime_get_ns() or tcp_sk(sk)->tcp_mstamp (microseconds).",
    ),
    (r"implicit declaration of function .setup_timer", "gone since 4.15: timer_setup()."),
    (
        r"size of unnamed array is negative|BUILD_BUG_ON failed",
        "the state is larger than ICSK_CA_PRIV_SIZE (104).",
    ),
)


def faults(log: str, top: str) -> list[str]:
    """The compiler's errors, a line each, files by their names below ``top``: ``FILE:LINE: text``."""
    found = []
    for match in FAULT.finditer(log):
        file = match[1].removeprefix(f"{top}/")
        found.append(f"{file}:{match[2]}: {match[4]}")
    return list(dict.fromkeys(found))


def refused(log: str, top: str) -> list[str]:
    """What modpost has against a module, files by their names below ``top``."""
    return [line.replace(f"{top}/", "") for line in MODPOST.findall(log)]


def no_value(log: str, top: str) -> list[str]:
    """Functions that end without the value they promise: the kernel's build refuses them today, C does not."""
    places = dict.fromkeys(f"{m[1].removeprefix(f'{top}/')}:{m[2]}" for m in RETURNS.finditer(log))
    return [f"{place}: a function ends without a value: what it returns is chance" for place in places]


def undefined(log: str) -> list[str]:
    """Symbols that the kernel does not give to modules."""
    return sorted(set(UNDEFINED.findall(log)))


def lacking(log: str) -> list[str]:
    """What the sources use and neither they nor the kernel declare, but for what is explained by itself."""
    lines = [line for line in log.splitlines() if not any(re.search(pattern, line) for pattern, _text in KNOWN)]
    of: dict[str, dict[str, None]] = {}
    for line in lines:
        if member := MEMBER.search(line):
            of.setdefault("a structure" if member[1] in NAMELESS else member[1], {})[member[2]] = None
        elif name := NAMED.search(line):
            of.setdefault("", {})[name[1] or f"{name[2]}()"] = None
    alone = of.pop("", {})
    return [*(f"{', '.join(members)} of {where}" for where, members in of.items()), *alone]


def hints(log: str) -> list[str]:
    """Explanations of what was said."""
    found = [text for pattern, text in KNOWN if re.search(pattern, log)]
    if missing := lacking(log):
        found.append(
            f"neither Linux 6.12 nor these sources have {'; '.join(missing)}. Where this comes with changes of the "
            "kernel, as BBRv3's and Prague's do, give these, made for 6.12, by --patch FILE."
        )
    if symbols := undefined(log):
        found.append(
            f"the kernel does not have, or does not export to modules, {', '.join(symbols)}: do without, or give the "
            "kernel changes by --patch."
        )
    return found
