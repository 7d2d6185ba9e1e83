import java.sql.DriverManager;
import org.flywaydb.core.Flyway;

/** Flyway: migrations in transactions, a repeatable one, a failed one, repair, validate, info, clean. */
public class FlywayClient {
    static void check(boolean good, String what) {
        if (!good) throw new IllegalStateException(what);
    }

    public static void main(String[] arguments) throws Exception {
        String url = arguments[0], user = "tester";
        var all = Flyway.configure().dataSource(url, user, "").locations("filesystem:" + arguments[1]).cleanDisabled(false);
        Flyway flyway = all.load();
        flyway.clean();
        check(flyway.migrate().migrationsExecuted == 3, "three migrations");
        check(flyway.migrate().migrationsExecuted == 0, "none is left");
        flyway.validate();
        check(flyway.info().applied().length == 3, "all are applied");
        java.nio.file.Path bad = java.nio.file.Path.of(arguments[1], "V3__bad.sql");
        java.nio.file.Files.writeString(bad, "CREATE TABLE fw_lost (id int);\nSELECT 1 / 0;\n");
        try {
            flyway.migrate();
            throw new IllegalStateException("the third one fails");
        } catch (org.flywaydb.core.api.FlywayException expected) {
        } finally {
            java.nio.file.Files.delete(bad);
        }
        flyway.repair();
        flyway.validate();
        try (var connection = DriverManager.getConnection(url, user, ""); var statement = connection.createStatement()) {
            var rows = statement.executeQuery("SELECT n, to_regclass('fw_lost') FROM fw_count");
            check(rows.next() && rows.getInt(1) == 2 && rows.getString(2) == null, "what a failed migration did is undone");
        }
        flyway.clean();
        System.out.println("flyway ok");
    }
}
