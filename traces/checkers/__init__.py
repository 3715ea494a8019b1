"""Is a client history as consistent as was promised? Plain functions on columns, no Spark.

Partition logs (docs/reference/log-checker.md), in reading order: columns.py, records.py, scans.py,
log.py, certificates.py, sessions.py, levels.py; version_order.py, findings.py, anomalies_values.py,
anomalies_moves.py, anomalies.py; assessment.py holds both against what was promised. Everything
else: sequential.py, models.py, search.py with jit.py and registers.py, witness.py. check.py is for
who uses this as a library.
"""
