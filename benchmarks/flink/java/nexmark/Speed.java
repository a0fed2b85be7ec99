package nexmark;

import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.util.Locale;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.JobStatus;
import org.apache.flink.runtime.execution.ExecutionState;
import org.apache.flink.runtime.executiongraph.AccessExecutionGraph;
import org.apache.flink.runtime.executiongraph.AccessExecutionVertex;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.graph.StreamGraph;
import org.apache.flink.table.api.Table;
import org.apache.flink.table.api.TableDescriptor;
import org.apache.flink.table.api.bridge.java.StreamStatementSet;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.table.api.internal.TableImpl;

/** Runs queries into a sink that drops all rows, on a cluster in this JVM, and reads the times Flink recorded. */
final class Speed implements AutoCloseable {
    private final Suite suite;
    private final MiniCluster cluster;

    Speed(Suite suite) throws Exception {
        this.suite = suite;
        this.cluster = new MiniCluster(new MiniClusterConfiguration.Builder()
                .setConfiguration(suite.settings())
                .setNumTaskManagers(1)
                .setNumSlotsPerTaskManager(suite.cores())
                .withRandomPorts()
                .build());
        cluster.start();
    }

    /** Runs one query and returns its times as a JSON object. */
    String measure(String query, long events, long rate) throws Exception {
        collectGarbage();
        Progress.reset();
        JobGraph graph = graph(query, events, rate);
        long cpuNs = processCpuNs();
        JobID job = cluster.submitJob(graph).get().getJobID();
        cluster.requestJobResult(job).get().toJobExecutionResult(getClass().getClassLoader());
        double cpuS = (processCpuNs() - cpuNs) / 1e9;
        AccessExecutionGraph done = cluster.getExecutionGraph(job).get();
        long finishedMs = done.getStatusTimestamp(JobStatus.FINISHED);
        double durationS = (finishedMs - allRunningMs(done)) / 1e3;
        double jobDurationS = (finishedMs - done.getStatusTimestamp(JobStatus.RUNNING)) / 1e3;
        double steady = Progress.eventsPerSecondAfter(events / 4, events, finishedMs);
        return String.format(
                Locale.ROOT,
                "{\"query\": \"%s\", \"events\": %d, \"duration_s\": %.3f, \"events_per_s\": %.0f,"
                        + " \"steady_events_per_s\": %.0f, \"job_duration_s\": %.3f, \"cpu_s\": %.3f}",
                query, events, durationS, events / durationS, steady, jobDurationS, cpuS);
    }

    /** The state of the last job goes only with the second collection. */
    private static void collectGarbage() throws InterruptedException {
        System.gc();
        Thread.sleep(500);
        System.gc();
    }

    private static long processCpuNs() {
        return ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
    }

    private JobGraph graph(String query, long events, long rate) throws IOException {
        StreamExecutionEnvironment environment = suite.environment();
        Table result = suite.query(environment, query, events, rate);
        StreamTableEnvironment tables = (StreamTableEnvironment) ((TableImpl) result).getTableEnvironment();
        StreamStatementSet insert = tables.createStatementSet();
        insert.add(result.insertInto(TableDescriptor.forConnector("blackhole").build()));
        insert.attachAsDataStream();
        StreamGraph graph = environment.getStreamGraph();
        graph.setJobName(query);
        return graph.getJobGraph();
    }

    private static long allRunningMs(AccessExecutionGraph graph) {
        long latest = 0;
        for (AccessExecutionVertex task : graph.getAllExecutionVertices()) {
            latest = Math.max(latest, task.getStateTimestamp(ExecutionState.RUNNING));
        }
        return latest;
    }

    @Override
    public void close() throws Exception {
        cluster.close();
    }
}
