------------------------ MODULE TransactionOutcomes -------------------------
(***************************************************************************)
(* The purpose of transactions: each is decided once and as a whole. A      *)
(* reader of committed data sees a partition up to the first undecided      *)
(* record, without aborted ones. There are no coordinators, producers,      *)
(* epochs, markers or messages. Transactions refines this module            *)
(* (MCTransactionOutcomes, checked by TLC).                                 *)
(***************************************************************************)
EXTENDS Integers, Sequences

CONSTANTS
  Txns,         \* names of transactions
  Partitions

VARIABLES
  decision,     \* decision[t]: "None", "Commit" or "Abort"
  written,      \* written[p]: of each record of p the transaction, or NoTxn
  passed,       \* passed[p]: of each that readers got past, as what it was taken
  answered      \* <<t, decision>> that producers received

NoTxn == 0      \* of a control record

Begins(short, long) == Len(short) <= Len(long) /\ SubSeq(long, 1, Len(short)) = short
Added(old, new) == (Len(old) + 1)..Len(new)

Init ==
  /\ decision = [t \in Txns |-> "None"]
  /\ written = [p \in Partitions |-> <<>>]
  /\ passed = [p \in Partitions |-> <<>>]
  /\ answered = {}

(* A transaction is decided once.                                           *)
Decide ==
  \A t \in Txns :
    IF decision[t] = "None" THEN decision'[t] \in {"None", "Commit", "Abort"}
                            ELSE decision'[t] = decision[t]

(* Nothing comes to a transaction that is committed.                        *)
Write ==
  \A p \in Partitions :
    /\ Begins(written[p], written'[p])
    /\ \A i \in Added(written[p], written'[p]) :
         written'[p][i] # NoTxn => decision[written'[p][i]] # "Commit"

(* Readers pass decided records, and the decision never changes.            *)
Read ==
  \A p \in Partitions :
    /\ Begins(passed[p], passed'[p])
    /\ Len(passed'[p]) <= Len(written'[p])
    /\ \A i \in Added(passed[p], passed'[p]) :
         LET t == written'[p][i]
         IN t # NoTxn => passed'[p][i] \in {"Commit", "Abort"} /\ passed'[p][i] = decision'[t]

(* A producer receives the decision.                                        *)
Tell ==
  /\ answered \subseteq answered'
  /\ \A a \in answered' \ answered : decision'[a[1]] = a[2]

Step == Decide /\ Write /\ Read /\ Tell

Spec == Init /\ [][Step]_<<decision, written, passed, answered>>
=============================================================================
