#!/bin/sh
# Finds a Python of 3.11 or newer and hands over to tools/setup.py, which does the work.
#
# This half is plain shell because a machine without a fitting Python must get a clear line too.
# PYTHON=<interpreter> names one and is then the only one tried.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
fits='import sys; sys.exit(sys.version_info < (3, 11))'

# A name on PATH may be a shim that cannot run, so ask it instead of looking for it.
usable() { "$1" -c "$fits" </dev/null >/dev/null 2>&1; }

fail() {
    echo "setup: $1" >&2
    exit 3
}

if [ -n "${PYTHON:-}" ]; then
    command -v "$PYTHON" >/dev/null 2>&1 || fail "PYTHON=$PYTHON is not a program that can be run;\
 set PYTHON to a Python 3.11 or newer, or unset it"
    usable "$PYTHON" || fail "PYTHON=$PYTHON is not Python 3.11 or newer\
 (it says: $("$PYTHON" --version 2>&1 | head -n 1)); set PYTHON to a newer one"
    exec "$PYTHON" "$root/tools/setup.py" "$@"
fi

for name in python3 python3.14 python3.13 python3.12 python3.11 python; do
    if usable "$name"; then
        exec "$name" "$root/tools/setup.py" "$@"
    fi
done

found=$(python3 --version 2>/dev/null | head -n 1) || true
fail "no Python 3.11 or newer on PATH (python3 is: ${found:-missing});\
 install one, or name it: make setup PYTHON=/path/to/python3.11"
