"""Reports of steps."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from abd._core import NAMES, WORK, dtype_of, enum_name, fields_of


class Report:
    """What a step did. Every field of AbdStepReport is an attribute; energies, work and times are dictionaries.

    ``not_converged`` counts the steps of the call that did not converge, so that ``step(100)`` hides none of them.
    """

    __slots__ = ("_data",)
    if TYPE_CHECKING:
        step: int
        time: float
        outcome: str
        culprit: tuple[int, int]
        iterations: int
        substeps: int
        given_up: int
        given_up_by: str
        given_up_culprit: tuple[int, int]
        line_search_steps: int
        friction_iterations: int
        friction_error: float
        residual: float
        step_length: float
        limit: tuple[int, int]
        islands: int
        linear_iterations: int
        factor_memory: float
        factor_flops: float
        body_pairs: int
        box_tests: int
        candidates: int
        distances: int
        contacts: int
        ccd_calls: int
        min_distance: float
        nearest: tuple[int, int]
        max_strain: float
        most_strained: int
        max_soft_strain: float
        most_strained_soft: int
        target_error: float
        joint_residual: float
        worst_joint: int
        energy: dict[str, float]
        work: dict[str, float]
        momentum: tuple[float, float, float]
        angular_momentum: tuple[float, float, float]
        seconds: dict[str, float]
        events: int
        broken_joints: int

    def __init__(self, data: bytes) -> None:
        self._data = data

    @property
    def steps(self) -> int:
        """Number of steps of the call."""
        return int.from_bytes(self._data[-16:-8], sys.byteorder)

    @property
    def not_converged(self) -> int:
        """How many of them did not converge."""
        return int.from_bytes(self._data[-8:], sys.byteorder)

    @property
    def converged(self) -> bool:
        """Whether every step of the call converged."""
        return self.not_converged == 0

    def __getattr__(self, name: str) -> Any:
        try:
            value = np.frombuffer(self._data, dtype_of("AbdStepReport"), 1)[0][name].tolist()
        except ValueError:
            raise AttributeError(f"a report has no {name!r}") from None
        if name in ("outcome", "given_up_by"):
            return enum_name("AbdOutcome", value)
        if name in _REPORT_NAMES:
            return dict(zip(_REPORT_NAMES[name], value))
        return tuple(value) if isinstance(value, list) else value

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *fields_of("AbdStepReport")]

    def as_dict(self) -> dict[str, Any]:
        """All fields."""
        return {name: getattr(self, name) for name in fields_of("AbdStepReport")}

    def __reduce__(self) -> tuple:
        return Report, (self._data,)

    def __repr__(self) -> str:
        return (
            f"<abd.Report step {self.step}: {self.outcome}, {self.iterations} iterations, {self.contacts} contacts, "
            f"{1e3 * sum(self.seconds.values()):.3g} ms>"
        )


_REPORT_NAMES = {"energy": NAMES["AbdTerm"], "work": WORK, "seconds": NAMES["AbdStage"]}
