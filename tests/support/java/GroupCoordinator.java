import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.MemberAssignment;
import org.apache.kafka.coordinator.group.api.assignor.PartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;
import org.apache.kafka.coordinator.group.generated.ConsumerGroupTargetAssignmentMemberValue;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.GroupSpecImpl;
import org.apache.kafka.coordinator.group.modern.MemberSubscriptionAndAssignmentImpl;
import org.apache.kafka.coordinator.group.modern.TopicIds;
import org.apache.kafka.timeline.SnapshotRegistry;
import org.apache.kafka.timeline.TimelineHashMap;

/**
 * A group coordinator with the real server-side assignors, of any release since 4.0.0. In: {"class": a PartitionAssignor,
 * "request": a body of POST /v1/group-assignments whose topics all have ids}, one a line. Out, for each: {"assignments": ...} in
 * the form of that endpoint's answer, or {"error": {"exception", "message"}}.
 *
 * The assignor is given what TargetAssignmentBuilder.build gives it. Kafka's metadata images differ from release to release;
 * the two interfaces through which an assignor sees them are implemented here.
 */
public final class GroupCoordinator {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        System.setOut(System.err);  // where the assignors' log goes
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode question = JSON.readTree(line);
            ObjectNode answer = JSON.createObjectNode();
            try {
                answer.set("assignments", coordinate(question.get("class").asText(), question.get("request")));
            } catch (RuntimeException e) {
                answer.putObject("error").put("exception", e.getClass().getName()).put("message", e.getMessage());
            }
            out.println(JSON.writeValueAsString(answer));
            out.flush();
        }
    }

    private static ArrayNode coordinate(String assignor, JsonNode request) throws ReflectiveOperationException {
        Map<String, Uuid> ids = new HashMap<>();
        Map<Uuid, String> names = new HashMap<>();
        Map<Uuid, Integer> counts = new HashMap<>();
        Map<Uuid, JsonNode> racks = new HashMap<>();
        for (JsonNode topic : request.get("topics")) {
            Uuid id = Uuid.fromString(topic.get("topic_id").asText());
            ids.put(topic.get("topic_name").asText(), id);
            names.put(id, topic.get("topic_name").asText());
            counts.put(id, topic.get("partitions_count").asInt());
            racks.put(id, topic.path("partition_racks"));
        }
        TopicIds.TopicResolver resolver = (TopicIds.TopicResolver) Proxy.newProxyInstance(
            GroupCoordinator.class.getClassLoader(), new Class<?>[] {TopicIds.TopicResolver.class},
            (proxy, method, arguments) -> switch (method.getName()) {
                case "id" -> ids.get(arguments[0]);
                case "name" -> names.get(arguments[0]);
                default -> throw new UnsupportedOperationException(method.getName());
            });
        SubscribedTopicDescriber describer = (SubscribedTopicDescriber) Proxy.newProxyInstance(
            GroupCoordinator.class.getClassLoader(), new Class<?>[] {SubscribedTopicDescriber.class},
            (proxy, method, arguments) -> switch (method.getName()) {
                case "numPartitions" -> counts.getOrDefault(arguments[0], -1);
                case "racksForPartition" -> strings(racks.get(arguments[0]).path((int) arguments[1]));
                default -> throw new UnsupportedOperationException(method.getName());
            });

        TimelineHashMap<String, JsonNode> members = new TimelineHashMap<>(registry(), 0);
        Set<Set<String>> subscriptions = new HashSet<>();
        for (JsonNode member : request.get("members")) {
            members.put(member.get("member_id").asText(), member);
            subscriptions.add(subscription(member, request));
        }
        Map<String, MemberSubscriptionAndAssignmentImpl> specs = new HashMap<>();
        Map<Uuid, Map<Integer, String>> inverted = new HashMap<>();
        members.forEach((id, member) -> {
            Assignment target = target(member, ids);
            target.partitions().forEach((topic, partitions) ->
                partitions.forEach(p -> inverted.computeIfAbsent(topic, t -> new HashMap<>()).put(p, id)));
            specs.put(id, new MemberSubscriptionAndAssignmentImpl(text(member, "rack_id"), text(member, "instance_id"),
                new TopicIds(subscription(member, request), resolver), target));
        });
        SubscriptionType type = subscriptions.size() <= 1 ? SubscriptionType.HOMOGENEOUS : SubscriptionType.HETEROGENEOUS;
        Map<String, MemberAssignment> assignments = ((PartitionAssignor) Class.forName(assignor).getDeclaredConstructor().newInstance())
            .assign(new GroupSpecImpl(specs, type, inverted), describer).members();

        ArrayNode answer = JSON.createArrayNode();
        for (JsonNode member : request.get("members")) {
            ObjectNode one = answer.addObject();
            one.set("member_id", member.get("member_id"));
            ArrayNode partitions = one.putArray("partitions");
            MemberAssignment assignment = assignments.get(member.get("member_id").asText());
            if (assignment == null) continue;
            TreeMap<String, Set<Integer>> topics = new TreeMap<>();
            assignment.partitions().forEach((id, ofTopic) -> topics.put(names.get(id), ofTopic));
            topics.forEach((topic, ofTopic) -> {
                if (ofTopic.isEmpty()) return;
                ArrayNode list = partitions.addObject().put("topic_name", topic).putArray("partition_ids");
                ofTopic.stream().sorted().forEach(list::add);
            });
        }
        return answer;
    }

    /** LogContext moved to another package in 4.4.0, so it is the type of the constructor's parameter. */
    private static SnapshotRegistry registry() throws ReflectiveOperationException {
        var constructor = SnapshotRegistry.class.getConstructors()[0];
        Object log = constructor.getParameterTypes()[0].getConstructor().newInstance();
        return (SnapshotRegistry) constructor.newInstance(log);
    }

    private static Set<String> subscription(JsonNode member, JsonNode request) {
        if (member.hasNonNull("topic_names")) return strings(member.get("topic_names"));
        Set<String> names = new HashSet<>();
        request.get("topics").forEach(topic -> names.add(topic.get("topic_name").asText()));
        return names;
    }

    private static Set<String> strings(JsonNode list) {
        Set<String> strings = new HashSet<>();
        list.forEach(each -> strings.add(each.asText()));
        return strings;
    }

    private static Optional<String> text(JsonNode object, String name) {
        return object.hasNonNull(name) ? Optional.of(object.get(name).asText()) : Optional.empty();
    }

    /** The member's target assignment, as it is read from its record; a topic that does not exist has no id. */
    private static Assignment target(JsonNode member, Map<String, Uuid> ids) {
        var record = new ConsumerGroupTargetAssignmentMemberValue();
        for (JsonNode part : member.path("owned_partitions")) {
            if (!ids.containsKey(part.get("topic_name").asText())) continue;
            List<Integer> partitions = new ArrayList<>();
            part.get("partition_ids").forEach(id -> partitions.add(id.asInt()));
            record.topicPartitions().add(new ConsumerGroupTargetAssignmentMemberValue.TopicPartition()
                .setTopicId(ids.get(part.get("topic_name").asText())).setPartitions(partitions));
        }
        return Assignment.fromRecord(record);
    }

    private GroupCoordinator() { }
}
