----------------------------- MODULE MCControllers -----------------------------
(***************************************************************************)
(* Controllers: the bounds are constants of the protocol.                   *)
(***************************************************************************)
EXTENDS ControllerProperties, TLC

Symmetry == Permutations(Controllers)

MCSpec == Init /\ [][Next]_vars

(* What must be reached.                                                    *)
NoDeposedReadProbe ==
  \A a \in Successes : a.writes \/ (\A n \in Controllers : controllers[n].epoch <= a.epoch)
NoFailedDecisionProbe ==
  \A a \in clients.answers : a.error = "NONE" \/
    \A i \in DOMAIN log.records :
      log.records[i].controller # a.controller \/ log.records[i].operation # a.operation
=============================================================================
