"""A partition's log on disk, in Apache Kafka's formats, over one interface of files.

Reading order: rules.py (every decision that has a name), as_kafka.py (where Kafka decides
otherwise), batches.py (bytes of record batches), files.py (what is asked of a disk), indexes.py,
producers.py, epochs.py, segment.py (what lies beside each other), log.py (what is done with them),
cutting.py (truncation), retention.py, loading.py (what a start makes of what it finds),
cleaning.py (compaction), reading.py (what a fetch is given), broker.py (a log directory:
checkpoints, the marker of a clean stop).

Then what judges them: disk.py (a disk in memory, and all that a crash may leave of it),
histories.py (what is done to a log, by chance), promises.py (what must hold after a start),
crashing.py (histories, crashes and starts together), judging.py (all that is judged of a seed).
"""
