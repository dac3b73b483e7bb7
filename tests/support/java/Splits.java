import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.TopicPartition;

/**
 * Readers that form no group. In: {"class": "flink" | "spark" | "mirror-maker", "request": a body of POST /v1/group-assignments}, one a
 * line. Out: {"owners": {"topic-0": number of the reader}}.
 */
public final class Splits {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        System.setOut(System.err);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode question = JSON.readTree(line);
            List<TopicPartition> partitions = new ArrayList<>();
            Map<String, Integer> counts = new HashMap<>(question.get("request").get("topics").size());
            for (JsonNode topic : question.get("request").get("topics"))
                counts.put(topic.get("topic_name").asText(), topic.get("partitions_count").asInt());
            for (Map.Entry<String, Integer> topic : counts.entrySet())
                for (int i = 0; i < topic.getValue(); i++) partitions.add(new TopicPartition(topic.getKey(), i));
            int readers = question.get("request").get("members").size();
            ObjectNode answer = JSON.createObjectNode();
            ObjectNode owners = answer.putObject("owners");
            switch (question.get("class").asText()) {
                case "flink" -> flink(partitions, readers, owners);
                case "spark" -> spark(partitions, readers, owners);
                default -> mirrorMaker(partitions, readers, owners);
            }
            out.println(JSON.writeValueAsString(answer));
            out.flush();
        }
    }

    private static void flink(List<TopicPartition> partitions, int readers, ObjectNode owners) throws Exception {
        Class<?> enumerator = Class.forName("org.apache.flink.connector.kafka.source.enumerator.KafkaSourceEnumerator");
        Method owner = enumerator.getDeclaredMethod("getSplitOwner", TopicPartition.class, int.class);
        owner.setAccessible(true);
        for (TopicPartition partition : partitions) owners.put(partition.toString(), (Integer) owner.invoke(null, partition, readers));
    }

    private static void spark(List<TopicPartition> partitions, int readers, ObjectNode owners) {
        List<org.apache.spark.sql.kafka010.KafkaOffsetRange> ranges = new ArrayList<>();
        for (TopicPartition partition : partitions)
            ranges.add(new org.apache.spark.sql.kafka010.KafkaOffsetRange(partition, 0, 1, scala.Option.empty()));
        List<String> executors = new ArrayList<>();
        for (int i = 0; i < readers; i++) executors.add(Integer.toString(i));
        var located = new org.apache.spark.sql.kafka010.KafkaOffsetRangeCalculator(scala.Option.empty(), scala.Option.empty())
            .getRanges(scala.jdk.javaapi.CollectionConverters.asScala(ranges).toSeq(),
                       scala.jdk.javaapi.CollectionConverters.asScala(executors).toSeq());
        for (var range : scala.jdk.javaapi.CollectionConverters.asJava(located))
            owners.put(range.topicPartition().toString(), Integer.parseInt(range.preferredLoc().get()));
    }

    private static void mirrorMaker(List<TopicPartition> partitions, int readers, ObjectNode owners) throws Exception {
        Class<?> config = Class.forName("org.apache.kafka.connect.mirror.MirrorSourceConfig");
        Map<String, String> properties = Map.of("name", "m", "connector.class", "m", "source.cluster.alias", "a", "target.cluster.alias", "b",
            "source.cluster.bootstrap.servers", "a:1", "target.cluster.bootstrap.servers", "b:1");
        Constructor<?> configure = config.getDeclaredConstructor(Map.class);
        configure.setAccessible(true);
        Constructor<?> make = Class.forName("org.apache.kafka.connect.mirror.MirrorSourceConnector").getDeclaredConstructor(List.class, config);
        make.setAccessible(true);
        Object connector = make.newInstance(partitions, configure.newInstance(properties));
        Method configs = connector.getClass().getMethod("taskConfigs", int.class);
        int task = 0;
        for (Object one : (List<?>) configs.invoke(connector, readers)) {
            for (String name : ((String) ((Map<?, ?>) one).get("task.assigned.partitions")).split(",")) owners.put(name, task);
            task++;
        }
    }
}
