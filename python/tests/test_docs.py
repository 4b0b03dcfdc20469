"""The documentation: the README's script, the pages' code, the notebook and the reference are what the module does."""

import json
import os
import re
import subprocess
import sys

import pytest
from conftest import ROOT

pytestmark = pytest.mark.skipif("LD_PRELOAD" in os.environ, reason="slow under sanitizers")


def blocks(page: str) -> list[str]:
    """The Python code of a page; blocks that go on with those before begin with a line without an import."""
    return re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), flags=re.S | re.M)


def execute(code: str, folder) -> str:
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=300)
    if "built without the viewer" in done.stderr:
        pytest.skip("the library was built without the viewer: install npm, or Debian's esbuild and libjs-three")
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_readme(tmp_path):
    """A film of fewer and smaller pictures than in the README."""
    (code,) = [block for block in blocks("README.md") if "import abd" in block]
    small = re.sub(r"export\((.*?), width=\d+, height=\d+", r"export(\1, every=30, width=160, height=90", code)
    assert small != code
    out = execute(small, tmp_path)
    assert "'crossings': 0" in out and (tmp_path / "rings.mp4").exists()


@pytest.mark.parametrize("page", ["docs/python.md", "docs/from-mujoco.md"])
def test_pages(page, tmp_path):
    """All blocks of a page, one after the other, as one program in a folder with the files of the tutorial."""
    for name in ("bracket.stl", "wheel.stl", "mill.json"):
        (tmp_path / name).write_bytes((ROOT / "docs/tutorial" / name).read_bytes())
    code = "\n".join(block for block in blocks(page) if "# not run" not in block)
    execute(code, tmp_path)


def test_notebook_as_a_program(tmp_path):
    """Its cells in order, without Jupyter."""
    cells = json.loads((ROOT / "examples/tutorial.ipynb").read_text())["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    code = code.replace('Path("../docs/tutorial")', f"Path({str(ROOT / 'docs/tutorial')!r})")
    out = execute(code.replace("every=4", "every=40"), tmp_path)
    assert "touch or cross at the start" in out and (tmp_path / "mill.png").exists()


@pytest.mark.long
def test_notebook(tmp_path):
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    book = nbformat.read(ROOT / "examples/tutorial.ipynb", 4)
    nbclient.NotebookClient(book, timeout=300, resources={"metadata": {"path": ROOT / "examples"}}).execute()
    outputs = [output for cell in book.cells for output in cell.get("outputs", [])]
    assert any("<iframe srcdoc=" in output.get("data", {}).get("text/html", "") for output in outputs)
    for name in ("mill.abd", "mill.mp4", "mill.png"):
        (ROOT / "examples" / name).unlink(missing_ok=True)


def test_reference(tmp_path):
    """docs/python-reference.md is what its script writes of the docstrings."""
    made = execute(
        f"import runpy; runpy.run_path({str(ROOT / 'docs/python-reference.py')!r}, run_name='__main__')", tmp_path
    )
    assert made == (ROOT / "docs/python-reference.md").read_text(), (
        "run: python docs/python-reference.py > docs/python-reference.md"
    )
