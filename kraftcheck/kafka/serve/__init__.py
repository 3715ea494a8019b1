"""A cluster for unmodified Kafka clients, whose answers come from the reference's handlers.

Reading order: `codec.py` (Kafka's messages), `apis.py` (which are served), `batches.py`, `world.py`
(the partitions behind the front), `topics.py`; `requests.py`, `core.py` with `metadata.py`,
`data.py`, `sessions.py` (bytes that arrive to bytes that leave); `logs.py` (what coordinators
keep), `classic.py` and `members.py` (groups), `groups.py`, `producers.py` and `transactions.py`,
`offsets.py`; `settings.py`, `security.py`; `cluster.py`; `tape.py` (what arrived, and replay),
`faults.py` and `plans.py`, `judging.py`, `front.py` (sockets), `admin.py` (faults by hand),
`plugin.py` (pytest fixtures). docs/serve.md says what it is for,
docs/reference/serve.md what is not served.
"""
