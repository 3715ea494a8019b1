#!/bin/sh
# Resolves requirements/*.txt from pyproject.toml and requirements/*.in, for every platform and
# every supported Python at once.
#
# The files hold names, versions and hashes, and no address: whoever installs brings the index.
# A version stays as it is unless it no longer fits; `--upgrade` looks for newer ones.
set -eu
cd "$(dirname "$0")/.."

compile() {
    # One version for all Pythons (fewest): a run must not differ because a library did.
    .venv/bin/uv pip compile --quiet --universal --python-version 3.11 --fork-strategy fewest \
        --generate-hashes --no-emit-index-url --no-annotate --no-header "$@"
}

compile requirements/build.in --output-file requirements/build.txt "$@"
# All extras but java: set-up installs a Java runtime only where there is none.
compile pyproject.toml --extra dev --extra kafka --extra prove --extra spark \
    --constraint requirements/constraints.in --constraint requirements/build.txt \
    --output-file requirements/lock.txt "$@"
# A Java runtime for machines without one: the newest that the locked Spark runs on.
compile requirements/java.in --output-file requirements/java.txt "$@"
# What builds the site, in an environment of its own.
compile requirements/site.in --output-file requirements/site.txt "$@"

if grep -n '://' requirements/*.txt; then
    echo "lock: the lines above hold an address; locks must hold none" >&2
    exit 1
fi
echo "lock: $(grep -c '==' requirements/lock.txt) packages"
