"""`python -m glint`: the program, which lies inside the package."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def main() -> None:
    """Becomes the program, with the same arguments."""
    program = Path(__file__).parent / "bin" / "glint"
    if not program.is_file():
        sys.exit(f"glint: the program is not in this installation: {program}")
    os.execv(program, ["glint", *sys.argv[1:]])


if __name__ == "__main__":
    main()
