import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupAssignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.RebalanceProtocol;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.coordinator.common.runtime.CoordinatorMetadataImage;
import org.apache.kafka.coordinator.group.api.assignor.PartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;
import org.apache.kafka.coordinator.group.generated.ConsumerGroupTargetAssignmentMemberValue;
import org.apache.kafka.coordinator.group.modern.GroupSpecImpl;
import org.apache.kafka.coordinator.group.modern.MemberSubscriptionAndAssignmentImpl;
import org.apache.kafka.coordinator.group.modern.TopicIds;
import org.apache.kafka.timeline.SnapshotRegistry;
import org.apache.kafka.timeline.TimelineHashMap;

/**
 * Times one real assignor's assign(), its input prepared as the group leader or coordinator does. In, one a line: {"group": the
 * topics and members of a body of POST /v1/group-assignments, "owning": do members own what the first group's assignment gave
 * them?, "seconds": how long to measure, "memory": false}. Out, for each: {"median_s", "runs", "fingerprint" of the answer}, or
 * with "memory": true {"live_bytes"}, what the prepared group and assign() together keep alive at the same time, at most.
 *
 * TimeAssignors CLASS, that of a ConsumerPartitionAssignor or of a coordinator's PartitionAssignor.
 */
public final class TimeAssignors {
    private static final ObjectMapper JSON = new ObjectMapper();

    /** One assignor on one group. */
    private interface Run {
        void prepare();

        Object assign();

        /** Member → (topic, partition_id), from what assign() gave. */
        Map<String, List<TopicPartition>> read(Object answer);
    }

    /** The first group's assignment. */
    private static Map<String, List<TopicPartition>> first;

    /** What assign() gave last. */
    private static volatile Object answer;

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        System.setOut(System.err);  // where the assignors' log goes
        Object assignor = Class.forName(args[0]).getDeclaredConstructor().newInstance();
        out.println("{}");
        out.flush();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode question = JSON.readTree(line);
            line = null;
            JsonNode group = question.get("group");
            Map<String, List<TopicPartition>> owned = question.get("owning").asBoolean() ? first : Map.of();
            answer = null;
            long before = question.get("memory").asBoolean() ? live() : 0;
            Run run = assignor instanceof PartitionAssignor server ? coordinator(server, group, owned)
                : leader((ConsumerPartitionAssignor) assignor, group, owned);
            out.println(JSON.writeValueAsString(question.get("memory").asBoolean() ? memory(run, before)
                : time(run, group, question.get("seconds").asDouble())));
            out.flush();
        }
    }

    /** Warm-up for the given time and at most 300 runs, then as long again and at most 51; a run that is longer counts itself. */
    private static Map<String, Object> time(Run run, JsonNode group, double seconds) {
        List<Double> times = new ArrayList<>();
        double once = 0;
        int runs = 0;
        for (double spent = 0; spent < seconds && runs < 300; runs++) spent += once = once(run);
        System.gc();
        if (once >= seconds) times.add(once);
        else for (double spent = 0; spent < seconds && times.size() < 51; spent += once) times.add(once = once(run));
        double[] sorted = times.stream().mapToDouble(x -> x).sorted().toArray();
        Map<String, List<TopicPartition>> read = run.read(answer);
        if (first == null) first = read;
        return Map.of("median_s", sorted[sorted.length / 2], "runs", sorted.length, "fingerprint",
            Long.toUnsignedString(fingerprint(group, read)));
    }

    private static double once(Run run) {
        answer = null;
        run.prepare();
        long start = System.nanoTime();
        answer = run.assign();
        return (System.nanoTime() - start) / 1e9;
    }

    /** What has come alive since before the group was made: by collecting garbage again and again while assign() runs, and after. */
    private static Map<String, Object> memory(Run run, long before) throws InterruptedException {
        run.prepare();
        Thread work = new Thread(() -> answer = run.assign());
        long most = before, pause = 10;
        work.start();
        while (work.isAlive()) {
            work.join(pause);
            long start = System.nanoTime();
            most = Math.max(most, live());
            pause = Math.max(10, (System.nanoTime() - start) / 1_000_000);
        }
        return Map.of("live_bytes", Math.max(most, live()) - before);
    }

    private static long live() {
        System.gc();
        return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
    }

    /** A sum over all pairs of member and partition, as numbered in the request; benchmarks/groups.py has the same. */
    private static long fingerprint(JsonNode group, Map<String, List<TopicPartition>> answer) {
        Map<String, Integer> starts = new HashMap<>();
        int end = 0;
        for (JsonNode topic : group.get("topics")) {
            starts.put(topic.get("topic_name").asText(), end);
            end += topic.get("partitions_count").asInt();
        }
        long sum = 0, number = 0;
        for (JsonNode member : group.get("members")) {
            for (TopicPartition p : answer.getOrDefault(member.get("member_id").asText(), List.of())) {
                long pair = ((number << 32) + starts.get(p.topic()) + p.partition() + 1) * 0x9E3779B97F4A7C15L;
                sum += (pair ^ pair >>> 32) * 0xD6E8FEB86659FD93L;
            }
            number++;
        }
        return sum;
    }

    private static List<String> topicNames(JsonNode member, JsonNode group) {
        List<String> names = new ArrayList<>();
        if (member.hasNonNull("topic_names")) member.get("topic_names").forEach(name -> names.add(name.asText()));
        else group.get("topics").forEach(topic -> names.add(topic.get("topic_name").asText()));
        return names;
    }

    // ---- the classic protocol: ConsumerCoordinator.metadata on each member, onLeaderElected on the leader --------------------

    private static Run leader(ConsumerPartitionAssignor assignor, JsonNode group, Map<String, List<TopicPartition>> owned) {
        Node broker = new Node(0, "broker-0", 9092);
        Node[] replicas = {broker};
        List<PartitionInfo> partitions = new ArrayList<>();
        for (JsonNode topic : group.get("topics"))
            for (int id = 0; id < topic.get("partitions_count").asInt(); id++)
                partitions.add(new PartitionInfo(topic.get("topic_name").asText(), id, broker, replicas, replicas));
        Cluster cluster = new Cluster("cluster", List.of(broker), partitions, Set.of(), Set.of());
        boolean cooperative = assignor.supportedProtocols().contains(RebalanceProtocol.COOPERATIVE);
        Map<String, ByteBuffer> wire = new LinkedHashMap<>();
        for (JsonNode member : group.get("members")) {
            String id = member.get("member_id").asText();
            List<TopicPartition> mine = owned.getOrDefault(id, List.of());
            List<String> topics = topicNames(member, group);
            int generation = owned.containsKey(id) ? 1 : -1;
            ConsumerPartitionAssignor theirs = create(assignor);
            if (generation > 0)
                theirs.onAssignment(new Assignment(mine), new ConsumerGroupMetadata("group", generation, id, Optional.empty()));
            wire.put(id, ConsumerProtocol.serializeSubscription(new Subscription(topics,
                theirs.subscriptionUserData(new HashSet<>(topics)), cooperative ? mine : List.of(), generation, Optional.empty())));
        }
        return new Run() {
            private ConsumerPartitionAssignor fresh;
            private GroupSubscription subscriptions;

            public void prepare() {
                fresh = create(assignor);
                Map<String, Subscription> read = new HashMap<>();
                wire.forEach((id, bytes) -> read.put(id, ConsumerProtocol.deserializeSubscription(bytes.duplicate())));
                subscriptions = new GroupSubscription(read);
            }

            public Object assign() { return fresh.assign(cluster, subscriptions); }

            public Map<String, List<TopicPartition>> read(Object answer) {
                Map<String, List<TopicPartition>> rows = new HashMap<>();
                ((GroupAssignment) answer).groupAssignment().forEach((id, one) -> rows.put(id, one.partitions()));
                return rows;
            }
        };
    }

    private static ConsumerPartitionAssignor create(ConsumerPartitionAssignor like) {
        try {
            return like.getClass().getDeclaredConstructor().newInstance();
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    // ---- the consumer and share protocols: TargetAssignmentBuilder.build ---------------------------------------------------------

    private static Run coordinator(PartitionAssignor assignor, JsonNode group, Map<String, List<TopicPartition>> owned) {
        Map<String, Uuid> ids = new HashMap<>();
        Map<Uuid, String> names = new HashMap<>();
        Map<Uuid, Integer> counts = new HashMap<>();
        for (JsonNode topic : group.get("topics")) {
            Uuid id = Uuid.fromString(topic.get("topic_id").asText());
            ids.put(topic.get("topic_name").asText(), id);
            names.put(id, topic.get("topic_name").asText());
            counts.put(id, topic.get("partitions_count").asInt());
        }
        TopicIds.TopicResolver resolver = new TopicIds.TopicResolver() {
            public Uuid id(String name) { return ids.get(name); }

            public String name(Uuid id) { return names.get(id); }

            public CoordinatorMetadataImage image() { throw new UnsupportedOperationException(); }

            public void clear() { }
        };
        SubscribedTopicDescriber describer = new SubscribedTopicDescriber() {
            public int numPartitions(Uuid id) { return counts.getOrDefault(id, -1); }

            public Set<String> racksForPartition(Uuid id, int partition) { return Set.of(); }
        };
        TimelineHashMap<String, String> members = new TimelineHashMap<>(new SnapshotRegistry(new LogContext()), 0);
        Map<String, Set<String>> subscriptions = new HashMap<>();
        Map<String, org.apache.kafka.coordinator.group.modern.Assignment> targets = new HashMap<>();
        Map<Uuid, Map<Integer, String>> inverted = new HashMap<>();
        for (JsonNode member : group.get("members")) {
            String id = member.get("member_id").asText();
            members.put(id, id);
            subscriptions.put(id, new HashSet<>(topicNames(member, group)));
            Map<String, List<Integer>> byTopic = new TreeMap<>();
            for (TopicPartition p : owned.getOrDefault(id, List.of())) {
                byTopic.computeIfAbsent(p.topic(), topic -> new ArrayList<>()).add(p.partition());
                inverted.computeIfAbsent(ids.get(p.topic()), topic -> new HashMap<>()).put(p.partition(), id);
            }
            var record = new ConsumerGroupTargetAssignmentMemberValue();
            byTopic.forEach((topic, partitions) -> record.topicPartitions().add(
                new ConsumerGroupTargetAssignmentMemberValue.TopicPartition().setTopicId(ids.get(topic))
                    .setPartitions(partitions.stream().sorted().toList())));
            targets.put(id, org.apache.kafka.coordinator.group.modern.Assignment.fromRecord(record));
        }
        SubscriptionType type = new HashSet<>(subscriptions.values()).size() <= 1 ? SubscriptionType.HOMOGENEOUS : SubscriptionType.HETEROGENEOUS;
        return new Run() {
            private GroupSpecImpl spec;

            public void prepare() {
                Map<String, MemberSubscriptionAndAssignmentImpl> specs = new HashMap<>();
                members.forEach((id, same) -> specs.put(id, new MemberSubscriptionAndAssignmentImpl(Optional.empty(),
                    Optional.empty(), new TopicIds(subscriptions.get(id), resolver), targets.get(id))));
                spec = new GroupSpecImpl(specs, type, inverted);
            }

            public Object assign() { return assignor.assign(spec, describer); }

            public Map<String, List<TopicPartition>> read(Object answer) {
                Map<String, List<TopicPartition>> rows = new HashMap<>();
                ((org.apache.kafka.coordinator.group.api.assignor.GroupAssignment) answer).members().forEach((id, one) -> {
                    List<TopicPartition> row = new ArrayList<>();
                    one.partitions().forEach((topic, partitions) ->
                        partitions.forEach(p -> row.add(new TopicPartition(names.get(topic), p))));
                    rows.put(id, row);
                });
                return rows;
            }
        };
    }

    private TimeAssignors() { }
}
