"""What is about real Kafka, in reading order; nothing of the core imports it, but verbs do.

`live` (a running cluster, and Kafka's classes in a JVM), `observed` (recordings of clusters,
judged), `clusters` and `recordings` (their verbs), `disks` (what lies on brokers' disks),
`disk_command`, `disk_members` and `disk_page` (their verb), `witness` (Kafka's classes as an
implementation), `serve` (a cluster for real clients).
"""
