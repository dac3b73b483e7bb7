package partitionallocator.clients;

import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.kafka.common.TopicPartition;

/** A group as the JSON body of {@code POST /v1/group-assignments}. */
final class Body {
    static String of(Group group, Weights weights, RemoteAssignorConfig config) {
        boolean racked = group.members().stream().anyMatch(member -> group.rackOf(member).isPresent());
        String moves = config.maxMoves().isPresent() ? ",\"max_moves\":" + config.maxMoves().getAsInt() : "";
        return "{\"group_protocol\":\"classic\",\"assignor\":\"balanced\",\"group_id\":" + string(config.groupId()) + moves
                + ",\"topics\":" + list(group.topics().entrySet().stream().map(each -> topic(each.getKey(), each.getValue(), racked, weights)))
                + ",\"members\":" + list(group.members().stream().map(member -> member(group, member))) + "}";
    }

    private static String topic(String name, List<List<String>> racks, boolean racked, Weights weights) {
        String ofRacks = !racked ? "" : ",\"partition_racks\":" + list(racks.stream().map(each -> list(each.stream().map(Body::string))));
        String ofWeights = weights.areEqual() ? "" : ",\"partition_weights\":"
                + list(IntStream.range(0, racks.size()).mapToObj(id -> Long.toString(weights.of(new TopicPartition(name, id)))));
        return "{\"topic_name\":" + string(name) + ",\"partitions_count\":" + racks.size() + ofRacks + ofWeights + "}";
    }

    private static String member(Group group, String member) {
        StringBuilder json = new StringBuilder("{\"member_id\":").append(string(member));
        group.instanceOf(member).ifPresent(instance -> json.append(",\"instance_id\":").append(string(instance)));
        group.rackOf(member).ifPresent(rack -> json.append(",\"rack_id\":").append(string(rack)));
        json.append(",\"topic_names\":").append(list(group.topicsOf(member).stream().map(Body::string)));
        json.append(",\"owned_partitions\":").append(list(group.ownedBy(member).entrySet().stream().map(Body::owned)));
        return json.append('}').toString();
    }

    private static String owned(Map.Entry<String, List<Integer>> ofTopic) {
        return "{\"topic_name\":" + string(ofTopic.getKey()) + ",\"partition_ids\":"
                + list(ofTopic.getValue().stream().map(String::valueOf)) + "}";
    }

    private static String list(Stream<String> values) {
        return values.collect(Collectors.joining(",", "[", "]"));
    }

    private static String string(String text) {
        StringBuilder json = new StringBuilder("\"");
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '"' || c == '\\') {
                json.append('\\').append(c);
            } else if (c < ' ') {
                json.append(String.format("\\u%04x", (int) c));
            } else {
                json.append(c);
            }
        }
        return json.append('"').toString();
    }

    private Body() { }
}
