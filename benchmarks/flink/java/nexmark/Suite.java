package nexmark;

import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.Table;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;

/** The settings and SQL files in a folder. */
record Suite(Path folder, int cores) {

    Configuration settings() throws IOException {
        Properties properties = new Properties();
        try (Reader file = Files.newBufferedReader(folder.resolve("settings.properties"))) {
            properties.load(file);
        }
        Configuration settings = new Configuration();
        properties.forEach((key, value) -> settings.setString((String) key, (String) value));
        settings.setString("parallelism.default", Integer.toString(cores));
        settings.setString("taskmanager.numberOfTaskSlots", Integer.toString(cores));
        return settings;
    }

    StreamExecutionEnvironment environment() throws IOException {
        return StreamExecutionEnvironment.createLocalEnvironment(cores, settings());
    }

    /** Returns the result of a query over the first `events` events, as a table of its own environment. */
    Table query(StreamExecutionEnvironment environment, String name, long events, long rate) throws IOException {
        StreamTableEnvironment tables = StreamTableEnvironment.create(environment);
        String ddl = Files.readString(folder.resolve("queries/tables.sql"))
                .replace("${events}", Long.toString(events))
                .replace("${rate}", Long.toString(rate));
        for (String statement : ddl.split(";")) {
            if (!statement.isBlank()) {
                tables.executeSql(statement);
            }
        }
        return tables.sqlQuery(Files.readString(folder.resolve("queries/" + name + ".sql")));
    }
}
