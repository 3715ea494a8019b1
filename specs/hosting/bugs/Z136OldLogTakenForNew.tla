------------------------ MODULE Z136OldLogTakenForNew ------------------------
(* Z136 (KAFKA-14616): a log is stray by its name only, not by its topic id.*)
EXTENDS HostingRules

Z136_IsStray(log, image) ==
  ~image.assigned
==============================================================================
