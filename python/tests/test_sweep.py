"""abd.sweep: the same table by any executor; failures are tried again and reported."""

import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import pytest

import abd

STUDY = {
    "study": 1,
    "scene": {"gallery": "pile", "keys": {"count": 4}},
    "steps": 3,
    "grid": {"contact.friction": [0.1, 0.5]},
    "random": {"gallery.seed": "seed"},
    "seeds": 3,
    "record": ["report.time", "report.contacts.max"],
}


def hashes(result: abd.SweepResult) -> list:
    return [(row["member"], row["hash"], row["contact.friction"], row["seed"]) for row in result.rows()]


@pytest.fixture
def serial(tmp_path: Path) -> list:
    with ThreadPoolExecutor(1) as one:
        return hashes(abd.sweep(STUDY, table=tmp_path / "serial.db", executor=one))


def test_study() -> None:
    study = abd.Study(STUDY)
    assert len(study) == 6 and study.columns == ["report.time", "report.contacts.max"]
    assert study.settings(4) == {"seed": 2, "contact.friction": 0.5, "gallery.seed": 2}
    result = study.run(4)
    assert result.steps == 3 and result.values[0] > 0
    with pytest.raises(IndexError, match="expected 0 to 5"):
        study.run(6)
    with pytest.raises(abd.SceneError, match="unknown key; did you mean"):
        abd.Study({**STUDY, "recrod": []})
    with pytest.raises(abd.SceneError, match="none.json: cannot read"):
        abd.Study("none.json")


def test_processes(tmp_path: Path, serial: list) -> None:
    calls: list = []
    result = abd.sweep(STUDY, table=tmp_path / "many.db", progress=lambda done, total: calls.append((done, total)))
    assert hashes(result) == serial and result.done == 6 and not result.failed and calls[-1] == (6, 6)
    again = abd.sweep(STUDY, table=tmp_path / "many.db")
    assert [row["attempts"] for row in again.rows()] == [1] * 6
    with pytest.raises(abd.FileError, match="another study"):
        abd.sweep({**STUDY, "steps": 4}, table=tmp_path / "many.db")


def test_failures(tmp_path: Path) -> None:
    result = abd.sweep({**STUDY, "grid": {"contact.friction": [0.1, -1]}}, table=tmp_path / "bad.db")
    assert result.done == 3 and sorted(result.failed) == [3, 4, 5]
    assert all("friction" in sentence for sentence in result.failed.values())


class Deadly(ThreadPoolExecutor):
    """Fails the first attempt of each member."""

    seen: set = set()

    def submit(self, function, study, member, threads):  # type: ignore[no-untyped-def]
        if member in self.seen:
            return super().submit(function, study, member, threads)
        self.seen.add(member)
        return super().submit(os.stat, "/no/such/file")


def test_retries(tmp_path: Path, serial: list) -> None:
    with Deadly(2) as pool:
        result = abd.sweep(STUDY, table=tmp_path / "deadly.db", executor=pool)
    assert hashes(result) == serial and [row["attempts"] for row in result.rows()] == [2] * 6


def _die_once(mark: str) -> None:
    if not os.path.exists(mark):
        open(mark, "w").close()
        os.kill(os.getpid(), signal.SIGKILL)


def test_a_process_that_dies(tmp_path: Path, serial: list, monkeypatch: pytest.MonkeyPatch) -> None:
    context = multiprocessing.get_context("forkserver")

    def deadly() -> ProcessPoolExecutor:
        return ProcessPoolExecutor(2, context, initializer=_die_once, initargs=(str(tmp_path / "mark"),))

    monkeypatch.setattr(sys.modules["abd.sweep"], "_processes", deadly)
    result = abd.sweep(STUDY, table=tmp_path / "killed.db", retries=0)
    assert hashes(result) == serial and not result.failed


def test_dask(tmp_path: Path, serial: list) -> None:
    distributed = pytest.importorskip("distributed", reason="skipped: Dask is not installed")
    with distributed.Client(processes=True, n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        result = abd.sweep(STUDY, table=tmp_path / "dask.db", executor=client.get_executor())
    assert hashes(result) == serial


def test_mpi4py(tmp_path: Path, serial: list) -> None:
    pytest.importorskip("mpi4py", reason="skipped: mpi4py is not installed")
    mpirun = shutil.which("mpirun") or pytest.skip("skipped: there is no mpirun")
    script = tmp_path / "run.py"
    script.write_text(
        "import abd, json, sys\n"
        "from mpi4py.futures import MPIPoolExecutor\n"
        "if __name__ == '__main__':\n"
        "    with MPIPoolExecutor() as pool:\n"
        f"        abd.sweep({STUDY!r}, table={str(tmp_path / 'mpi.db')!r}, executor=pool)\n"
    )
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                   "OMPI_MCA_rmaps_base_oversubscribe": "1"}  # fmt: skip
    command = [mpirun, "-n", "3", sys.executable, "-m", "mpi4py.futures", str(script)]
    subprocess.run(command, check=True, env=environment, timeout=120)
    with ThreadPoolExecutor(1) as none:
        assert hashes(abd.sweep(STUDY, table=tmp_path / "mpi.db", executor=none)) == serial
