// Asks for the removal of a voter once it is told to, so that no time passes while it starts.
//
//     java -cp 'libs/*' Remove.java CONTROLLER NUMBER DIRECTORY
//
// For each line of input a removal is asked for, and a line of JSON says so. Another line of input,
// and it says what became of it: the name of an error, or nothing.

import java.util.Map;
import java.util.Scanner;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.Uuid;

public class Remove {
    public static void main(String[] args) throws Exception {
        Scanner steps = new Scanner(System.in);
        Map<String, Object> settings = Map.of(
            "bootstrap.controllers", args[0], "request.timeout.ms", "10000", "default.api.timeout.ms", "20000");
        try (Admin admin = Admin.create(settings)) {
            admin.describeMetadataQuorum().quorumInfo().get();
            System.out.println("{\"ready\":true}");
            while (steps.hasNextLine()) {
                steps.nextLine();
                var asked = admin.removeRaftVoter(Integer.parseInt(args[1]), Uuid.fromString(args[2])).all();
                System.out.println("{\"asked\":true}");
                steps.nextLine();
                System.out.println("{\"error\":\"" + became(asked) + "\"}");
            }
        }
    }

    private static String became(KafkaFuture<Void> asked) throws InterruptedException {
        try {
            asked.get();
            return "";
        } catch (ExecutionException error) {
            return error.getCause().getClass().getSimpleName();
        }
    }
}
