package nexmark;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import org.apache.flink.api.connector.source.Boundedness;
import org.apache.flink.api.connector.source.ReaderOutput;
import org.apache.flink.api.connector.source.Source;
import org.apache.flink.api.connector.source.SourceReader;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;
import org.apache.flink.api.connector.source.lib.NumberSequenceSource;
import org.apache.flink.api.connector.source.lib.NumberSequenceSource.NumberSequenceSplit;
import org.apache.flink.api.connector.source.lib.util.IteratorSourceEnumerator;
import org.apache.flink.core.io.InputStatus;
import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.apache.flink.table.data.RowData;

/**
 * A bounded source of events. Readers ask for ranges of event numbers and get them in order, so all readers advance
 * through event time together and none is left with more work than the others.
 */
final class EventSource implements Source<RowData, NumberSequenceSplit, Collection<NumberSequenceSplit>> {
    private static final int EVENTS_PER_SPLIT = 50_000;
    private static final int EVENTS_PER_POLL = 200;

    private final long events;
    private final long eventsPerSecond;
    private final Column[] columns;
    private final NumberSequenceSource numbers;

    EventSource(long events, long eventsPerSecond, Column[] columns) {
        this.events = events;
        this.eventsPerSecond = eventsPerSecond;
        this.columns = columns;
        this.numbers = new NumberSequenceSource(0, events - 1);
    }

    @Override
    public Boundedness getBoundedness() {
        return Boundedness.BOUNDED;
    }

    @Override
    public SplitEnumerator<NumberSequenceSplit, Collection<NumberSequenceSplit>> createEnumerator(
            SplitEnumeratorContext<NumberSequenceSplit> context) {
        List<NumberSequenceSplit> splits = new ArrayList<>();
        for (long first = 0; first < events; first += EVENTS_PER_SPLIT) {
            long last = Math.min(first + EVENTS_PER_SPLIT, events) - 1;
            splits.add(new NumberSequenceSplit(Long.toString(first), first, last));
        }
        return restoreEnumerator(context, splits);
    }

    @Override
    public SplitEnumerator<NumberSequenceSplit, Collection<NumberSequenceSplit>> restoreEnumerator(
            SplitEnumeratorContext<NumberSequenceSplit> context, Collection<NumberSequenceSplit> splits) {
        return new IteratorSourceEnumerator<>(context, splits);
    }

    @Override
    public SimpleVersionedSerializer<NumberSequenceSplit> getSplitSerializer() {
        return numbers.getSplitSerializer();
    }

    @Override
    public SimpleVersionedSerializer<Collection<NumberSequenceSplit>> getEnumeratorCheckpointSerializer() {
        return numbers.getEnumeratorCheckpointSerializer();
    }

    @Override
    public SourceReader<RowData, NumberSequenceSplit> createReader(SourceReaderContext context) {
        return new Reader(context, new EventRow(new Event(eventsPerSecond), columns));
    }

    private static final class Reader implements SourceReader<RowData, NumberSequenceSplit> {
        private final SourceReaderContext context;
        private final EventRow row;
        private final Queue<NumberSequenceSplit> waiting = new ArrayDeque<>();
        private CompletableFuture<Void> available = new CompletableFuture<>();
        private boolean noMore;
        private long next = 0;
        private long last = -1;

        Reader(SourceReaderContext context, EventRow row) {
            this.context = context;
            this.row = row;
        }

        @Override
        public void start() {
            // Two requests, so that the next range waits here when one is finished.
            context.sendSplitRequest();
            context.sendSplitRequest();
        }

        @Override
        public InputStatus pollNext(ReaderOutput<RowData> output) {
            if (next > last && !takeSplit()) {
                return noMore ? InputStatus.END_OF_INPUT : InputStatus.NOTHING_AVAILABLE;
            }
            long end = Math.min(next + EVENTS_PER_POLL - 1, last);
            for (; next <= end; next++) {
                row.event.become(next);
                output.collect(row);
            }
            return InputStatus.MORE_AVAILABLE;
        }

        private boolean takeSplit() {
            NumberSequenceSplit split = waiting.poll();
            if (split == null) {
                return false;
            }
            next = split.from();
            last = split.to();
            Progress.started(next);
            if (!noMore) {
                context.sendSplitRequest();
            }
            return true;
        }

        @Override
        public CompletableFuture<Void> isAvailable() {
            if (next <= last || !waiting.isEmpty() || noMore) {
                return CompletableFuture.completedFuture(null);
            }
            if (available.isDone()) {
                available = new CompletableFuture<>();
            }
            return available;
        }

        @Override
        public void addSplits(List<NumberSequenceSplit> splits) {
            waiting.addAll(splits);
            available.complete(null);
        }

        @Override
        public void notifyNoMoreSplits() {
            noMore = true;
            available.complete(null);
        }

        @Override
        public List<NumberSequenceSplit> snapshotState(long checkpoint) {
            List<NumberSequenceSplit> splits = new ArrayList<>(waiting);
            if (next <= last) {
                splits.add(0, new NumberSequenceSplit(Long.toString(next), next, last));
            }
            return splits;
        }

        @Override
        public void close() {}
    }
}
