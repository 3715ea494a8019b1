// QuorumController of Apache Kafka over a log that is a list: what it answers, and when.
//
//     java -cp 'libs/*' ActiveControllers.java FILE
//
// FILE has a line for each event: `new`, `write` and `read` (a request with or without records),
// `commit END EPOCH DATA` (a record is committed, that of a decision if DATA is 1), `claim EPOCH END`,
// `renounce EPOCH`. A line of JSON for each: which requests were answered, in which epoch the controller
// is active, and where it expects the log to end.

import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.AbstractMap.SimpleEntry;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.AlterConfigOp.OpType;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.NotControllerException;
import org.apache.kafka.common.message.LeaderChangeMessage;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.metadata.ConfigRecord;
import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.controller.ControllerRequestContext;
import org.apache.kafka.controller.QuorumController;
import org.apache.kafka.controller.QuorumFeatures;
import org.apache.kafka.metadata.bootstrap.BootstrapMetadata;
import org.apache.kafka.raft.Batch;
import org.apache.kafka.raft.BatchReader;
import org.apache.kafka.raft.ControlRecord;
import org.apache.kafka.raft.LeaderAndEpoch;
import org.apache.kafka.raft.RaftClient;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.KRaftVersion;
import org.apache.kafka.server.common.MetadataVersion;

public class ActiveControllers {
    private static final int NODE = 1;
    private static final ConfigResource DEFAULTS = new ConfigResource(ConfigResource.Type.BROKER, "");
    private static final String CONFIG = "log.retention.ms";
    private static final ControllerRequestContext CONTEXT = new ControllerRequestContext(
        new RequestHeaderData(), KafkaPrincipal.ANONYMOUS, OptionalLong.empty());

    /** Offset 0 has the metadata version, so record n of the protocol is at offset n. */
    private long next = 1;
    private int asked;
    private RaftClient.Listener<ApiMessageAndVersion> listener;
    private final Map<Integer, CompletableFuture<?>> waiting = new TreeMap<>();
    private final QuorumController controller;

    @SuppressWarnings("unchecked")
    private ActiveControllers() throws Exception {
        RaftClient<ApiMessageAndVersion> raft = (RaftClient<ApiMessageAndVersion>) Proxy.newProxyInstance(
            getClass().getClassLoader(), new Class<?>[] {RaftClient.class}, (proxy, method, given) ->
                switch (method.getName()) {
                    case "register" -> {
                        listener = (RaftClient.Listener<ApiMessageAndVersion>) given[0];
                        yield null;
                    }
                    case "prepareAppend" -> (next += ((List<?>) given[1]).size()) - 1;
                    case "logEndOffset" -> next;
                    case "leaderAndEpoch" -> LeaderAndEpoch.UNKNOWN;
                    case "kraftVersion" -> KRaftVersion.KRAFT_VERSION_0;
                    case "nodeId" -> OptionalInt.of(NODE);
                    case "highWatermark" -> OptionalLong.empty();
                    case "toString" -> "raft";
                    default -> null;
                });
        controller = new QuorumController.Builder(NODE, "cluster").setRaftClient(raft)
            .setQuorumFeatures(new QuorumFeatures(
                NODE, QuorumFeatures.defaultSupportedFeatureMap(true), List.of(NODE)))
            .setBootstrapMetadata(BootstrapMetadata.fromVersion(MetadataVersion.latestProduction(), "here"))
            .setFatalFaultHandler(ActiveControllers::failed).setNonFatalFaultHandler(ActiveControllers::failed)
            .build();
        commit(Batch.data(0, 0, 0, 1, List.of(message(new FeatureLevelRecord().setName(MetadataVersion.FEATURE_NAME)
            .setFeatureLevel(MetadataVersion.latestProduction().featureLevel())))));
    }

    private static RuntimeException failed(String message, Throwable cause) {
        throw new IllegalStateException(message, cause);
    }

    private static ApiMessageAndVersion message(org.apache.kafka.common.protocol.ApiMessage record) {
        return new ApiMessageAndVersion(record, (short) 0);
    }

    private void commit(Batch<ApiMessageAndVersion> batch) {
        Iterator<Batch<ApiMessageAndVersion>> batches = List.of(batch).iterator();
        listener.handleCommit(new BatchReader<>() {
            public boolean hasNext() {
                return batches.hasNext();
            }

            public Batch<ApiMessageAndVersion> next() {
                return batches.next();
            }

            public long baseOffset() {
                return batch.baseOffset();
            }

            public OptionalLong lastOffset() {
                return OptionalLong.of(batch.lastOffset());
            }

            public void close() {
            }
        });
    }

    private void ask(boolean writes) {
        String value = Integer.toString(1000 + ++asked);
        waiting.put(asked, controller.incrementalAlterConfigs(CONTEXT,
            Map.of(DEFAULTS, Map.of(CONFIG, new SimpleEntry<>(OpType.SET, value))), !writes, false));
    }

    private void committed(long end, int epoch, boolean data) {
        ConfigRecord record = new ConfigRecord().setResourceType(DEFAULTS.type().id()).setResourceName("")
            .setName(CONFIG).setValue(Long.toString(end));
        commit(data ? Batch.data(end, epoch, 0, 1, List.of(message(record)))
            : Batch.control(end, epoch, 0, 1, List.of(ControlRecord.of(new LeaderChangeMessage()))));
    }

    private void leads(int epoch, OptionalInt leader) {
        listener.handleLeaderChange(new LeaderAndEpoch(leader, epoch));
    }

    private String said() throws Exception {
        controller.findAllTopicIds(CONTEXT).get();  // All events before it were handled.
        List<String> answers = new ArrayList<>();
        for (Iterator<Map.Entry<Integer, CompletableFuture<?>>> it = waiting.entrySet().iterator(); it.hasNext();) {
            Map.Entry<Integer, CompletableFuture<?>> each = it.next();
            if (each.getValue().isDone()) {
                answers.add("[" + each.getKey() + ", \"" + error(each.getValue()) + "\"]");
                it.remove();
            }
        }
        int epoch = controller.curClaimEpoch();
        return "{\"answers\": " + answers + ", \"epoch\": " + epoch + ", \"end\": " + (next - 1) + "}";
    }

    private static String error(CompletableFuture<?> answer) throws InterruptedException {
        try {
            answer.get();
            return "NONE";
        } catch (ExecutionException error) {
            return error.getCause() instanceof NotControllerException ? "NOT_CONTROLLER" : error.toString();
        }
    }

    public static void main(String[] given) throws Exception {
        ActiveControllers at = null;
        for (String line : Files.readAllLines(Path.of(given[0]))) {
            String[] words = line.split(" ");
            if (words[0].equals("new")) {
                if (at != null) {
                    at.controller.close();
                }
                at = new ActiveControllers();
            } else if (words[0].equals("commit")) {
                at.committed(Long.parseLong(words[1]), Integer.parseInt(words[2]), words[3].equals("1"));
            } else if (words[0].equals("claim")) {
                at.next = Long.parseLong(words[2]) + 1;
                at.leads(Integer.parseInt(words[1]), OptionalInt.of(NODE));
            } else if (words[0].equals("renounce")) {
                at.leads(Integer.parseInt(words[1]), OptionalInt.empty());
            } else {
                at.ask(words[0].equals("write"));
            }
            System.out.println(at.said());
        }
        System.exit(0);
    }
}
