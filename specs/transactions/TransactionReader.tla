-------------------------- MODULE TransactionReader --------------------------
(***************************************************************************)
(* A consumer that reads every partition from its beginning, with one of    *)
(* the two isolation levels (X17, X18).                                     *)
(*                                                                          *)
(*   read   for each partition: position, how many records it has got past; *)
(*          shown, which of them its application has seen: markers never    *)
(***************************************************************************)
EXTENDS TransactionRules

CONSTANTS
  ReadCommitted,     \* the readers with isolation.level=read_committed
  ReadUncommitted    \* those with read_uncommitted

Readers == ReadCommitted \cup ReadUncommitted
Isolation(r) == IF r \in ReadCommitted THEN "read_committed" ELSE "read_uncommitted"

InitialReader == [read |-> [p \in Partitions |-> [position |-> 0, shown |-> {}]]]

(* ACTION HandleFetched                                                     *)
(* WHO    a reader                                                          *)
(* WHAT   It adopts the records that follow its position, and drops aborted *)
(*        ones. `read` belongs to the partition whose leader sent m. A      *)
(*        response for another position answers an earlier request, and is  *)
(*        ignored (X18).                                                    *)
Step_HandleFetched(read, m) ==
  LET got == m.offset + 1 .. m.offset + Len(m.records)
      seen == {i \in got : m.records[i - m.offset].kind = "Batch" /\ ~IsDropped(m.aborted, i)}
  IN IF m.offset # read.position \/ got = {} THEN {}
     ELSE {[position |-> m.offset + Len(m.records), shown |-> read.shown \cup seen]}
=============================================================================
