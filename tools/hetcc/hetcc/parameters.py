# SPDX-License-Identifier: GPL-2.0
"""Parameters of the modules: which module has one, its value now and at the next loading."""

import difflib
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from . import HetccError
from .modules import MODULES, OURS, is_loaded, module_file, module_of, not_installed, read

CONF = Path("/etc/modprobe.d/90-hetcc.conf")
CONF_HEAD = "# Written by 'hetcc set --keep'; 'hetcc undo' takes it back.\n"
EXAMPLE = "wanted is PARAMETER=VALUE or MODULE.PARAMETER=VALUE, such as rtt0_ms=40"
REFUSED = re.compile(r"(\w+): (\w+)=\S* refused: not in ([\d.]+)\.\.([\d.]+)")


class Setting(NamedTuple):
    """A parameter of a module and the value that it is to have."""

    module: str
    parameter: str
    value: str

    @property
    def name(self) -> str:
        """As messages and the record name it."""
        return f"{self.module}.{self.parameter}"


def parameter_names(module: str) -> list[str]:
    """Parameters of a module that is loaded or only installed; none if it is neither."""
    if is_loaded(module):
        return sorted(path.name for path in Path("/sys/module", module, "parameters").glob("*"))
    return sorted(value.partition(":")[0] for key, value in module_file(module) if key == "parm")


def find_setting(text: str) -> Setting:
    """The setting that an argument means; of modules with the same parameter the one that is loaded."""
    match = re.fullmatch(r"(?:([\w-]+)\.)?(\w+)=([\w.+-]+)", text)
    if not match:
        raise HetccError(f"{text}: {EXAMPLE}")
    where, parameter, value = match.groups()
    if where and where not in MODULES and where not in OURS:
        raise HetccError(f"{where}: no module of hetcc; there are {', '.join(MODULES)}")
    among = [where if where in MODULES else module_of(where)] if where else list(MODULES)
    names = {module: parameter_names(module) for module in among}
    having = [module for module in among if parameter in names[module]]
    having = [module for module in having if is_loaded(module)] or having
    if not having:
        raise HetccError(unknown(parameter, names))
    if len(having) > 1:
        choice = " or ".join(f"{module}.{parameter}={value}" for module in having)
        raise HetccError(f"{parameter} is a parameter of {' and '.join(having)}: write {choice}")
    return Setting(having[0], parameter, value)


def unknown(parameter: str, names: dict[str, list[str]]) -> str:
    """Message about a parameter that none of these modules has."""
    if not any(names.values()):
        return f"{parameter}: {', '.join(names)}: {not_installed(os.uname().release)}"
    near = difflib.get_close_matches(parameter, {name for of in names.values() for name in of}, n=1)
    mean = f"; did you mean {near[0]}?" if near else ""
    return f"no parameter {parameter}{mean}" + "".join(f"\n  {m}: {' '.join(of)}" for m, of in names.items() if of)


def parameter_path(name: str) -> Path:
    """File of MODULE.PARAMETER."""
    return Path("/sys/module", name.partition(".")[0], "parameters", name.partition(".")[2])


def get_parameter(name: str) -> str | None:
    """Value of MODULE.PARAMETER, None if the module is not loaded."""
    return read(parameter_path(name)) or None


def same_number(one: str, other: str) -> bool:
    """Whether two values of a parameter are the same number, such as 0.7 and 0.700."""
    try:
        return float(one) == float(other)
    except ValueError:
        return False


def set_parameter(name: str, value: str) -> None:
    """Give MODULE.PARAMETER a value at once; HetccError names the allowed range if the module refuses it."""
    with kernel_log() as since:
        try:
            parameter_path(name).write_text(value)
        except FileNotFoundError as error:
            raise HetccError(f"{name}: the module is not loaded") from error
        except OSError as error:
            raise HetccError(f"{name}={value} is refused: {allowed(name, since()) or error.strerror}") from error


def allowed(name: str, log: str) -> str:
    """What the module, or else the parameter's description, says about allowed values; empty if neither does."""
    module, _, parameter = name.partition(".")
    for found in REFUSED.finditer(log):
        if found[1] == module and found[2] == parameter:
            now = get_parameter(name) or ""
            kind = "up to three decimals" if "." in now else "whole numbers"
            return f"allowed is {plain(found[3])}..{plain(found[4])}, {kind}; it stays {plain(now)}"
    described = (value for key, value in module_file(module) if key == "parm" and value.startswith(f"{parameter}:"))
    return next(described, "").partition(":")[2]


def plain(number: str) -> str:
    """A decimal without zeros at its end."""
    return number.rstrip("0").rstrip(".") if "." in number else number


@contextmanager
def kernel_log() -> Iterator[Callable[[], str]]:
    """A function that gives what the kernel has logged since; nothing where the log cannot be read."""
    try:
        log = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
        os.lseek(log, 0, os.SEEK_END)
    except OSError:
        yield lambda: ""
        return

    def since() -> str:
        text = ""
        try:
            while True:
                text += os.read(log, 8192).decode(errors="replace")
        except OSError:
            return text

    try:
        yield since
    finally:
        os.close(log)


def kept_value(text: str | None, name: str) -> str | None:
    """Value of MODULE.PARAMETER that a file of modprobe.d gives, the last if there are several."""
    module, _, parameter = name.partition(".")
    found = None
    for line in (text or "").splitlines():
        words = line.split()
        if words[:2] == ["options", module]:
            found = next((w.partition("=")[2] for w in reversed(words[2:]) if w.startswith(f"{parameter}=")), found)
    return found


def with_setting(text: str | None, setting: Setting) -> str:
    """Our file of modprobe.d with this setting, in place of another one of the same parameter."""
    start = f"options {setting.module} {setting.parameter}="
    lines = [line for line in (text or CONF_HEAD).splitlines() if not line.startswith(start)]
    return "\n".join([*lines, f"{start}{setting.value}"]) + "\n"


def overriding(name: str) -> list[str]:
    """Files that modprobe reads after ours and that set the same parameter."""
    places = ("/lib", "/usr/lib", "/usr/local/lib", "/run", "/etc")
    files = {path.name: path for place in places for path in Path(place, "modprobe.d").glob("*.conf")}
    return [str(path) for path in files.values() if path.name > CONF.name and kept_value(read(path), name) is not None]
