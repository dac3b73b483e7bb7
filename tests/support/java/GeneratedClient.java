import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.Comparator;
import java.util.stream.Stream;
import org.openapitools.client.ApiClient;

/**
 * The client that openapi-generator made; its argument is the server's URL. In: {"api", "operation", "arguments"}, one a line, the
 * arguments in the order of the method's parameters, those left out null. Out, for each: the answer as the client has read it.
 */
public final class GeneratedClient {
    public static void main(String[] args) throws Exception {
        ApiClient client = new ApiClient();
        client.updateBaseUri(args[0]);
        ObjectMapper json = client.getObjectMapper();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode call = json.readTree(line);
            Class<?> api = Class.forName("org.openapitools.client.api." + call.get("api").asText());
            String operation = call.get("operation").asText();
            Method method = Stream.of(api.getMethods()).filter(m -> m.getName().equals(operation))
                .min(Comparator.comparing(Method::getParameterCount)).orElseThrow(); // a longer one takes headers as well
            Class<?>[] types = method.getParameterTypes();
            Object[] arguments = new Object[types.length];
            for (int i = 0; i < types.length; i++) {
                arguments[i] = call.get("arguments").has(i) ? json.treeToValue(call.get("arguments").get(i), types[i]) : null;
            }
            out.println(json.writeValueAsString(method.invoke(api.getConstructor(ApiClient.class).newInstance(client), arguments)));
        }
        out.flush();
    }
}
