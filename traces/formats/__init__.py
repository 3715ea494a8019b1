"""Histories in the formats of others and of our own: one module each, all read into `History`.

Reading order: text.py (files as text, limits), edn.py (the notation), events.py (invocations and
completions, paired), parts.py and log_parts.py (what a pair asks and was told), workloads.py (of
which object), then the formats: jepsen.py (EDN), jsonlines.py, parquet.py (a row for each of its
objects), loglines.py, trace.py (the runs of our traces), shiviz.py (out only); detect.py tells them
apart by what is in a file. linerows.py (with flat_edn.py) and columns.py read logs straight to
traces/rows.py.

Laws of this package: a file is read correctly or refused with a `HistoryError` that names file,
line and reason. Time and memory are linear in the size of the file, whatever is in it.
"""
