"""Makes docs/images/grasp.gif: the grasp of examples/grasp.py in abd and in MuJoCo, side by side.

    docs/images/grasp.py 2f85.xml FOLDER [OUT.gif]

Needs the module abd, mujoco with EGL, and Pillow. FOLDER is for the run and the pictures of its frames.
"""

import math
import os
import subprocess
import sys
from pathlib import Path

os.environ.setdefault("MUJOCO_GL", "egl")
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "examples"))

import mujoco  # noqa: E402
import numpy as np  # noqa: E402
from grasp import DURATION, run  # noqa: E402
from grasp_mujoco import run as run_mujoco  # noqa: E402
from PIL import Image, ImageDraw  # noqa: E402

FPS, WIDTH, HEIGHT = 12.5, 280, 340
CENTER, RADIUS, AZIMUTH, ELEVATION = (0, 0, 0.15), 0.17, 150, 8
HALF = math.radians(16)  # abd's half angle of view across the smaller side


def pictures_of_abd(robot: str, folder: Path) -> list[Image.Image]:
    record, dt = folder / "grasp.abd", 0.005
    if not record.exists():
        run(robot, dt, "visual", str(record))
    every = round(1 / (FPS * dt))
    subprocess.run(
        [sys.executable, "-m", "abd", "export", str(record), "-o", str(folder / "abd-%05d.png"), "--all", "--every",
         str(every), "--size", f"{WIDTH}x{HEIGHT}", "--look-at", ",".join(map(str, (*CENTER, RADIUS))), "--view",
         f"{AZIMUTH},{ELEVATION}", "-q"], check=True)  # fmt: skip
    return [Image.open(path).convert("RGB") for path in sorted(folder.glob("abd-*.png"))]


def pictures_of_mujoco(robot: str, bolt: str) -> list[Image.Image]:
    pictures: list[Image.Image] = []
    state: dict = {}

    def draw(model, data, t):
        if "renderer" not in state:
            model.vis.global_.offwidth, model.vis.global_.offheight = WIDTH, HEIGHT
            model.vis.global_.fovy = 2 * math.degrees(math.atan(math.tan(HALF) * HEIGHT / WIDTH))
            model.vis.headlight.ambient, model.vis.headlight.diffuse = [0.45] * 3, [0.5] * 3
            state["renderer"] = mujoco.Renderer(model, HEIGHT, WIDTH)
            camera = state["camera"] = mujoco.MjvCamera()
            camera.lookat, camera.azimuth, camera.elevation = CENTER, AZIMUTH + 90, -ELEVATION
            camera.distance = 0.92 * RADIUS / math.sin(HALF)
        if t + 1e-9 >= len(pictures) / FPS:
            state["renderer"].update_scene(data, state["camera"])
            pictures.append(Image.fromarray(state["renderer"].render()))

    run_mujoco(robot, 0.002, bolt, draw)
    return pictures


def main(robot: str, folder: Path, out: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    columns = {
        "abd: the meshes": pictures_of_abd(robot, folder),
        "MuJoCo: hull of the bolt": pictures_of_mujoco(robot, "hull"),
        "MuJoCo: two cylinders": pictures_of_mujoco(robot, "parts"),
    }
    frames = []
    for k in range(min(map(len, columns.values()))):
        frame = Image.new("RGB", (WIDTH * len(columns), HEIGHT + 18), "white")
        for i, (title, pictures) in enumerate(columns.items()):
            frame.paste(pictures[k], (i * WIDTH, 18))
            ImageDraw.Draw(frame).text((i * WIDTH + 6, 3), title, fill="black")
        frames.append(frame)
    some = [np.asarray(frames[i]) for i in (0, 8, len(frames) // 2, -1)]
    bolts = [frame[170:330, i * WIDTH + 90 : i * WIDTH + 190] for frame in some for i in range(len(columns))]
    bolts = [np.tile(part, (1, math.ceil(frames[0].width / 100), 1))[:, : frames[0].width] for part in bolts]
    palette = Image.fromarray(np.vstack(some + bolts)).quantize(80)  # the bolt is small, its colour counts
    small = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    small[0].save(out, save_all=True, append_images=small[1:], duration=round(1000 / FPS), loop=0, optimize=True)
    print(f"{out}: {len(small)} frames of {DURATION} s, {out.stat().st_size // 1000} kB")


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]) if len(sys.argv) == 4 else HERE / "grasp.gif")
