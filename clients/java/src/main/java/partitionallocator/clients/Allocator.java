package partitionallocator.clients;

import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.security.ssl.DefaultSslEngineFactory;

/** The service, asked once: no redirects, no second try, no longer an answer than one can be. */
final class Allocator {
    private static final String HEADER = "\"topic_name\",\"partition_id\",\"member_id\"\n";

    private static final Map<Map<String, Object>, HttpClient> CLIENTS = new ConcurrentHashMap<>(); // by their TLS: each has threads

    private final RemoteAssignorConfig config;

    Allocator(RemoteAssignorConfig config) {
        this.config = config;
    }

    /** Member → partitions, as the service says; nothing of it is checked. */
    Map<String, List<TopicPartition>> assign(Group group, Weights weights) throws IOException, InterruptedException, BadAnswer {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(config.url() + "/v1/group-assignments"))
                .timeout(config.deadline())
                .header("Content-Type", "application/json")
                .header("Accept", "text/csv")
                .POST(HttpRequest.BodyPublishers.ofString(Body.of(group, weights, config)));
        token().ifPresent(token -> request.header("Authorization", "Bearer " + token));
        HttpResponse<InputStream> response = client().send(request.build(), HttpResponse.BodyHandlers.ofInputStream());
        try (InputStream body = response.body()) {
            if (response.statusCode() != 200) {
                throw new BadAnswer(Outcome.STATUS, "status " + response.statusCode());
            }
            int most = longestAnswer(group);
            byte[] read = body.readNBytes(most + 1);
            if (read.length > most) {
                throw new BadAnswer(Outcome.UNREADABLE, "the answer is longer than " + most + " bytes");
            }
            return partitions(new String(read, StandardCharsets.UTF_8));
        }
    }

    private Optional<String> token() throws IOException {
        if (config.tokenFile().isPresent()) { // anew each time: tokens are renewed
            return Optional.of(Files.readString(Path.of(config.tokenFile().get())).strip());
        }
        return config.token();
    }

    private HttpClient client() {
        return CLIENTS.computeIfAbsent(config.ssl(), ssl -> {
            HttpClient.Builder builder =
                    HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).followRedirects(HttpClient.Redirect.NEVER);
            if (!ssl.isEmpty()) {
                DefaultSslEngineFactory factory = new DefaultSslEngineFactory();
                factory.configure(ssl);
                builder.sslContext(factory.sslContext());
            }
            return builder.build();
        });
    }

    private static int longestAnswer(Group group) {
        int topic = group.topics().keySet().stream().mapToInt(Allocator::longest).max().orElse(0);
        int member = group.members().stream().mapToInt(Allocator::longest).max().orElse(0);
        long rows = (long) group.partitions().size() * (topic + member + 20L);
        return (int) Math.min(HEADER.length() + rows, Integer.MAX_VALUE - 1L);
    }

    /** Bytes of a name in CSV: its quotes are doubled. */
    private static int longest(String name) {
        return 2 * name.getBytes(StandardCharsets.UTF_8).length;
    }

    private static Map<String, List<TopicPartition>> partitions(String csv) throws BadAnswer {
        if (!csv.startsWith(HEADER)) {
            throw new BadAnswer(Outcome.UNREADABLE, "the answer is not the CSV of a group's assignment");
        }
        Map<String, List<TopicPartition>> partitions = new HashMap<>();
        Csv rows = new Csv(csv, HEADER.length());
        try {
            while (rows.hasNext()) {
                String topic = rows.field(',');
                int id = Integer.parseInt(rows.field(','));
                partitions.computeIfAbsent(rows.field('\n'), member -> new ArrayList<>()).add(new TopicPartition(topic, id));
            }
        } catch (IllegalArgumentException e) {
            throw new BadAnswer(Outcome.UNREADABLE, e.getMessage());
        }
        return partitions;
    }

    /** The service has answered, but not with an assignment. */
    static final class BadAnswer extends Exception {
        private static final long serialVersionUID = 1L;

        private final Outcome outcome;

        BadAnswer(Outcome outcome, String message) {
            super(message);
            this.outcome = outcome;
        }

        Outcome outcome() {
            return outcome;
        }
    }
}
