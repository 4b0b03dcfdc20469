"""A Gymnasium environment: a gripper picks up a nut by its real mesh, with the thread inside.

    python examples/gripper_env.py               # checks the environment and runs a policy written by hand

Two fingers close on a nut that lies at a random place between them, then the hand lifts it. An action has two numbers
from -1 to 1: how fast the fingers close and how fast the hand rises. Twenty times a second the environment moves the
targets of the drives and takes ten steps. ``GripperEnv.reset`` restores a snapshot: bit by bit the same start, in less
than a millisecond.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

import abd

DT, STEPS = 0.005, 10  # [s], steps of an action
RAISED = 0.12  # [m] height at which the nut is picked up
SPEED = np.array([0.1, 0.3])  # [m/s] of fingers and hand at an action of 1


def make_world() -> abd.World:
    """The hand, a nut of 25 mm with two of its sides towards the fingers, and a ground."""
    nut = abd.Scene.gallery("screw").build().body("nut").mesh
    servo = {"type": "position", "stiffness": 4e3, "damping": 80}
    finger = {"shape": "box", "size": [0.01, 0.02, 0.05], "mass": 0.05, "friction": 0.8, "color": "#444444"}
    scene = {
        "version": 1,
        "dt": DT,
        "bodies": [
            {"name": "ground", "shape": "ground", "size": 0.5, "friction": 0.5},
            {"name": "nut", "vertices": (0.2 * nut.file_vertices).tolist(), "triangles": nut.triangles.tolist(),
             "position": [0, 0, 0.0051], "euler_degrees": [0, 0, 30], "density": 7850, "friction": 0.8,
             "color": "#c9a227"},
            {"name": "palm", "shape": "box", "size": [0.1, 0.03, 0.02], "position": [0, 0, 0.064], "mass": 0.5},
            {"name": "left", "position": [-0.035, 0, 0.0285], **finger},
            {"name": "right", "position": [0.035, 0, 0.0285], **finger},
        ],
        "joints": [
            {"name": "lift", "type": "slider", "bodies": ["palm"], "point": [0, 0, 0.06], "axis": [0, 0, 1]},
            {"name": "grip left", "type": "slider", "bodies": ["left", "palm"], "point": [0, 0, 0.06],
             "axis": [1, 0, 0]},
            {"name": "grip right", "type": "slider", "bodies": ["right", "palm"], "point": [0, 0, 0.06],
             "axis": [-1, 0, 0]},
        ],
        "drives": [{"joint": "lift", **servo, "value": 0, "max": 50}]
        + [{"joint": f"grip {side}", **servo, "value": 0, "max": 15} for side in ("left", "right")],
    }  # fmt: skip
    return abd.Scene.parse(scene, "gripper").build(threads=1)


class GripperEnv(gym.Env):
    """Observation: positions and rates of the drives, place of the nut against the hand, forces on the fingers."""

    metadata = {"render_modes": []}

    def __init__(self, steps: int = 60) -> None:
        self.world = make_world()
        self.nut, self.palm = self.world.body("nut"), self.world.body("palm")
        self.drives = [self.world.joint(name) for name in ("lift", "grip left", "grip right")]
        self.fingers = [self.world.body(name).id - 1 for name in ("left", "right")]  # rows of arrays: ids count from 1
        self.most = steps
        self.action_space = gym.spaces.Box(-1, 1, (2,), np.float32)
        self.observation_space = gym.spaces.Box(-1e3, 1e3, (11,), np.float64)
        self.start = self.world.snapshot()
        self.home = self.nut.position

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.world.restore(self.start)
        self.nut.set_state(position=self.home + [*self.np_random.uniform(-0.004, 0.004, 2), 0])
        self.target, self.taken = np.zeros(2), 0
        return self._observe(), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.target += DT * STEPS * SPEED * np.clip(action, -1, 1)
        self.target = np.clip(self.target, 0, [0.03, RAISED + 0.03])
        close, lift = self.target
        self.world.set_targets([lift, close, close], self.drives)
        report = self.world.step(STEPS)
        self.taken += 1
        height = self.nut.center[2] - self.home[2]
        done = bool(height > RAISED)
        return self._observe(), float(height + done), done, self.taken >= self.most, {"converged": report.converged}

    def _observe(self) -> np.ndarray:
        readings = self.world.readings[:3]
        loads = self.world.contact_loads["normal"][self.fingers, 0] if self.world.step_count else np.zeros(2)
        place = self.nut.center - self.palm.center
        return np.concatenate([readings["position"], readings["rate"], place, np.abs(loads)])

    def close(self) -> None:
        self.world.close()


def policy(observation: np.ndarray) -> np.ndarray:
    """Closes until both fingers press with 5 N, then lifts."""
    held = observation[9:].min() > 5
    return np.array([1.0, float(held)], np.float32)


def play(env: GripperEnv, seed: int) -> tuple[float, int, bool]:
    """Sum of rewards, number of actions, whether the nut was picked up."""
    observation, _ = env.reset(seed=seed)
    total, picked, over, count = 0.0, False, False, 0
    while not (picked or over):
        observation, reward, picked, over, _ = env.step(policy(observation))
        total, count = total + reward, count + 1
    return total, count, picked


if __name__ == "__main__":
    from gymnasium.utils.env_checker import check_env

    check_env(GripperEnv(), skip_render_check=True)
    for seed in range(5):
        reward, count, picked = play(GripperEnv(), seed)
        print(f"seed {seed}: reward {reward:.3f} after {count} actions, picked up: {picked}")
