#!/bin/sh
# Runs the tests that use Spark with other versions of it than the locked one.
#
#     tools/spark_versions.sh 4.0.5 4.3.0
#
# Each version gets an environment in build/spark-versions, with Spark alone in it and everything
# else from .venv. A Spark is some 450 MB, so they are kept.
set -eu
cd "$(dirname "$0")/.."

[ $# -gt 0 ] || { echo 'spark: which versions? SPARK="4.0.5 4.3.0"' >&2; exit 3; }

tests="tests/traces/jobs/test_on_spark.py tests/traces/jobs/test_backends.py
tests/traces/jobs/test_simulate.py tests/traces/jobs/test_conform.py"
python=$PWD/.venv/bin/python
shared=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')

for version in "$@"; do
    place=$PWD/build/spark-versions/$version
    if [ ! -e "$place/.ready" ]; then
        rm -rf "$place"
        "$python" -m venv "$place"
        "$place/bin/python" -m pip --quiet --disable-pip-version-check install \
            setuptools "pyspark==$version" || { echo "spark: cannot install $version" >&2; exit 3; }
        own=$("$place/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
        # Behind what is installed here, so that this Spark comes before the locked one.
        printf '%s\n%s\n' "$shared" "$PWD" >"$own/shared.pth"
        touch "$place/.ready"
    fi
    found=$("$place/bin/python" -c 'import pyspark; print(pyspark.__version__)')
    echo "spark: $found"
    [ "$found" = "$version" ] || { echo "spark: $place has another version" >&2; exit 3; }
    # shellcheck disable=SC2086
    "$place/bin/python" -m pytest -q -n 0 $tests
done
