package nexmark;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

/** Usage: Main speed|check FOLDER CORES EVENTS RATE WARMUP_EVENTS QUERY... One JSON object per line goes out. */
public final class Main {
    private Main() {}

    public static void main(String[] arguments) throws Exception {
        Suite suite = new Suite(Path.of(arguments[1]), Integer.parseInt(arguments[2]));
        long events = Long.parseLong(arguments[3]);
        long rate = Long.parseLong(arguments[4]);
        long warmup = Long.parseLong(arguments[5]);
        List<String> queries = Arrays.asList(arguments).subList(6, arguments.length);
        switch (arguments[0]) {
            case "speed" -> speed(suite, queries, events, rate, warmup);
            case "check" -> check(suite, queries, events, rate);
            default -> throw new IllegalArgumentException("unknown mode " + arguments[0]);
        }
    }

    private static void speed(Suite suite, List<String> queries, long events, long rate, long warmup) throws Exception {
        for (String query : queries) {
            if (warmup > 0) {
                speed(suite, query, warmup, rate);
            }
            System.out.println(speed(suite, query, events, rate));
        }
    }

    /** Takes a new cluster each time, because a cluster holds on to the state of its last jobs for a while. */
    private static String speed(Suite suite, String query, long events, long rate) throws Exception {
        try (Speed speed = new Speed(suite)) {
            return speed.measure(query, events, rate);
        }
    }

    private static void check(Suite suite, List<String> queries, long events, long rate) throws Exception {
        System.out.println(Check.events(events, rate));
        for (String query : queries) {
            System.out.println(Check.results(suite, query, events, rate));
        }
    }
}
