"""Writes triton_bytes.json: the bytes per element that the kernels of glint.torch load and store, counted in what Triton compiles for sm_90.

    PYTHONPATH=build/release/python build/venv-full/bin/python tests/golden/make_triton_bytes.py
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))
import test_triton as t  # noqa: E402

table = {}
for gate, name in zip(t.GATES, t.GATE_IDS):
    table[name] = {
        t.row_name(kernel, glu, dtype): t.moved(t.compiled(gate, getattr(t._triton, kernel), glu, dtype, 90).asm["ptx"])
        for kernel, glu in t.CASES
        for dtype in t.TYPES
    }
t.TABLE.write_text(json.dumps(table, indent=1) + "\n")
