----------------------- MODULE Z146EpochZeroForgotten -----------------------
(* Z146 (KAFKA-10432): recovery notes no epoch 0.                          *)
EXTENDS StorageRules

Z146_AssignsEpoch(epoch, latest) == epoch > MaxOf(latest, 0)
=============================================================================
