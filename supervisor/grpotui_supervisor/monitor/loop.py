"""The monitor's loop."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING, Any

from grpotui_supervisor.follow import Records
from grpotui_supervisor.model.run_state import phase
from grpotui_supervisor.monitor import judging
from grpotui_supervisor.monitor.attached import Attachment
from grpotui_supervisor.monitor.disks import Disks
from grpotui_supervisor.monitor.gpus import Gpus
from grpotui_supervisor.monitor.holding import SECONDS, Holding
from grpotui_supervisor.monitor.host import Sampler
from grpotui_supervisor.monitor.sizes import Sizes
from grpotui_supervisor.monitor.titles import Titles
from grpotui_supervisor.monitor.watching import Watch
from grpotui_supervisor.rules.left_early import ID as LEFT_EARLY
from grpotui_supervisor.shim import kernel, procfs
from grpotui_supervisor.shim.journal import Journal, report
from grpotui_supervisor.source.liveness import look, settle
from grpotui_supervisor.source.source import MARGIN_NS, Source
from grpotui_supervisor.waking import Waker

if TYPE_CHECKING:
    from grpotui_supervisor.model.finding import Finding
    from grpotui_supervisor.rundir import RunDirectory

_PERIOD_S = 0.25
"""From one look to the next while something goes on: after a growth or an end."""
_IDLE_S = 1.0
_GAP_S = 0.02
"""Between two looks at the least: a log that never rests must not keep a core busy."""


def run(directory: RunDirectory) -> None:
    """Monitors the run to its end; returns at once when another monitor does already."""
    if not kernel.take_lock(directory.file("monitor.lock")):
        return
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    monitor = Monitor(directory)
    while not monitor.round():
        monitor.wait()
    monitor.close()


class Monitor:
    """State of the loop; what it knows of the run it reads back from the records, as every client does."""

    def __init__(self, directory: RunDirectory) -> None:
        self._directory = directory
        self._source = Source(directory)
        self._source.update(None)
        node = str(self._source.facts.get("node", "node-0"))
        self._timeline, self._host, self._findings = (
            Journal(directory.file(f"{name}.jsonl"), node, writer="monitor")
            for name in ("timeline", "host", "findings")
        )
        for journal in (self._timeline, self._host, self._findings):
            journal.begin()
        self._say_since_when()
        attached = self._source.facts.get("attached")
        self._attachment = Attachment(directory, self._timeline, self._source) if attached else None
        self._sizes = Sizes(directory, self._timeline, known=self._source.logs.sizes())
        self._waker = Waker(poll_s=_PERIOD_S)
        self._wait_s = _PERIOD_S
        self._judge = judging.Judge(self._source)
        self._records = Records(directory.file("ranks.jsonl"))
        self._holding = Holding()
        self._watch = Watch(use_info=os.environ.get("GRPOTUI_PIDFD_INFO") != "off")
        self._titles = Titles(self._host, known=self._source.titled.name if self._source.titled else None)
        self._disks = Disks(self._host)
        self._gpus = Gpus(directory, self._source)
        self._sampler = Sampler(self._host)
        self._unsupervised = False

    def wait(self) -> None:
        """Until a log, a record or a process has something to say, or it is time to look again."""
        if self._attachment is not None and self._attachment.is_behind:
            return
        time.sleep(_GAP_S)
        seconds = self._wait_s if self._sizes.due_s is None else min(self._sizes.due_s, self._wait_s)
        logs = self._sizes.paths() if self._attachment is None else self._attachment.paths()
        records = [self._directory.file("ranks.jsonl"), self._directory.file("shim.lock")]
        self._waker.watch([*logs, *records])
        self._waker.wait(max(0.0, seconds), [*self._gpus.fds(), *(self._watch.fds() if self._unsupervised else ())])

    def close(self) -> None:
        """Gives the devices back."""
        self._gpus.close()

    def round(self) -> bool:
        """One look at everything; True when the run is over, its last output on record, and its GPUs are back.

        The GPUs may also have their final reason why not.
        """
        try:
            return self._look()
        except Exception as error:  # noqa: BLE001  (a fault in one look must not end the record of the logs)
            report(f"monitor: {type(error).__name__}: {error}")
            return False

    def _look(self) -> bool:
        if not os.path.isdir(self._directory.path):
            return True  # it was removed: there is nothing left to write to
        supervised = self._directory.is_locked("shim.lock")
        before = self._timeline.count
        if self._attachment is not None:
            self._attachment.copy()
        self._sizes.look()
        if not supervised and self._attachment is None:
            time.sleep(MARGIN_NS / 1e9)  # whatever the shim wrote before it let go of its lock counts
        self._source.update_live()
        run = self._source.run
        self._watch.follow(run)
        records = list(self._records.until(self._source.as_of))
        self._find(records)
        self._sampler.look(self._source)
        self._titles.look(self._source, time.monotonic_ns())
        self._disks.look(self._source, time.monotonic_ns())
        self._hold()
        self._gpus.look(self._source, records, supervised=supervised)
        moves = self._timeline.count != before
        ending = any(m.leads and not m.is_open for m in run.members.values())
        self._wait_s = _PERIOD_S if moves or ending or not (supervised or self._attachment) else _IDLE_S
        if self._attachment is not None:
            over = self._look_attached(self._attachment, grew=moves)
        else:
            over = run.done or (not supervised and self._without_shim())
        if over:
            self._sizes.look(last=True)
        return over and self._gpus.is_settled()

    def _look_attached(self, attachment: Attachment, *, grew: bool) -> bool:
        """The processes of a job that is not ours, and whether there is anything left to be seen of it."""
        self._unsupervised = True
        self._record_ends("its parent alone was told its exit status, or it ended before it was watched")
        attachment.note_growth(grew=grew)
        why = attachment.is_over(self._source)
        if why is None:
            return False
        self._sizes.look(last=True)
        self._host.add("following_ended", why=why)
        return True

    def _say_since_when(self) -> None:
        """A gap: from the last sign of an earlier monitor to now, nobody saw when a log grew."""
        last = _times(self._timeline)
        stat = procfs.stat(os.getpid())
        if last:
            self._timeline.add("gap", from_m=max(last + _times(self._host)))
        self._timeline.add("monitor", pid=os.getpid(), start=stat.start if stat else None)

    def _find(self, records: list[dict[str, Any]]) -> None:
        for finding in self._judge.look(self._source, records):
            self._findings.add("raised", **judging.fields(finding))
            self._act(finding)

    def _act(self, finding: Finding) -> None:
        if finding.id == LEFT_EARLY and finding.member is not None:
            rank = self._source.run.members[finding.member].rank
            self._directory.request("fail", member=finding.member, rank=rank, why=finding.evidence)

    def _hold(self) -> None:
        why = self._holding.reason(self._source, time.monotonic_ns())
        if why is not None:
            self._directory.request("hold", seconds=SECONDS, why=why)

    def _without_shim(self) -> bool:
        """No shim holds the lock and the record has no `done`: what can still be learned goes on our record.

        Whether the run has ended is looked up and not read back, since a full disk may take none of it.
        """
        if not self._unsupervised:
            self._unsupervised = True
            self._host.add("unsupervised")
        self._record_ends("it ended while no shim was there to see it")
        return phase(settle(self._source.run, look(self._directory, self._source.facts))) == "ended"

    def _record_ends(self, reason: str) -> None:
        """How the members ended that nobody else watches."""
        for member, how in self._watch.ends(self._source.run):
            named = {"member": member.key, "rank": member.rank, "role": member.role, "pid": member.pid}
            if how is not None:
                self._host.add("exit", **named, start=member.start, **how, sent=list(member.sent))
            else:
                event = "lost" if member.owned else "not_observable"
                self._host.add(event, **named, start=member.start, reason=reason)


def _times(journal: Journal) -> list[int]:
    times = [record.get("m") for record in journal.read() if record["ev"] != "header"]
    return [moment for moment in times if isinstance(moment, int)]
