import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
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
 * {@code ManyGroups CLASS CONFIGS GROUPS PARTITIONS MEMBERS}: the leaders of so many groups of the same size assign at once, each for the
 * first time. CONFIGS is JSON, that of the assignor. Out, as JSON: "outcomes" (attributes of partition.allocator in JMX), "slowest" in
 * ms, and "wrong", the number of groups in which not every partition has one owner.
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
        CountDownLatch start = new CountDownLatch(1);
        ExecutorService threads = Executors.newCachedThreadPool();
        List<Future<long[]>> done = new ArrayList<>();
        for (ConsumerPartitionAssignor leader : leaders)
            done.add(threads.submit(() -> {
                GroupSubscription group = group(members);
                Cluster cluster = cluster(partitions);
                start.await();
                long begin = System.nanoTime();
                var assigned = leader.assign(cluster, group).groupAssignment();
                long taken = System.nanoTime() - begin;
                long distinct = assigned.values().stream().flatMap(each -> each.partitions().stream()).distinct().count();
                long all = assigned.values().stream().mapToLong(each -> each.partitions().size()).sum();
                return new long[] {taken, distinct == partitions && all == partitions ? 0 : 1};
            }));
        start.countDown();
        Map<String, Object> answer = new HashMap<>();
        double slowest = 0;
        long wrong = 0;
        for (Future<long[]> each : done) {
            slowest = Math.max(slowest, each.get()[0] / 1e6);
            wrong += each.get()[1];
        }
        answer.put("slowest", slowest);
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
