"""A whole cluster: a controller quorum whose log is the metadata, brokers, partitions, clients.

Reading order: options, scenario; partition; link, brokers, decisions, controllers; trouble,
scheduler.

The voters are those of reference/quorum/sim/scheduler.py. On top of them there is an active
controller: it decides on what it has not yet committed, appends each decision to the quorum's log,
and answers when it is committed. A broker is one process with a row for each partition that it
holds; what the rows have in common (process, registration, metadata) moves in all of them at once.
"""
