import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.TopicPartition;

/**
 * Readers that form no group. In: {"class": "flink" | "spark" | "beam" | "druid" | "mirror-maker", "request": a body of POST /v1/group-assignments}, one a
 * line. Out: {"owners": {"topic-0": number of the reader}}, of Spark also "ranges": [[partition, first offset, offset after the last]];
 * of Beam {"splits": [[partition]]}.
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
            switch (question.get("class").asText()) {
                case "flink" -> flink(partitions, readers, answer.putObject("owners"));
                case "spark" -> spark(question.get("request"), answer);
                case "beam" -> beam(partitions, readers, answer.putArray("splits"));
                case "druid" -> druid(partitions, counts.size() > 1, readers, answer.putObject("owners"));
                default -> mirrorMaker(partitions, readers, answer.putObject("owners"));
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

    private static void spark(JsonNode request, ObjectNode answer) {
        List<org.apache.spark.sql.kafka010.KafkaOffsetRange> ranges = new ArrayList<>();
        for (JsonNode topic : request.get("topics"))
            for (int i = 0; i < topic.get("partitions_count").asInt(); i++) {
                TopicPartition partition = new TopicPartition(topic.get("topic_name").asText(), i);
                boolean known = topic.has("lag");
                long from = known ? topic.get("lag").get("committed_offsets").get(i).asLong() : 0;
                long until = known ? topic.get("lag").get("log_end_offsets").get(i).asLong() : 1;
                ranges.add(new org.apache.spark.sql.kafka010.KafkaOffsetRange(partition, from, until, scala.Option.empty()));
            }
        List<String> executors = new ArrayList<>();
        for (int i = 0; i < request.get("members").size(); i++) executors.add(Integer.toString(i));
        JsonNode least = request.get("min_partitions"), most = request.get("max_records_per_partition");
        var located = new org.apache.spark.sql.kafka010.KafkaOffsetRangeCalculator(
            least == null ? scala.Option.empty() : scala.Option.apply(least.asInt()),
            most == null ? scala.Option.empty() : scala.Option.apply(most.asLong()))
            .getRanges(scala.jdk.javaapi.CollectionConverters.asScala(ranges).toSeq(),
                       scala.jdk.javaapi.CollectionConverters.asScala(executors).toSeq());
        ObjectNode owners = answer.putObject("owners");
        ArrayNode rows = answer.putArray("ranges");
        for (var range : scala.jdk.javaapi.CollectionConverters.asJava(located)) {
            if (range.preferredLoc().isDefined())
                owners.put(range.topicPartition().toString(), Integer.parseInt(range.preferredLoc().get()));
            rows.addArray().add(range.topicPartition().toString()).add(range.fromOffset()).add(range.untilOffset());
        }
    }

    private static void beam(List<TopicPartition> partitions, int readers, ArrayNode splits) throws Exception {
        Class<?> kind = Class.forName("org.apache.beam.sdk.io.kafka.KafkaUnboundedSource");
        Class<?> read = Class.forName("org.apache.beam.sdk.io.kafka.KafkaIO$Read");
        var spec = org.apache.beam.sdk.io.kafka.KafkaIO.<byte[], byte[]>read().withBootstrapServers("none:1").withTopicPartitions(partitions)
            .withKeyDeserializer(org.apache.kafka.common.serialization.ByteArrayDeserializer.class)
            .withValueDeserializer(org.apache.kafka.common.serialization.ByteArrayDeserializer.class)
            .withConsumerFactoryFn(config -> { throw new org.apache.kafka.common.KafkaException("there is no cluster"); });
        Constructor<?> make = kind.getConstructor(read, int.class);
        make.setAccessible(true);
        Method split = kind.getDeclaredMethod("split", int.class, Class.forName("org.apache.beam.sdk.options.PipelineOptions"));
        split.setAccessible(true);
        Method specOf = kind.getDeclaredMethod("getSpec"), listed = read.getDeclaredMethod("getTopicPartitions");
        specOf.setAccessible(true);
        listed.setAccessible(true);
        for (Object one : (List<?>) split.invoke(make.newInstance(spec, -1), readers, null)) {
            ArrayNode its = splits.addArray();
            for (Object partition : (List<?>) listed.invoke(specOf.invoke(one))) its.add(partition.toString());
        }
    }

    /** A supervisor needs a whole Overlord, so it is made without its constructor; it has only its number of tasks. */
    private static void druid(List<TopicPartition> partitions, boolean several, int readers, ObjectNode owners) throws Exception {
        String room = "org.apache.druid.indexing.kafka.supervisor.";
        Object supervisor = bare(room + "KafkaSupervisor"), spec = bare(room + "KafkaSupervisorSpec");
        Object schema = bare(room + "KafkaSupervisorIngestionSpec"), config = bare(room + "KafkaSupervisorIOConfig");
        set(supervisor, "spec", spec);
        set(spec, "ingestionSchema", schema);
        set(schema, "ioConfig", config);
        set(config, "taskCount", readers);
        Class<?> kind = Class.forName("org.apache.druid.data.input.kafka.KafkaTopicPartition");
        Constructor<?> make = kind.getConstructor(boolean.class, String.class, int.class);
        Method owner = supervisor.getClass().getDeclaredMethod("getTaskGroupIdForPartition", kind);
        owner.setAccessible(true);
        for (TopicPartition partition : partitions)
            owners.put(partition.toString(),
                       (Integer) owner.invoke(supervisor, make.newInstance(several, partition.topic(), partition.partition())));
    }

    private static Object bare(String name) throws Exception {
        Field unsafe = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
        unsafe.setAccessible(true);
        return ((sun.misc.Unsafe) unsafe.get(null)).allocateInstance(Class.forName(name));
    }

    private static void set(Object object, String name, Object value) throws Exception {
        for (Class<?> kind = object.getClass(); kind != null; kind = kind.getSuperclass())
            for (Field field : kind.getDeclaredFields())
                if (field.getName().equals(name)) {
                    field.setAccessible(true);
                    field.set(object, value);
                }
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
