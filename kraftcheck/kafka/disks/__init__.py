"""What lies on the disks of Kafka's brokers, judged by what Kafka promises of it.

Reading order: batches.py (a segment's record batches), files.py (all else that lies beside them),
producers.py (what a broker remembers of producers), directory.py (a log directory: where its
partitions are), partition.py (one of them), replicas.py (several of one partition).
"""
