------------------------ MODULE MCReassignmentMinIsr ------------------------
(***************************************************************************)
(* As MCReassignment, and an administrator sets min.insync.replicas.        *)
(***************************************************************************)
EXTENDS MCReassignment

CONSTANTS
  MinIsrs,       \* to what it is set
  MaxMinIsrs     \* how often

VARIABLE settings   \* how often it was

minIsrVars == <<controller, holders, spent, settings>>
MinIsrView == <<View, settings>>

Set ==
  /\ settings < MaxMinIsrs /\ settings' = settings + 1 /\ UNCHANGED spent
  /\ \E minIsr \in MinIsrs :
       Becomes(Step_HandleChangeMinIsr(0, controller, [minIsr |-> minIsr]))
  /\ controller' # controller
  /\ holders' = HoldersAfter(controller, controller', holders)

MinIsrInit == MCInit /\ settings = 0
MinIsrNext == Set \/ (MCNext /\ UNCHANGED settings)

MinIsrSpec == MinIsrInit /\ [][MinIsrNext]_minIsrVars

-----------------------------------------------------------------------------
(* A probe that must be violated: an ELR is emptied by a change.            *)

NoEmptiedElrProbe ==
  [][~(settings' # settings /\ controller.partitions[1].elr # {})]_minIsrVars
=============================================================================
