#!/usr/bin/env bash
# What the documents say can be done, can be done: commands parse, make targets exist, links and paths lead somewhere.
set -euo pipefail
command -v python3 >/dev/null || exit 77
exec python3 "$(dirname "$0")/readme_check.py" "$1" "$2"
