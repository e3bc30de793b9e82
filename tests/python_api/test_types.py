# SPDX-License-Identifier: Apache-2.0
"""The types of the Python package hold under mypy, those of its public modules strictly."""
import pathlib
import subprocess
import sys
import tempfile

try:
    import mypy  # noqa: F401
except ImportError:
    print("skipped: mypy is not installed; tools/setup.sh --dev installs it into .venv")
    sys.exit(77)

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "python" / "msprobe"
STRICT = ["__init__", "__main__", "cause", "checking", "pair", "progress", "pytest_plugin", "recording", "testing"]

# PyTorch's own types would take most of the time.
CONFIG = "[mypy]\nfollow_imports = silent\n[mypy-torch.*,numpy.*,pandas.*]\nfollow_imports = skip\nignore_missing_imports = True\n"

with tempfile.TemporaryDirectory() as cache:
    config = str(pathlib.Path(cache) / "mypy.ini")
    pathlib.Path(config).write_text(CONFIG, encoding="utf-8")
    failed = False
    for words in ([PACKAGE], ["--strict", *(PACKAGE / f"{name}.py" for name in STRICT)]):
        run = subprocess.run([sys.executable, "-m", "mypy", "--ignore-missing-imports", "--config-file", config, "--cache-dir", cache,
                              *map(str, words)], capture_output=True, text=True)
        print(run.stdout + run.stderr)
        failed = failed or run.returncode != 0
sys.exit(failed)
