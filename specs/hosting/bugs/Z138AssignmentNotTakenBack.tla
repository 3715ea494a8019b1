--------------------- MODULE Z138AssignmentNotTakenBack ----------------------
(* Z138 (KAFKA-16297): nobody is told that a replica did not move after all.*)
EXTENDS HostingRules

Z138_TakesBackAssignment(row) ==
  FALSE
==============================================================================
