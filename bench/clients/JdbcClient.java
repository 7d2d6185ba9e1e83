// The JDBC driver: prepared statements past the fifth run, batches, transactions, what tables there are.

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;

class JdbcClient {
    static void check(boolean holds, String what) {
        if (!holds) {
            throw new AssertionError(what);
        }
    }

    public static void main(String[] arguments) throws SQLException {
        try (Connection db = DriverManager.getConnection(arguments[0])) {
            try (var statement = db.createStatement()) {
                statement.execute("DROP TABLE IF EXISTS jdbc");
                statement.execute("CREATE TABLE jdbc (id bigint PRIMARY KEY, name varchar(30), n int)");
            }
            db.setAutoCommit(false);
            try (var insert = db.prepareStatement("INSERT INTO jdbc VALUES (?, ?, ?)")) {
                for (int id = 0; id < 500; id++) {
                    insert.setLong(1, id);
                    insert.setString(2, "name " + id);
                    insert.setInt(3, id % 10);
                    insert.addBatch();
                }
                check(insert.executeBatch().length == 500, "a batch");
            }
            db.commit();
            try (var select = db.prepareStatement("SELECT name FROM jdbc WHERE id = ?")) {
                for (int id = 0; id < 20; id++) {
                    select.setLong(1, id);
                    ResultSet rows = select.executeQuery();
                    check(rows.next() && rows.getString(1).equals("name " + id), "a row");
                }
            }
            try (var cursor = db.prepareStatement("SELECT id FROM jdbc ORDER BY id")) {
                cursor.setFetchSize(50);
                ResultSet rows = cursor.executeQuery();
                long count = 0;
                while (rows.next()) {
                    check(rows.getLong(1) == count++, "in order");
                }
                check(count == 500, "all rows by portions");
            }
            try (var statement = db.createStatement()) {
                check(statement.executeUpdate("DELETE FROM jdbc WHERE n = 3") == 50, "deleted");
            }
            db.rollback();
            try (var statement = db.createStatement()) {
                ResultSet rows = statement.executeQuery("SELECT count(*) FROM jdbc");
                check(rows.next() && rows.getLong(1) == 500, "rolled back");
                try {
                    statement.execute("INSERT INTO jdbc VALUES (1, 'again', 0)");
                    check(false, "a second row with one key");
                } catch (SQLException error) {
                    check(error.getSQLState().equals("23505"), error.getSQLState());
                }
            }
            db.rollback();
            System.out.println("JDBC " + db.getMetaData().getDriverVersion() + " ok");
        }
    }
}
