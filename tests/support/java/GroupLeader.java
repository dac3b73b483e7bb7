import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.lang.reflect.Constructor;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.StreamSupport;
import javax.management.MBeanAttributeInfo;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.RebalanceProtocol;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Configurable;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;

/**
 * A group leader with the real client-side assignors. In: {"class": a ConsumerPartitionAssignor, "request": a body of
 * POST /v1/group-assignments}, one a line. Out, for each: {"assignments": ...} in the form of that endpoint's answer, or
 * {"error": {"exception", "message"}}.
 *
 * With "configs", which are those of a Configurable, the assignor is made once and leads again and again. Out, also: "milliseconds",
 * and "outcomes", the attributes of partition.allocator in JMX that are not 0.
 *
 * Or {"class", "requests", "seconds"}: do the assignors end? Out: {"ended": [...]}, false for each that has used so many seconds of
 * a processor's time by itself and runs on. They do so until this program ends.
 *
 * What a member sends and what the leader makes of it is as in ConsumerCoordinator.metadata and onLeaderElected.
 */
public final class GroupLeader {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Map<JsonNode, ConsumerPartitionAssignor> LEADERS = new HashMap<>(); // by their configs
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        System.setOut(System.err);  // where the assignors' log goes
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode question = JSON.readTree(line);
            ObjectNode answer = JSON.createObjectNode();
            try {
                Class<?> assignor = Class.forName(question.get("class").asText());
                if (question.has("requests"))
                    answer.set("ended", ended(assignor, question.get("requests"), question.get("seconds").asDouble()));
                else if (question.has("configs")) leadAgain(assignor, question.get("configs"), question.get("request"), answer);
                else answer.set("assignments", lead(assignor, create(assignor), question.get("request")));
            } catch (RuntimeException e) {
                answer.putObject("error").put("exception", e.getClass().getName()).put("message", e.getMessage());
            }
            out.println(JSON.writeValueAsString(answer));
            out.flush();
        }
    }

    private static ArrayNode ended(Class<?> assignor, JsonNode requests, double seconds) throws InterruptedException {
        List<Thread> threads = new ArrayList<>();
        for (JsonNode request : requests) {
            Thread thread = new Thread(() -> {
                try {
                    lead(assignor, create(assignor), request);
                } catch (ReflectiveOperationException e) {
                    throw new IllegalStateException(e);
                }
            });
            thread.setDaemon(true);
            thread.start();
            threads.add(thread);
        }
        // A thread's time is -1 once it has ended.
        while (threads.stream().anyMatch(t -> t.isAlive() && THREADS.getThreadCpuTime(t.getId()) < seconds * 1e9)) Thread.sleep(20);
        ArrayNode ended = JSON.createArrayNode();
        threads.forEach(thread -> ended.add(!thread.isAlive()));
        return ended;
    }

    private static void leadAgain(Class<?> assignor, JsonNode configs, JsonNode request, ObjectNode answer) throws Exception {
        ConsumerPartitionAssignor leader = LEADERS.get(configs);
        if (leader == null) {
            leader = create(assignor);
            ((Configurable) leader).configure(JSON.convertValue(configs, new TypeReference<Map<String, String>>() { }));
            LEADERS.put(configs, leader);
        }
        long begin = System.nanoTime();
        answer.set("assignments", lead(assignor, leader, request));
        answer.put("milliseconds", (System.nanoTime() - begin) / 1e6);
        MBeanServer beans = ManagementFactory.getPlatformMBeanServer();
        ObjectName name = new ObjectName("partition.allocator:type=remote-assignor,group-id=" + configs.get("group.id").asText());
        ObjectNode outcomes = answer.putObject("outcomes");
        for (MBeanAttributeInfo each : beans.getMBeanInfo(name).getAttributes()) {
            long count = (long) beans.getAttribute(name, each.getName());
            if (count > 0) outcomes.put(each.getName(), count);
        }
    }

    private static ArrayNode lead(Class<?> assignor, ConsumerPartitionAssignor leader, JsonNode request)
            throws ReflectiveOperationException {
        Map<String, Subscription> subscriptions = new HashMap<>();
        for (JsonNode member : request.get("members")) {
            Subscription subscription = ConsumerProtocol.deserializeSubscription(joinGroup(create(assignor), member, request));
            subscription.setGroupInstanceId(text(member, "instance_id"));
            subscriptions.put(member.get("member_id").asText(), subscription);
        }
        Map<String, Assignment> assignments =
            leader.assign(cluster(request), new GroupSubscription(subscriptions)).groupAssignment();

        ArrayNode answer = JSON.createArrayNode();
        for (JsonNode member : request.get("members")) {
            TreeMap<String, List<Integer>> topics = new TreeMap<>();
            for (TopicPartition p : assignments.get(member.get("member_id").asText()).partitions())
                topics.computeIfAbsent(p.topic(), topic -> new ArrayList<>()).add(p.partition());
            ObjectNode one = answer.addObject();
            one.set("member_id", member.get("member_id"));
            ArrayNode partitions = one.putArray("partitions");
            topics.forEach((topic, ids) -> {
                ArrayNode list = partitions.addObject().put("topic_name", topic).putArray("partition_ids");
                ids.stream().sorted().forEach(list::add);
            });
        }
        return answer;
    }

    private static ConsumerPartitionAssignor create(Class<?> assignor) throws ReflectiveOperationException {
        return (ConsumerPartitionAssignor) assignor.getDeclaredConstructor().newInstance();
    }

    /** What the member sends: its assignor has been told of its last assignment, if there was one. */
    private static ByteBuffer joinGroup(ConsumerPartitionAssignor assignor, JsonNode member, JsonNode request)
            throws ReflectiveOperationException {
        JsonNode names = member.hasNonNull("topic_names") ? member.get("topic_names") : request.get("topics");
        List<String> topics = new ArrayList<>(new LinkedHashSet<>(StreamSupport.stream(names.spliterator(), false)
            .map(name -> name.isTextual() ? name.asText() : name.get("topic_name").asText()).toList()));
        List<TopicPartition> owned = new ArrayList<>();
        for (JsonNode part : member.path("owned_partitions"))
            for (JsonNode id : part.get("partition_ids")) owned.add(new TopicPartition(part.get("topic_name").asText(), id.asInt()));
        int generation = member.path("generation_id").asInt(-1);
        if (generation >= 0 || !owned.isEmpty())
            assignor.onAssignment(new Assignment(owned),
                new ConsumerGroupMetadata("group", generation, member.get("member_id").asText(), text(member, "instance_id")));
        boolean cooperative = assignor.supportedProtocols().contains(RebalanceProtocol.COOPERATIVE);
        return ConsumerProtocol.serializeSubscription(subscription(topics, assignor.subscriptionUserData(new HashSet<>(topics)),
            cooperative ? owned : List.of(), generation, text(member, "rack_id").filter(rack -> !rack.isEmpty())));
    }

    /** Generation and rack are part of a subscription since 3.4. */
    private static Subscription subscription(List<String> topics, ByteBuffer data, List<TopicPartition> owned, int generation,
            Optional<String> rack) throws ReflectiveOperationException {
        for (Constructor<?> constructor : Subscription.class.getConstructors())
            if (constructor.getParameterCount() == 5)
                return (Subscription) constructor.newInstance(topics, data, owned, generation, rack);
        return new Subscription(topics, data, owned);
    }

    private static Optional<String> text(JsonNode object, String name) {
        return object.hasNonNull(name) ? Optional.of(object.get(name).asText()) : Optional.empty();
    }

    /** A broker for each rack, and one without, on which partitions lie whose racks are not known. */
    private static Cluster cluster(JsonNode request) {
        Map<String, Node> brokers = new HashMap<>();
        List<PartitionInfo> partitions = new ArrayList<>();
        for (JsonNode topic : request.get("topics"))
            for (int id = 0; id < topic.get("partitions_count").asInt(); id++) {
                List<Node> replicas = new ArrayList<>();
                for (JsonNode rack : topic.path("partition_racks").path(id))
                    replicas.add(brokers.computeIfAbsent(rack.asText(), GroupLeader::broker));
                if (replicas.isEmpty()) replicas.add(brokers.computeIfAbsent("", GroupLeader::broker));
                Node[] nodes = replicas.toArray(Node[]::new);
                partitions.add(new PartitionInfo(topic.get("topic_name").asText(), id, nodes[0], nodes, nodes));
            }
        return new Cluster("cluster", brokers.values(), partitions, Set.of(), Set.of());
    }

    private static Node broker(String rack) {
        return new Node(rack.hashCode(), "broker-" + rack, 9092, rack.isEmpty() ? null : rack);
    }

    private GroupLeader() { }
}
