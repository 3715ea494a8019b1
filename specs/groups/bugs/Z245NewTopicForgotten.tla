----------------------- MODULE Z245NewTopicForgotten ------------------------
(* Z245 (a mutant): a deletion of a topic removes offsets that were         *)
(* committed to the new topic of its name (G36).                            *)
EXTENDS GroupRules

Z245_GoesWithTopic(each) == TRUE
=============================================================================
