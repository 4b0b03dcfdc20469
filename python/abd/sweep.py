"""Sweeps: a scene run many times with other settings and seeds, into one table, by any executor."""

from __future__ import annotations

import json
import multiprocessing
import os
import sqlite3
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Callable

from abd._core import OK, Error, SceneError, fail, failure, ffi, lib, new_error, text

_NONE = ffi.cast("size_t", -1)


class Study:
    """A scene and what varies, as a study file says (docs/sweep.md). It is sent to other processes as its text."""

    def __init__(self, source: str | os.PathLike[str] | dict[str, Any], name: str | None = None) -> None:
        if isinstance(source, dict):
            self._text, self._file = json.dumps(source), name or "study"
        else:
            path = Path(source)
            self._file = str(path.absolute())
            try:
                self._text = path.read_text()
            except OSError as error:
                raise SceneError(f"{path}: cannot read: {error.strerror}", "scene") from None
        self._c = _parse(self._text, self._file)

    def __reduce__(self) -> tuple:
        return _unpickle, (self._text, self._file)

    def __len__(self) -> int:
        """The number of members."""
        return lib.abd_study_member_count(self._c)

    @property
    def name(self) -> str:
        return text(lib.abd_study_name(self._c))

    @property
    def columns(self) -> list[str]:
        """The figures that a member records."""
        return [text(lib.abd_study_column(self._c, k)) for k in range(lib.abd_study_column_count(self._c))]

    def settings(self, member: int) -> dict[str, Any]:
        """A member's settings by name, its seed as "seed"."""
        made = lib.abd_study_settings(self._c, self._check(member))
        if made == ffi.NULL:
            raise MemoryError("out of memory for the settings of a member")
        settings = json.loads(text(made))
        lib.abd_text_free(made)
        return settings

    def run(self, member: int, *, threads: int = 1) -> MemberResult:
        """Runs one member. The figures depend on the study and the member alone."""
        error, result = new_error(), ffi.new("AbdMemberResult *")
        value = ffi.new("double[]", max(1, lib.abd_study_column_count(self._c)))
        if lib.abd_study_run(self._c, self._check(member), threads, result, value, error) != OK:
            fail(error)
        values = [value[k] for k in range(lib.abd_study_column_count(self._c))]
        return MemberResult(member, result.steps, result.not_converged, result.seconds, result.hash, values)

    def _check(self, member: int) -> int:
        if not 0 <= member < len(self):
            raise IndexError(f"member is {member}, expected 0 to {len(self) - 1}")
        return member


@dataclass
class MemberResult:
    """What one member gave. ``values`` belong to ``Study.columns``; NaN for what does not exist."""

    member: int
    steps: int
    not_converged: int
    seconds: float
    hash: int
    values: list[float]


@dataclass
class SweepResult:
    """The table of a sweep and how many members are done; ``failed`` has the numbers and sentences of the others."""

    path: str
    done: int
    failed: dict[int, str]
    waiting: int

    def rows(self) -> list[dict[str, Any]]:
        """All rows of the table, by member."""
        with sqlite3.connect(self.path) as table:
            table.row_factory = sqlite3.Row
            return [dict(row) for row in table.execute("SELECT * FROM member ORDER BY member")]


def _parse(source: str, name: str) -> Any:
    error, data = new_error(), source.encode()
    c = lib.abd_study_parse(data, len(data), name.encode(), error)
    if c == ffi.NULL:
        fail(error)
    return ffi.gc(c, lib.abd_study_destroy)


@lru_cache(maxsize=4)
def _unpickle(source: str, name: str) -> Study:
    study = Study.__new__(Study)
    study._text, study._file, study._c = source, name, _parse(source, name)
    return study


def _run_member(study: Study, member: int, threads: int) -> MemberResult:
    return study.run(member, threads=threads)


class _Table:
    """The table of results; one process writes it."""

    def __init__(self, path: str, study: Study, replace: bool) -> None:
        error = new_error()
        c = lib.abd_sweep_open(os.fsencode(path), study._c, replace, error)
        if c == ffi.NULL:
            fail(error)
        self._c = ffi.gc(c, lib.abd_sweep_close)

    def _check(self, status: int) -> None:
        if status != OK:
            raise failure(status, text(lib.abd_sweep_error(self._c)))

    def take(self) -> int | None:
        member = ffi.new("size_t *")
        self._check(lib.abd_sweep_take(self._c, member))
        return None if member[0] == int(_NONE) else member[0]

    def store(self, result: MemberResult) -> None:
        c = ffi.new("AbdMemberResult *", [result.steps, result.not_converged, result.seconds, result.hash])
        self._check(lib.abd_sweep_store(self._c, result.member, c, ffi.new("double[]", result.values or [0.0])))

    def fail(self, member: int, sentence: str, again: bool) -> None:
        self._check(lib.abd_sweep_fail(self._c, member, sentence.encode(), again))

    def release(self) -> None:
        self._check(lib.abd_sweep_release(self._c))

    def retry_failed(self) -> None:
        self._check(lib.abd_sweep_retry_failed(self._c))

    def counts(self) -> list[int]:
        count = ffi.new("int64_t[]", lib.ABD_MEMBER_STATUS_COUNT)
        self._check(lib.abd_sweep_counts(self._c, count))
        return list(count)

    def close(self) -> None:
        ffi.release(self._c)


class _Sweep:
    """Members in progress, their futures and failures."""

    def __init__(self, study: Study, table: _Table, executor: Executor | None, threads: int, retries: int) -> None:
        self.study, self.table, self.threads, self.retries = study, table, threads, retries
        self.given, self.own = executor, None if executor else _processes()
        self.running: dict[Future, int] = {}
        self.failures: dict[int, int] = {}
        self.suspects = 0  # members that were running when a process died: they run alone

    def start(self, room: int) -> None:
        while len(self.running) < (1 if self.suspects else room) and (member := self.table.take()) is not None:
            pool = self.given or self.own
            assert pool is not None
            self.running[pool.submit(_run_member, self.study, member, self.threads)] = member

    def failed(self, member: int, error: BaseException, counts: bool = True) -> None:
        """An error of the scene is the same each time; all others may pass."""
        transient = not isinstance(error, (Error, ValueError)) or getattr(error, "status", "") in ("file", "disk")
        self.failures[member] = self.failures.get(member, 0) + counts
        again = transient and self.failures[member] <= self.retries
        self.table.fail(member, str(error) or type(error).__name__, again)

    def renew(self, error: BaseException) -> None:
        """A process of the own pool died, and with it the pool. If several members were running, none is to blame yet."""
        if self.own is None:
            raise error
        wait(self.running)
        alone = len(self.running) == 1
        for future, member in self.running.items():
            if future.cancelled() or future.exception() is not None:
                self.failed(member, error, alone)
            else:
                self.table.store(future.result())
        self.suspects = 0 if alone else len(self.running)
        self.running = {}
        self.own.shutdown(wait=True, cancel_futures=True)
        self.own = _processes()

    def finish_some(self) -> None:
        done, _ = wait(self.running, return_when=FIRST_COMPLETED)
        errors = {future: future.exception() for future in done}
        for error in errors.values():
            if isinstance(error, BrokenExecutor):
                return self.renew(error)
        for future, error in errors.items():
            member = self.running.pop(future)
            self.suspects = max(0, self.suspects - 1)
            if error is not None:
                self.failed(member, error)
            else:
                self.table.store(future.result())

    def close(self) -> None:
        for future in self.running:
            future.cancel()
        if self.own:
            self.own.shutdown(wait=True, cancel_futures=True)
        self.table.release()


def _processes() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(mp_context=multiprocessing.get_context("forkserver"))


def sweep(
    study: Study | str | os.PathLike[str] | dict[str, Any],
    *,
    executor: Executor | None = None,
    table: str | os.PathLike[str] | None = None,
    replace: bool = False,
    retry_failed: bool = False,
    retries: int = 2,
    threads: int = 1,
    in_flight: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> SweepResult:
    """Runs all members of a study that are not done and returns the table of results, as ``abd sweep`` does.

    ``executor``: anything of ``concurrent.futures``: processes, mpi4py's ``MPIPoolExecutor``, Dask's ``client.get_executor()``,
    Parsl's; a pool of processes on this machine if left out. ``table``: the SQLite file, ``NAME.db`` if left out; a table of the
    same study is continued. ``retries``: further attempts of a member whose process failed. ``in_flight``: members submitted at a
    time. ``progress(done, total)`` is called after each.
    """
    study = study if isinstance(study, Study) else Study(study)
    path = os.fspath(table) if table is not None else f"{study.name.replace('/', '_')}.db"
    results = _Table(path, study, replace)
    try:
        if retry_failed:
            results.retry_failed()
        work = _Sweep(study, results, executor, threads, retries)
        try:
            room = in_flight or 4 * (os.cpu_count() or 1)
            work.start(room)
            while work.running:
                work.finish_some()
                work.start(room)
                if progress:
                    progress(sum(results.counts()[2:]), len(study))
        finally:
            work.close()
        waiting, running, done, _ = results.counts()
    finally:
        results.close()
    with sqlite3.connect(path) as file:
        failed = dict(file.execute("SELECT member, error FROM member WHERE status = 'failed' ORDER BY member"))
    return SweepResult(path, done, failed, waiting + running)
