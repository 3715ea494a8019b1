"""What a run of a cluster needs where replicas move: steps that were taken before, and who asks."""
