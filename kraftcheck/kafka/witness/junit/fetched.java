/**
 * Answers the fetch that was sent to this node. Fetches that the voter sent elsewhere, before it
 * knew the leader, fail.
 */
private static void deliverFetchResponse(
    RaftClientTestContext context,
    int source,
    FetchResponseData response
) throws Exception {
    context.pollUntil(() -> {
        boolean delivered = false;
        for (RaftRequest.Outbound request : context.channel.drainSentRequests(Optional.of(ApiKeys.FETCH))) {
            delivered = request.destination().id() == source;
            context.deliverResponse(request.correlationId(), request.destination(), delivered
                ? response : RaftUtil.errorResponse(ApiKeys.FETCH, Errors.BROKER_NOT_AVAILABLE));
        }
        return delivered;
    });
    context.pollUntil(context.messageQueue::isEmpty);
}
