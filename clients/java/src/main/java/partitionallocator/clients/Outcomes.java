package partitionallocator.clients;

import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Pattern;
import javax.management.Attribute;
import javax.management.AttributeList;
import javax.management.AttributeNotFoundException;
import javax.management.DynamicMBean;
import javax.management.JMException;
import javax.management.MBeanAttributeInfo;
import javax.management.MBeanInfo;
import javax.management.ObjectName;
import org.slf4j.LoggerFactory;

/** Counters of outcomes in JMX: {@code partition.allocator:type=remote-assignor,group-id=…}, one for all consumers of a group. */
final class Outcomes implements DynamicMBean {
    private static final Map<String, Outcomes> OF_GROUPS = new ConcurrentHashMap<>();

    /** What stands in a name without quotes, as in the names of Kafka's own metrics (Sanitizer.jmxSanitize). */
    private static final Pattern PLAIN = Pattern.compile("[\\w-%. \t]*");

    private final AtomicLong[] counts = Arrays.stream(Outcome.values()).map(outcome -> new AtomicLong()).toArray(AtomicLong[]::new);

    static Outcomes ofGroup(String groupId) {
        return OF_GROUPS.computeIfAbsent(groupId, id -> {
            Outcomes outcomes = new Outcomes();
            try {
                String shown = PLAIN.matcher(id).matches() ? id : ObjectName.quote(id);
                String name = "partition.allocator:type=remote-assignor,group-id=" + shown;
                ManagementFactory.getPlatformMBeanServer().registerMBean(outcomes, new ObjectName(name));
            } catch (JMException | SecurityException e) {
                LoggerFactory.getLogger(Outcomes.class).warn("The outcomes of group {} are not in JMX", id, e);
            }
            return outcomes;
        });
    }

    void count(Outcome outcome) {
        counts[outcome.ordinal()].incrementAndGet();
    }

    @Override
    public Object getAttribute(String name) throws AttributeNotFoundException {
        for (Outcome outcome : Outcome.values()) {
            if (outcome.attribute().equals(name)) {
                return counts[outcome.ordinal()].get();
            }
        }
        throw new AttributeNotFoundException(name);
    }

    @Override
    public AttributeList getAttributes(String[] names) {
        AttributeList values = new AttributeList();
        for (String name : names) {
            try {
                values.add(new Attribute(name, getAttribute(name)));
            } catch (AttributeNotFoundException e) {
                continue; // as the interface wants it
            }
        }
        return values;
    }

    @Override
    public MBeanInfo getMBeanInfo() {
        MBeanAttributeInfo[] attributes = Arrays.stream(Outcome.values())
                .map(outcome -> new MBeanAttributeInfo(outcome.attribute(), "long", "Rebalances that this member led", true, false, false))
                .toArray(MBeanAttributeInfo[]::new);
        return new MBeanInfo(Outcomes.class.getName(), "Who assigned the group", attributes, null, null, null);
    }

    @Override
    public void setAttribute(Attribute attribute) throws AttributeNotFoundException {
        throw new AttributeNotFoundException(attribute.getName() + " is read-only");
    }

    @Override
    public AttributeList setAttributes(AttributeList attributes) {
        return new AttributeList();
    }

    @Override
    public Object invoke(String action, Object[] parameters, String[] signature) {
        throw new UnsupportedOperationException(action);
    }
}
