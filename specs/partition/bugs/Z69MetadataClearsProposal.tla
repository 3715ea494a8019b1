---------------------- MODULE Z69MetadataClearsProposal ----------------------
(* Z69: metadata with the partition epoch that an answer has brought before *)
(* clears the next proposal, which may be on its way.  Kafka does this.     *)
EXTENDS PartitionRules

Z69_ClearsPending(row, partition) == TRUE
==============================================================================
