----------------------- MODULE GuardOfNextEpochSpared ------------------------
(* What would mend Z188: a late batch of a transaction that is being        *)
(* aborted leaves the guard that the next one's batches wait under (X13).   *)
EXTENDS TransactionPartition

Spared_WithBatch(row, m) ==
  LET spares == EpochPerTransaction /\ row.guard > m.epoch
      others == {v \in row.verifying : v.request # m}
  IN Showing(
    [row EXCEPT
       !.log = Append(@, BatchRecord(m)),
       !.producer.epoch = m.epoch,
       !.producer.sequence = m.sequence + 1,
       !.producer.open = TRUE,
       !.guard = IF spares THEN @ ELSE Unknown,
       !.verifying = IF spares THEN others ELSE Outdated(others),
       !.offsets = WithSent(@, m)])
=============================================================================
