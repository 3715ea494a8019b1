----------------------- MODULE MCTransactionsPipelined -----------------------
(***************************************************************************)
(* Producers that send a further batch to a partition before the last one   *)
(* is answered (max.in.flight.requests.per.connection).                     *)
(***************************************************************************)
EXTENDS MCTransactions

More ==
  \E c \in Clients, p \in Partitions : Paid("moreOffsets", MaxMoreOffsets, SendMore(c, p))

(* With version 1 the requests of a connection arrive in order: a partition *)
(* that knows nothing of the producer takes any batch for the next one.     *)
InOrder ==
  \A p \in Partitions : \A v \in partitions'[p].verifying :
    LET isBefore(sequence) == sequence + 1 = v.request.sequence IN
    \/ v.request.sequence = 0
    \/ \E w \in partitions'[p].verifying : isBefore(w.request.sequence)
    \/ \E i \in 1..Len(partitions'[p].log) : isBefore(partitions'[p].log[i].sequence)

MPNext ==
  /\ MCNext \/ (More /\ HistoryNext)
  /\ Version = 1 => InOrder

MPSpec == MCInit /\ [][MPNext]_mcVars
=============================================================================
