---------------------------- MODULE CommittedLog ----------------------------
(***************************************************************************)
(* What a replicated log is for: the committed prefix only grows, and what  *)
(* any node believes to be committed is a prefix of it.  No roles, epochs   *)
(* or messages.  KRaftElection refines this module (checked by TLC as a     *)
(* property of its models), and the partition's models build on it: a       *)
(* broker reads the committed metadata records in order.                    *)
(***************************************************************************)
EXTENDS ReplicaLog

CONSTANT Nodes

VARIABLES
  committed,   \* the records that are committed, for ever
  known        \* known[n]: the prefix that node n knows to be committed

Init == committed = <<>> /\ known = [n \in Nodes |-> <<>>]

(* The committed prefix grows or stays; a node learns more of it, or        *)
(* forgets what it knew (a restart), and never believes anything else.      *)
Step ==
  /\ IsPrefixOf(committed, committed')
  /\ \A n \in Nodes :
       /\ IsPrefixOf(known'[n], committed')
       /\ IsPrefixOf(known[n], known'[n]) \/ known'[n] = <<>>

Spec == Init /\ [][Step]_<<committed, known>>
=============================================================================
