// The JDBC driver with several hosts: one transaction at the host that serves.

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;

class HostsClient {
    public static void main(String[] arguments) throws SQLException {
        try (Connection db = DriverManager.getConnection(arguments[0])) {
            try (var insert = db.prepareStatement("INSERT INTO numbers VALUES (?) ON CONFLICT DO NOTHING")) {
                insert.setLong(1, Long.parseLong(arguments[1]));
                insert.executeUpdate();
            }
            try (var select = db.createStatement();
                    var rows = select.executeQuery("SELECT count(*) FROM numbers")) {
                rows.next();
                System.out.println(rows.getLong(1));
            }
        }
    }
}
