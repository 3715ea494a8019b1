---------------------- MODULE Z300PromotedOnceCaughtUp ----------------------
(* Z300: a future log is promoted because it was caught up once.            *)
EXTENDS HostingRules

Z300_PromotesFuture(row) == row.futureAssigned
=============================================================================
