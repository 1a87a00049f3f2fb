# SPDX-License-Identifier: GPL-2.0
"""Play a script: events in their order, packets of the kernel against what is expected.

Packets are stamped as they come and wait in a queue until a ``>`` line takes
them. That line fails if the packet differs or came at another time; a packet
that no line takes fails the script as soon as no later line could take it.
"""

import contextlib
import io
import os
import re
import subprocess
import textwrap
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hetlab.packet import wire
from hetlab.packet.blocking import Blocking
from hetlab.packet.calls import SERVICE_PORT, Sockets
from hetlab.packet.facts import NAMES, Mib, memory, tcp_info
from hetlab.packet.messages import CallError
from hetlab.packet.model import Call, Code, Env, Event, Expect, Inject, Packet, Script, Shell, When, stamp
from hetlab.packet.options import MOD32, Frame, Raw, Sc, Timestamp
from hetlab.packet.trace import Trace
from hetlab.packet.tun import Clock, Tun
from hetlab.packet.wire import Segment

REMOTE_PORT = 40000
# How long a line whose time is * waits
PATIENCE_US = 600_000_000


class Failure(Exception):
    """The script does not hold; the text says where and why."""


@dataclass
class Blocked:
    """A call that has begun, and when it is to end."""

    event: Call
    call: Blocking
    end_us: int
    tolerance_us: int


class Player:
    """One run of one script."""

    to_the_end = True  # a packet after the last line is a fault

    def __init__(self, script: Script, env: Env, tun: Tun, clock: Clock, trace: Trace) -> None:
        self.script, self.env, self.tun, self.clock, self.trace = script, env, tun, clock, trace
        self.ends = wire.ends_of(env)[env.version]
        self.sockets = Sockets(env.version, script.settings.isn, self.ends)
        self.blocked: Blocked | None = None
        self.mib = Mib()
        self.queue: deque[Segment] = deque()
        self.ports: tuple[int, int] | None = None
        self.isn = 0
        self.ts_offset: int | None = None
        self.sc_origin_us: int | None = None
        self.base_us = 0
        self.before_us = 0
        self.names: dict[str, object] = {}
        self.folder: Path | None = None
        self.variables: dict[str, str] = {}

    def play(self) -> None:
        """All events, then nothing may be left over."""
        events = self._prepare()
        self.clock.start()
        actions: dict[type[Event], Callable[..., None]] = {
            Inject: self._inject,
            Call: self._call,
            Shell: self._shell,
            Code: self._code,
        }
        try:
            for event in events:
                self._anchor(event)
                if isinstance(event, Expect):
                    self._expect(event)
                else:
                    self._wait_for(event)
                    actions[type(event)](event)
            self._collect()
            self._finish_blocked()
            if self.queue and self.to_the_end:
                self._fail(self.script.events[-1], "after this line the kernel sent a packet", None, self.queue[0])
        finally:
            self.sockets.close()

    def _prepare(self) -> list[Event]:
        """Shell lines at the top come before the time begins: a process takes some microseconds."""
        events = list(self.script.events)
        while events and isinstance(events[0], Shell):
            self._shell(events.pop(0))
        return events

    # Numbers

    def _outgoing(self) -> Frame:
        origin_us = self.clock.origin_us if self.sc_origin_us is None else self.sc_origin_us
        return Frame(self.isn, self.script.settings.peer_isn, self.ts_offset or 0, 0, origin_us)

    def _incoming(self) -> Frame:
        return Frame(self.script.settings.peer_isn, self.isn, 0, self.ts_offset or 0, self.clock.origin_us)

    def _learn_timestamp(self, want: Packet, segment: Segment) -> None:
        """The first timestamp sent is the one the script gives, or the script's time in ms."""
        have = next((o for o in segment.options if isinstance(o, Timestamp)), None)
        if self.ts_offset is not None or have is None or have.val is None:
            return
        named = next((o.val for o in want.options or () if isinstance(o, Timestamp)), None)
        shown = segment.at_us // 1000 if named is None or isinstance(named, Raw) else named
        self.ts_offset = (have.val - shown) % MOD32

    def _learn_clock(self, want: Packet, segment: Segment) -> None:
        """The Santa Cruz option's clock has a secret offset: the first one sent is the one the script gives."""
        have = next((o for o in segment.options if isinstance(o, Sc) and o.ack_copy), None)
        named = next((o.ts for o in want.options or () if isinstance(o, Sc)), None)
        if self.sc_origin_us is None and have and isinstance(have.ts, int) and isinstance(named, int):
            self.sc_origin_us = (have.ts - named) % MOD32

    # Packets of the kernel

    def _collect(self) -> None:
        """Stamp what the kernel has sent."""
        while (data := self.tun.receive()) is not None:
            segment = wire.parse(data, self.clock.now_us())
            if segment is None:
                continue
            self.trace.write(data, segment.at_us)
            segment = self._seen(segment)
            if segment is None:
                continue
            if self.ports is None or segment.packet.flags == {"S"}:
                self.ports = segment.remote_port, segment.local_port
            if "S" in segment.packet.flags:
                self.isn = segment.packet.seq
            self.queue.append(segment)
            self.trace.say(segment.at_us, ">", wire.relative(segment.packet, self._outgoing()))

    def _wait(self, until_us: int, stop_at_packet: bool) -> None:
        """Let time pass up to an instant, or to a packet of the kernel."""
        while not (stop_at_packet and self.queue):
            if not self._wait_once(until_us):
                return

    def _wait_once(self, until_us: int) -> bool:
        """Wait for one thing to happen: a packet of the kernel, the end of a call that blocks; False: the time came."""
        call = self.blocked.call if self.blocked and self.blocked.call.ended_us is None else None
        ready = self.clock.wait([self.tun.fd, *([call.fd] if call else [])], until_us)
        if call and call.fd in ready:
            call.ended_us = self.clock.now_us()
        self._collect()
        return bool(ready)

    def _finish_blocked(self) -> None:
        """A call that blocks is over before the next one, and at its time."""
        blocked = self.blocked
        if not blocked:
            return
        tolerance, where = blocked.tolerance_us, self.script.where(blocked.event)
        while blocked.call.ended_us is None and self._wait_once(blocked.end_us + tolerance):
            pass
        self.blocked = None
        ended_us = blocked.call.ended_us
        if ended_us is None:
            raise Failure(f"{where}: {blocked.event.show()} still blocks; it is {self._now()}")
        self._compare(blocked.event, blocked.call.result)
        if abs(ended_us - blocked.end_us) > tolerance:
            raise Failure(f"{where}: {blocked.event.show()} ended at {stamp(ended_us)}, not {stamp(blocked.end_us)}")

    def _window(self, when: When) -> tuple[int, int]:
        if when.low is None or when.high is None:
            return self.clock.now_us(), self.clock.now_us() + PATIENCE_US
        return when.low.at(self.base_us), when.high.at(self.base_us)

    def _wait_for(self, event: Event) -> None:
        """Wait for an event of ours; packets that come meanwhile are for a later line or for none."""
        at_us, _ = self._window(event.when)
        if event.when.low is None:
            at_us = self.base_us
        if at_us < self.clock.now_us() - self.script.settings.tolerance_usecs:
            raise Failure(f"{self.script.where(event)}: its time {stamp(at_us)} is over; it is {self._now()}")
        self._wait(at_us, False)
        self.before_us, self.base_us = self.base_us, at_us
        early = [s for s in self.queue if s.at_us < at_us - self.script.settings.tolerance_usecs]
        if early and not self._later_range(event):
            self._fail(event, "before this line the kernel sent a packet that no line expects", None, early[0])

    def _later_range(self, event: Event) -> bool:
        """Whether the next expected packet may have come already."""
        later = self.script.events[self.script.events.index(event) :]
        following = next((e for e in later if isinstance(e, Expect)), None)
        return not (self.to_the_end if following is None else following.when.exact)

    def _expect(self, event: Expect) -> None:
        low, high = self._window(event.when)
        tolerance = self._tolerance(low - self.base_us)
        self._wait(high + tolerance, True)
        if not self.queue:
            self._fail(event, f"the kernel sent nothing up to {self._now()}", (low, high), None)
        segment = self._whole(self.queue.popleft(), event.packet, high + tolerance)
        self._learn_timestamp(event.packet, segment)
        self._learn_clock(event.packet, segment)
        settings = self.script.settings
        wanted = self._wanted(event.packet, segment)
        slack = settings.strict_options, settings.tolerance_usecs
        faults = wire.differences(wanted, segment.packet, self._outgoing(), *slack)
        if segment.at_us < low - tolerance and event.when.low is not None:
            faults.append("time (too early)")
        elif segment.at_us > high + tolerance:
            faults.append("time (too late)")
        if faults:
            self._fail(event, f"wrong {', '.join(faults)}", (low, high), segment)
        self.base_us = low if event.when.exact else segment.at_us

    def _fail(self, event: Event, text: str, window: tuple[int, int] | None, segment: Segment | None) -> None:
        lines = [f"{self.script.where(event)}: {text}"]
        if isinstance(event, Expect) and window:
            low, high = map(stamp, window)
            time = "*" if event.when.low is None else low if low == high else f"{low}~{high}"
            lines.append(f"expected: {time} > {event.packet.show()}")
        if segment:
            shown = wire.relative(segment.packet, self._outgoing()).show()
            lines.append(f"actual:   {stamp(segment.at_us)} > {shown}")
        raise Failure("\n".join(lines))

    def _now(self) -> str:
        return stamp(self.clock.now_us())

    # What other rules for scripts change

    def _anchor(self, event: Event) -> None:
        """What the relative time of an event counts from: the time of the one before, as it is now."""

    def _tolerance(self, _after_us: int) -> int:
        """How far from its time a thing may be that is to happen so long after what its time counts from."""
        return self.script.settings.tolerance_usecs

    def _seen(self, segment: Segment) -> Segment | None:
        """A packet of the kernel as it is to be compared; None: it is of no interest."""
        return segment

    def _whole(self, segment: Segment, _packet: Packet, _until_us: int) -> Segment:
        """What stands for one packet of the script."""
        return segment

    def _wanted(self, packet: Packet, _segment: Segment) -> Packet:
        """What the script expects in the place of a packet of the kernel."""
        return packet

    def _sent(self, packet: Packet) -> Packet:
        """A packet of the peer as it is to be sent."""
        return packet

    # Events of ours

    def _inject(self, event: Inject) -> None:
        ports = self.ports or (REMOTE_PORT, SERVICE_PORT)
        self.ports = ports
        packet = self._sent(event.packet)
        data = wire.build(packet, self._mapped(packet), self.ends, ports)
        self.trace.write(data, self.clock.now_us())
        self.trace.say(self.clock.now_us(), "<", packet)
        self.tun.send(data, packet.length)
        self._collect()
        if self.blocked:  # which this packet may end: its thread has its turn before what comes next
            self._wait_once(self.clock.now_us() + 1)

    def _mapped(self, packet: Packet) -> Frame:
        """A first SYN echoes no timestamp: there its echo is as it stands."""
        frame = self._incoming()
        if "." in packet.flags:
            return frame
        return Frame(frame.seq_isn, frame.ack_isn, 0, 0, frame.origin_us)

    def _call(self, event: Call) -> None:
        self._collect()
        self._finish_blocked()
        if event.end:
            end_us = event.end.at(self.before_us)
            self.blocked = Blocked(event, self._begun(event), end_us, self._tolerance(end_us - self.base_us))
        else:
            self._compare(event, None)

    def _begun(self, event: Call) -> Blocking:
        try:
            return self.sockets.begin(event)
        except CallError as error:
            raise Failure(f"{self.script.where(event)}: {event.show()} {error}") from None

    def _compare(self, event: Call, result: Callable[[], object] | None) -> None:
        """The result of a call that is over, or (None) make the call now."""
        try:
            self.sockets.compare(event, result) if result else self.sockets.carry_out(event)
        except CallError as error:
            raise Failure(f"{self.script.where(event)}: {event.show()} {error}") from None

    def _shell(self, event: Event) -> None:
        assert isinstance(event, Shell)
        words, variables = ["bash", "-c", event.command], os.environ | self.variables
        done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=self.folder, env=variables)
        if done.returncode:
            output = (done.stdout + done.stderr).strip()
            raise Failure(f"{self.script.where(event)}: `{event.command}` ended with {done.returncode}: {output}")
        self.base_us = max(self.base_us, self.clock.now_us() if self.clock.origin_ns else 0)

    def _code(self, event: Code) -> None:
        sock = self.sockets.latest
        info = tcp_info(sock) | memory(sock) if sock and sock.fileno() >= 0 else {}
        known = NAMES | info | {"MIB": self.mib, "PATCHED": self.env.patched, "IP": self.env.version}
        first, _, rest = event.source.strip(" ").partition("\n")
        source = "\n" * (event.line - 1) + first + "\n" + textwrap.dedent(rest) + "\n"
        output = io.StringIO()
        try:
            with contextlib.redirect_stdout(output):
                exec(compile(source, self.script.name, "exec"), self.names | known, self.names)
        except Exception as error:
            raise Failure(self._explain(event, error, info)) from None
        finally:
            for line in output.getvalue().splitlines():
                self.trace.note(line)

    def _explain(self, event: Code, error: Exception, info: dict[str, int]) -> str:
        """The check, what it raised and the values it looked at."""
        lines = [f"{self.script.where(event)}: {type(error).__name__}: {error}".rstrip(": ")]
        lines += [f"check:    {line.strip()}" for line in event.source.strip().splitlines()]
        seen = [f"{name} = {info[name]}" for name in sorted(info) if re.search(rf"\b{name}\b", event.source)]
        counted = re.findall(r"MIB\[[\"'](\w+)[\"']\]", event.source)
        seen += [f"{name} = {self.mib[name]}" for name in counted if not isinstance(error, KeyError)]
        return "\n".join(lines + [f"actual:   {', '.join(seen)}"] * bool(seen))
