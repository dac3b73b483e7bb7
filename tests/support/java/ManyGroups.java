import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import javax.management.MBeanAttributeInfo;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Configurable;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;

/**
 * {@code ManyGroups CLASS CONFIGS GROUPS PARTITIONS MEMBERS ROUNDS}: the leaders of so many groups of the same size assign at once, in so
 * many rounds. CONFIGS is JSON, that of the assignor. Out, as JSON: "outcomes" (attributes of partition.allocator in JMX), "wrong", the
 * number of assignments in which not every partition has one owner, and "cpu_ms" of the last round.
 */
public final class ManyGroups {
    public static void main(String[] arguments) throws Exception {
        ObjectMapper json = new ObjectMapper();
        Map<String, Object> configs = json.readValue(arguments[1], new TypeReference<Map<String, Object>>() { });
        int groups = Integer.parseInt(arguments[2]);
        int partitions = Integer.parseInt(arguments[3]);
        int members = Integer.parseInt(arguments[4]);
        List<ConsumerPartitionAssignor> leaders = new ArrayList<>();
        for (int i = 0; i < groups; i++) {
            leaders.add((ConsumerPartitionAssignor) Class.forName(arguments[0]).getDeclaredConstructor().newInstance());
            ((Configurable) leaders.get(i)).configure(configs);
        }
        ExecutorService threads = Executors.newCachedThreadPool();
        OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        Cluster cluster = cluster(partitions);
        long wrong = 0;
        long began = 0;
        for (int round = 0; round < Integer.parseInt(arguments[5]); round++) {
            began = system.getProcessCpuTime();
            List<Future<Boolean>> done = new ArrayList<>();
            CountDownLatch start = new CountDownLatch(1);
            for (ConsumerPartitionAssignor leader : leaders)
                done.add(threads.submit(() -> {
                    start.await();
                    var assigned = leader.assign(cluster, group(members)).groupAssignment().values();
                    long distinct = assigned.stream().flatMap(each -> each.partitions().stream()).distinct().count();
                    return distinct == partitions && assigned.stream().mapToLong(each -> each.partitions().size()).sum() == partitions;
                }));
            start.countDown();
            for (Future<Boolean> each : done) wrong += each.get() ? 0 : 1;
        }
        Map<String, Object> answer = new HashMap<>();
        answer.put("cpu_ms", (system.getProcessCpuTime() - began) / 1_000_000);
        answer.put("wrong", wrong);
        answer.put("outcomes", outcomes((String) configs.get("group.id")));
        System.out.println(json.writeValueAsString(answer));
        System.exit(0);
    }

    private static GroupSubscription group(int members) {
        Map<String, Subscription> subscriptions = new HashMap<>();
        for (int i = 0; i < members; i++)
            subscriptions.put("member-" + i, new Subscription(List.of("orders"), null, List.<TopicPartition>of(), -1, Optional.empty()));
        return new GroupSubscription(subscriptions);
    }

    private static Cluster cluster(int partitions) {
        Node node = new Node(1, "localhost", 9092);
        Node[] nodes = {node};
        List<PartitionInfo> infos = IntStream.range(0, partitions).mapToObj(i -> new PartitionInfo("orders", i, node, nodes, nodes)).toList();
        return new Cluster("cluster", List.of(node), infos, Set.of(), Set.of());
    }

    private static Map<String, Long> outcomes(String groupId) throws Exception {
        MBeanServer beans = ManagementFactory.getPlatformMBeanServer();
        ObjectName name = new ObjectName("partition.allocator:type=remote-assignor,group-id=" + groupId);
        Map<String, Long> outcomes = new TreeMap<>();
        for (MBeanAttributeInfo each : beans.getMBeanInfo(name).getAttributes()) {
            long count = (long) beans.getAttribute(name, each.getName());
            if (count > 0) outcomes.put(each.getName(), count);
        }
        return outcomes;
    }

    private ManyGroups() { }
}
