package nexmark;

import java.util.concurrent.ConcurrentSkipListMap;

/** When ranges of events began to be made in the current job; readers and runner share one JVM. */
final class Progress {
    private static final ConcurrentSkipListMap<Long, Long> STARTED_MS = new ConcurrentSkipListMap<>();

    private Progress() {}

    static void reset() {
        STARTED_MS.clear();
    }

    static void started(long firstEvent) {
        STARTED_MS.putIfAbsent(firstEvent, System.currentTimeMillis());
    }

    /** Returns the throughput from the first range at or after event `from` to the end of the job. */
    static double eventsPerSecondAfter(long from, long events, long endMs) {
        var range = STARTED_MS.ceilingEntry(from);
        return range == null ? Double.NaN : (events - range.getKey()) * 1000.0 / (endMs - range.getValue());
    }
}
