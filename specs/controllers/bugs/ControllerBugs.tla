---------------------------- MODULE ControllerBugs -----------------------------
(* Known bugs, by the numbers of bugs.toml in the reference. Each operator  *)
(* of a bug has the name of the operator that it replaces, and the number.  *)
EXTENDS ControllerRules

(* Z460: the log takes decisions of a deposed controller.                   *)
Z460_AcceptsAppend(row, epoch) == TRUE

(* Z461: a request without records does not wait for what it has seen.      *)
Z461_WaitsFor(row) == 0

(* Z462: a decision is answered before it is committed.                     *)
Z462_DefersRecords(row) == FALSE

(* Z463: deferred requests are answered one record too early.               *)
Z463_IsComplete(deferred, committed) == deferred.end <= committed + 1

(* Z464: a deposed controller keeps what was not committed.                 *)
Z464_RevertsOnRenounce(row) == FALSE

(* Z465: a deposed controller keeps its deferred requests.                  *)
Z465_FailsOnRenounce(row) == FALSE
=============================================================================
