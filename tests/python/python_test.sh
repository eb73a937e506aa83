#!/usr/bin/env bash
# The tests of the Python package that need NumPy alone, on the package of the build tree.
set -euo pipefail
source_dir=$2
build_dir=$3
python=$source_dir/build/venv/bin/python
ls "$build_dir"/python/glint/_core*.so >/dev/null 2>&1 && [ -x "$python" ] ||
  { echo "skipped: the Python package was not built; scripts/setup-python needs PyPI"; exit 77; }
cd "$source_dir/tests/python"
PYTHONPATH=$build_dir/python exec "$python" -m pytest -p no:cacheprovider -m "not full" .
