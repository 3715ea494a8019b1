@Override
public Properties createLogProperties(Map<String, String> overrides) {
    Properties properties = super.createLogProperties(overrides);
    properties.put(TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG, "MIN_ISR");
    return properties;
}

private void setBroker(int id, long epoch, boolean fenced, boolean shuttingDown) {
    when(metadataCache().getAliveBrokerEpoch(id))
        .thenReturn(fenced ? Optional.empty() : Optional.of(epoch));
    when(metadataCache().isBrokerFenced(id)).thenReturn(fenced);
    when(metadataCache().isBrokerShuttingDown(id)).thenReturn(shuttingDown);
}

private void setPartition(
    int leader,
    int leaderEpoch,
    int partitionEpoch,
    LeaderRecoveryState recoveryState,
    int... isr
) {
    int[] replicas = {ALL};
    PartitionRegistration registration = new PartitionRegistration.Builder()
        .setLeader(leader)
        .setLeaderEpoch(leaderEpoch)
        .setPartitionEpoch(partitionEpoch)
        .setLeaderRecoveryState(recoveryState)
        .setIsr(isr)
        .setReplicas(replicas)
        .setDirectories(DirectoryId.unassignedArray(replicas.length))
        .build();
    if (leader == brokerId()) {
        partition().makeLeader(
            registration, false, offsetCheckpoints(), topicId(), Option.empty());
    } else {
        partition().makeFollower(
            registration, false, offsetCheckpoints(), topicId(), Option.empty());
    }
}
