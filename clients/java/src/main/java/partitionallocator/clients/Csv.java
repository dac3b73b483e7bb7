package partitionallocator.clients;

/** Fields of CSV (RFC 4180), one after the other. */
final class Csv {
    private final String text;
    private int at;

    Csv(String text, int at) {
        this.text = text;
        this.at = at;
    }

    boolean hasNext() {
        return at < text.length();
    }

    /** The next field, which ends with this character; raises IllegalArgumentException if it does not. */
    String field(char end) {
        String field;
        if (hasNext() && text.charAt(at) == '"') {
            field = quoted();
        } else {
            int stop = text.indexOf(end, at);
            field = text.substring(at, stop < 0 ? text.length() : stop);
            at += field.length();
        }
        if (!hasNext() || text.charAt(at) != end) {
            throw new IllegalArgumentException("CSV is cut off or has other columns at character " + at);
        }
        at++;
        return field;
    }

    private String quoted() {
        StringBuilder field = new StringBuilder();
        while (true) {
            int quote = text.indexOf('"', at + 1);
            if (quote < 0) {
                throw new IllegalArgumentException("CSV has a quote without an end at character " + at);
            }
            field.append(text, at + 1, quote);
            at = quote + 1;
            if (!hasNext() || text.charAt(at) != '"') {
                return field.toString();
            }
            field.append('"'); // two quotes are one
        }
    }
}
