---------------------------- MODULE StepValues ----------------------------
(* Recorded steps as values. TLC replaces both operators by the methods of *)
(* StepValues.class. Without that class, SB_Loaded is false, which a batch *)
(* assumes to be true: no step is judged.                                  *)

SB_Loaded(SB_checksum, SB_count) == FALSE
SB_step(SB_i) == CHOOSE SB_none \in {} : TRUE
============================================================================
