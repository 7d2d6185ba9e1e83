# psql: a script of statements, a file copied in and out, an error's text, notices.
said=$(psql -X -A -t -v ON_ERROR_STOP=1 <<'SQL'
DROP TABLE IF EXISTS psql_orders, psql_customers;
CREATE TABLE psql_customers (id int PRIMARY KEY, name varchar(30) NOT NULL UNIQUE);
CREATE TABLE psql_orders (
    id serial PRIMARY KEY,
    customer int NOT NULL REFERENCES psql_customers (id) ON DELETE CASCADE,
    total numeric(10, 2) CHECK (total >= 0),
    made timestamp DEFAULT now()
);
CREATE INDEX psql_by_total ON psql_orders (total DESC);
INSERT INTO psql_customers VALUES (1, 'Ada'), (2, 'Grace');
BEGIN;
INSERT INTO psql_orders (customer, total) VALUES (1, 10.5), (1, 20), (2, 7.25);
SAVEPOINT here;
DELETE FROM psql_customers WHERE id = 1;
SELECT count(*) FROM psql_orders;
ROLLBACK TO here;
COMMIT;
SELECT id, customer, total FROM psql_orders ORDER BY total DESC LIMIT 2;
UPDATE psql_orders SET total = total * 2 WHERE customer = 1 RETURNING id, total;
SELECT customer, sum(total), count(*) FROM psql_orders GROUP BY customer ORDER BY customer;
INSERT INTO psql_customers VALUES (2, 'Grace Hopper') ON CONFLICT (id) DO UPDATE SET name = excluded.name;
SELECT name FROM psql_customers WHERE id = 2;
SQL
)
expected="DROP TABLE
CREATE TABLE
CREATE TABLE
CREATE INDEX
INSERT 0 2
BEGIN
INSERT 0 3
SAVEPOINT
DELETE 1
1
ROLLBACK
COMMIT
2|1|20.00
1|1|10.50
1|21.00
2|40.00
UPDATE 2
1|61.00|2
2|7.25|1
INSERT 0 1
Grace Hopper"
if [ "$said" != "$expected" ]; then
    diff <(echo "$expected") <(echo "$said")
    exit 1
fi
for said in "\\dt|psql_orders" "\\d|psql_orders_id_seq" "\\di|psql_by_total" "\\l|$PGDATABASE" "\\dn|public" "\\du|Superuser" \
    "\\df|Argument" "\\d psql_orders|psql_by_total.*total DESC" "\\d psql_orders|FOREIGN KEY (customer) REFERENCES" \
    "\\d psql_customers|psql_customers_name_key.*UNIQUE" "\\d psql_by_total|Definition"; do
    shown=$(psql -X -v ON_ERROR_STOP=1 -c "${said%%|*}" 2>&1) || { echo "${said%%|*}: $shown"; exit 1; }
    grep -q "${said#*|}" <<<"$shown" || { echo "${said%%|*}: $shown"; exit 1; }
done
error=$(psql -X -c "INSERT INTO psql_orders (customer, total) VALUES (9, 1)" 2>&1) && exit 1
grep -q "psql_orders_customer_fkey" <<<"$error" || { echo "$error"; exit 1; }
file=$(mktemp)
seq 10 500 | sed 's/.*/&,name &/' >"$file"
psql -X -q -c "\\copy psql_customers FROM '$file' WITH (FORMAT csv)"
[ "$(psql -X -A -t -c "\\copy (SELECT id, name FROM psql_customers WHERE id >= 10) TO STDOUT (FORMAT csv)" | sort -n | cksum)" = "$(cksum <"$file")" ]
rm "$file"
psql --version
