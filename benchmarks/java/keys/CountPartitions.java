import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;

/** Prints how many of the keys "0", "1" … each partition has, as kafka-clients assigns them. Arguments: keys, partitions. */
public final class CountPartitions {
    private CountPartitions() {}

    public static void main(String[] arguments) {
        long[] counts = new long[Integer.parseInt(arguments[1])];
        long keys = Long.parseLong(arguments[0]);
        for (long key = 0; key < keys; key++) {
            byte[] bytes = Long.toString(key).getBytes(StandardCharsets.UTF_8);
            counts[BuiltInPartitioner.partitionForKey(bytes, counts.length)]++;
        }
        System.out.println(Arrays.toString(counts));
    }
}
