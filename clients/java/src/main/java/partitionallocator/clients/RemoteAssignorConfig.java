package partitionallocator.clients;

import java.net.URI;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigDef.Importance;
import org.apache.kafka.common.config.ConfigDef.Type;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.config.SslConfigs;
import org.apache.kafka.common.config.types.Password;

/** The configuration of {@link RemoteAssignor}, among that of its consumer. */
public final class RemoteAssignorConfig extends AbstractConfig {
    public static final String URL = "partition.allocator.url";
    public static final String TIMEOUT_MS = "partition.allocator.timeout.ms";
    public static final String TOKEN = "partition.allocator.token";
    public static final String TOKEN_FILE = "partition.allocator.token.file";
    public static final String MAX_MOVES = "partition.allocator.max.moves";
    public static final String WEIGHTS = "partition.allocator.weights";
    public static final String WEIGHTS_INTERVAL_MS = "partition.allocator.weights.interval.ms";
    public static final String WEIGHTS_MAX_AGE_MS = "partition.allocator.weights.max.age.ms";
    public static final String SSL_PREFIX = "partition.allocator.ssl.";

    private static final String BY_LAG = "lag";

    public static final ConfigDef DEFINITION = new ConfigDef()
            .define(URL, Type.STRING, ConfigDef.NO_DEFAULT_VALUE, RemoteAssignorConfig::checkUrl, Importance.HIGH,
                    "The service: http://host:port or https://host:port.")
            .define(TIMEOUT_MS, Type.INT, 1000, ConfigDef.Range.between(1, 10_000), Importance.MEDIUM,
                    "How long a rebalance waits for the answer; never longer than a tenth of session.timeout.ms.")
            .define(TOKEN, Type.PASSWORD, null, Importance.MEDIUM, "The bearer token.")
            .define(TOKEN_FILE, Type.STRING, null, Importance.MEDIUM, "A file with the bearer token, read for each request.")
            .define(MAX_MOVES, Type.INT, null, Importance.MEDIUM,
                    "The most partitions that may change owners in a rebalance; without it, as many as the best balance takes.")
            .define(WEIGHTS, Type.STRING, "none", ConfigDef.ValidString.in("none", BY_LAG), Importance.MEDIUM,
                    "Weight of a partition: the same for all (none), or its consumer lag plus 1 (lag).")
            .define(WEIGHTS_INTERVAL_MS, Type.INT, 30_000, ConfigDef.Range.atLeast(1000), Importance.LOW,
                    "How often the group leader reads lags.")
            .define(WEIGHTS_MAX_AGE_MS, Type.INT, 120_000, ConfigDef.Range.atLeast(1000), Importance.LOW,
                    "Older lags are not used; cooperative-sticky assigns.")
            .define(ConsumerConfig.GROUP_ID_CONFIG, Type.STRING, "", Importance.LOW, "The consumer's.")
            .define(ConsumerConfig.SESSION_TIMEOUT_MS_CONFIG, Type.INT, 45_000, Importance.LOW, "The consumer's.");

    RemoteAssignorConfig(Map<String, ?> configs) {
        super(DEFINITION, configs, false);
        if (getString(TOKEN_FILE) != null && getPassword(TOKEN) != null) {
            throw new ConfigException("Only one of " + TOKEN + " and " + TOKEN_FILE + " can be given.");
        }
    }

    private static void checkUrl(String name, Object value) {
        try {
            URI url = URI.create(String.valueOf(value));
            if (url.getHost() != null && ("http".equals(url.getScheme()) || "https".equals(url.getScheme()))) {
                return;
            }
        } catch (IllegalArgumentException e) {
            throw new ConfigException(name, value, e.getMessage());
        }
        throw new ConfigException(name, value, "It must begin with http://host or https://host.");
    }

    String url() {
        String url = getString(URL);
        return url.endsWith("/") ? url.substring(0, url.length() - 1) : url;
    }

    Duration deadline() {
        return Duration.ofMillis(Math.min(getInt(TIMEOUT_MS), Math.max(1, getInt(ConsumerConfig.SESSION_TIMEOUT_MS_CONFIG) / 10)));
    }

    Optional<String> token() {
        return Optional.ofNullable(getPassword(TOKEN)).map(Password::value);
    }

    Optional<String> tokenFile() {
        return Optional.ofNullable(getString(TOKEN_FILE));
    }

    OptionalInt maxMoves() {
        Integer most = getInt(MAX_MOVES);
        return most == null ? OptionalInt.empty() : OptionalInt.of(most);
    }

    boolean weighsByLag() {
        return BY_LAG.equals(getString(WEIGHTS));
    }

    Duration weightsInterval() {
        return Duration.ofMillis(getInt(WEIGHTS_INTERVAL_MS));
    }

    Duration weightsMaxAge() {
        return Duration.ofMillis(getInt(WEIGHTS_MAX_AGE_MS));
    }

    String groupId() {
        return getString(ConsumerConfig.GROUP_ID_CONFIG);
    }

    /** Kafka's own {@code ssl.} configuration, of what is given with the prefix; empty if nothing is. */
    Map<String, Object> ssl() {
        Map<String, Object> given = originalsWithPrefix(SSL_PREFIX);
        if (given.isEmpty()) {
            return given;
        }
        ConfigDef definition = new ConfigDef();
        SslConfigs.addClientSslSupport(definition);
        Map<String, Object> named = originalsWithPrefix("partition.allocator.");
        Map<String, Object> ssl = new HashMap<>(new AbstractConfig(definition, named, false) { }.values());
        return ssl;
    }
}
