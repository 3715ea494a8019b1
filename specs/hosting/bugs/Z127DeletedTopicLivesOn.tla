----------------------- MODULE Z127DeletedTopicLivesOn -----------------------
(* Z127 (KAFKA-14894): a snapshot does not tell which topics are gone.      *)
EXTENDS HostingRules

Z127_IsOfDeletedTopic(row, bySnapshot) ==
  ~bySnapshot /\ row.replica.topicId # row.image.topicId
==============================================================================
