/* Tables: schemas, transactions in both ways, every type, ranges, views from threads, and refusals. */

#define _GNU_SOURCE
#include "sardonyx.h"
#include "check.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct row {
    uint64_t id;
    int64_t small;
    sdx_int128 big;
    double ratio;
    uint8_t flag;
    sdx_text name;
    sdx_text blob;
    sdx_int128 price;
    int32_t day;
    int64_t hour;
    int64_t moment;
    uint8_t uuid[16];
    uint8_t no_name;
    uint8_t no_price;
};

#define FIELD(column, kind, field) { column, kind, offsetof(struct row, field), SDX_NEVER_NULL, 0 }

static const sdx_binding all[] = {
    FIELD("id", SDX_TYPE_UINT64, id),
    FIELD("small", SDX_TYPE_INT64, small),
    FIELD("big", SDX_TYPE_INT128, big),
    FIELD("ratio", SDX_TYPE_DOUBLE, ratio),
    FIELD("flag", SDX_TYPE_BOOL, flag),
    { "name", SDX_TYPE_TEXT, offsetof(struct row, name), offsetof(struct row, no_name), 0 },
    FIELD("blob", SDX_TYPE_BYTES, blob),
    { "price", SDX_TYPE_DECIMAL, offsetof(struct row, price), offsetof(struct row, no_price), 0 },
    FIELD("day", SDX_TYPE_DATE, day),
    FIELD("hour", SDX_TYPE_TIME, hour),
    FIELD("moment", SDX_TYPE_TIMESTAMP, moment),
    FIELD("uuid", SDX_TYPE_UUID, uuid),
};

static const char *const columns[][2] = {
    { "id", "u64" }, { "small", "i16" }, { "big", "i128" }, { "ratio", "f64" }, { "flag", "bool" },
    { "name", "text" }, { "blob", "bytes" }, { "price", "decimal(2)" }, { "day", "date" },
    { "hour", "time" }, { "moment", "timestamp" }, { "uuid", "uuid" },
};

static sdx_tables *tables;
static sdx_statement *rows;

static void create(void)
{
    sdx_schema *schema;
    OK(sdx_schema_new(&schema));
    for (size_t n = 0; n < COUNT(columns); n++) {
        int nullable = n == 5 || n == 7;
        OK(sdx_schema_column(schema, columns[n][0], columns[n][1], nullable ? SDX_NULLABLE : 0));
    }
    OK(sdx_schema_column(schema, "state", "text", 0));
    OK(sdx_schema_default(schema, "open"));
    OK(sdx_schema_key(schema, "id", 0));
    OK(sdx_schema_index(schema, "by_name", "name, id desc", SDX_ORDERED));
    OK(sdx_schema_index(schema, "by_uuid", "uuid", SDX_ORDERED | SDX_UNIQUE));
    OK(sdx_schema_check(schema, "ratio_is_one", "ratio <= 1"));
    OK(sdx_schema_check(schema, "short_name", "length(name) < 200000 and small % 1000 <> 999"));
    OK(sdx_table_create(tables, "things", schema));
    OK(sdx_table_create(tables, "things", schema));
    STATUS(SDX_INVALID_ARGUMENT, sdx_schema_column(schema, "x", "varchar", 0));
    CHECK(strstr(sdx_error_message(), "\"x\"") && strstr(sdx_error_message(), "varchar"));
    STATUS(SDX_INVALID_ARGUMENT, sdx_schema_column(schema, "x", "text", 8));
    OK(sdx_schema_column(schema, "more", "u8", 0));
    STATUS(SDX_REFUSED, sdx_table_create(tables, "things", schema));
    OK(sdx_schema_close(schema));
    STATUS(SDX_INVALID_HANDLE, sdx_schema_close(schema));
    OK(sdx_schema_new(&schema));
    OK(sdx_schema_column(schema, "id", "u64", 0));
    STATUS(SDX_REFUSED, sdx_table_create(tables, "keyless", schema));
    OK(sdx_schema_close(schema));
}

static void look(void)
{
    char name[64];
    OK(sdx_table_name(tables, 0, name, sizeof name));
    CHECK(strcmp(name, "things") == 0);
    STATUS(SDX_LIMIT, sdx_table_name(tables, 0, name, 6));
    STATUS(SDX_NOT_FOUND, sdx_table_name(tables, 1, name, sizeof name));
    sdx_column column = { .size = sizeof column };
    OK(sdx_table_column(tables, "things", 7, &column));
    CHECK(strcmp(column.name, "price") == 0 && strcmp(column.kind, "decimal(2)") == 0);
    CHECK(column.nullable == 1 && column.key == 0);
    OK(sdx_table_column(tables, "things", 0, &column));
    CHECK(column.nullable == 0 && column.key == 1);
    STATUS(SDX_NOT_FOUND, sdx_table_column(tables, "things", 13, &column));
    STATUS(SDX_REFUSED, sdx_table_column(tables, "nothings", 0, &column));
    column.size = 0;
    STATUS(SDX_INVALID_ARGUMENT, sdx_table_column(tables, "things", 0, &column));
}

static struct row make(uint64_t id, const char *name)
{
    struct row row;
    memset(&row, 0, sizeof row);
    row.id = id;
    row.small = -(int64_t) id;
    row.big.low = id;
    row.big.high = -1;
    row.ratio = 0.5;
    row.flag = id % 2;
    row.name.data = name;
    row.name.bytes = name ? strlen(name) : 0;
    row.no_name = name == NULL;
    row.blob.data = "\0\1\2";
    row.blob.bytes = 3;
    row.price.low = 1234;
    row.no_price = id % 3 == 0;
    row.day = 20000;
    row.hour = 3600000000;
    row.moment = -1;
    row.uuid[0] = (uint8_t) id;
    row.uuid[15] = 7;
    return row;
}

static void same(const struct row *found, const struct row *expected)
{
    CHECK(found->id == expected->id && found->small == expected->small);
    CHECK(found->big.low == expected->big.low && found->big.high == expected->big.high);
    CHECK(found->ratio == expected->ratio && found->flag == expected->flag);
    CHECK(found->no_name == expected->no_name && found->name.bytes == expected->name.bytes);
    CHECK(found->name.bytes == 0 || memcmp(found->name.data, expected->name.data, found->name.bytes) == 0);
    CHECK(found->blob.bytes == 3 && memcmp(found->blob.data, "\0\1\2", 3) == 0);
    CHECK(found->no_price == expected->no_price);
    CHECK(found->price.low == (expected->no_price ? 0 : 1234) && found->price.high == 0);
    CHECK(found->day == 20000 && found->hour == 3600000000 && found->moment == -1);
    CHECK(memcmp(found->uuid, expected->uuid, 16) == 0);
}

static void by_hand(void)
{
    sdx_transaction *transaction, *second;
    OK(sdx_transaction_begin(tables, &transaction));
    /* It blocks no other one: another begins and ends, and all is made durable. */
    OK(sdx_transaction_begin(tables, &second));
    struct row aside = make(70, "aside");
    OK(sdx_insert(second, rows, &aside));
    OK(sdx_transaction_commit(second, SDX_COMMIT_WAIT, NULL));
    OK(sdx_tables_flush(tables));
    OK(sdx_transaction_begin(tables, &second));
    OK(sdx_delete(second, rows, &aside));
    OK(sdx_transaction_commit(second, SDX_COMMIT_LATER, NULL));
    /* The longest key has 4096 bytes. */
    static char long_name[100001];
    memset(long_name, 'n', 100000);
    struct row one = make(1, long_name), two = make(2, NULL), found;
    STATUS(SDX_LIMIT, sdx_insert(transaction, rows, &one));
    CHECK(strstr(sdx_error_message(), "by_name"));
    one.name.bytes = 4000;
    OK(sdx_insert(transaction, rows, &one));
    OK(sdx_insert(transaction, rows, &two));
    STATUS(SDX_DUPLICATE, sdx_insert(transaction, rows, &one));
    CHECK(strstr(sdx_error_message(), "things") && strstr(sdx_error_message(), "1"));
    memset(&found, 0xee, sizeof found);
    found.id = 1;
    OK(sdx_get(transaction, rows, &found));
    same(&found, &one);
    found.id = 2;
    OK(sdx_get(transaction, rows, &found));
    same(&found, &two);
    found.id = 3;
    STATUS(SDX_NOT_FOUND, sdx_get(transaction, rows, &found));
    STATUS(SDX_NOT_FOUND, sdx_update(transaction, rows, &found));
    STATUS(SDX_NOT_FOUND, sdx_delete(transaction, rows, &found));
    /* The transaction continues after a failed operation, which has no effect. */
    struct row bad = make(3, "three");
    bad.small = 40000;
    STATUS(SDX_REFUSED, sdx_insert(transaction, rows, &bad));
    CHECK(strstr(sdx_error_message(), "small") && strstr(sdx_error_message(), "40000"));
    bad = make(3, "\xff");
    STATUS(SDX_REFUSED, sdx_insert(transaction, rows, &bad));
    CHECK(strstr(sdx_error_message(), "name") && strstr(sdx_error_message(), "UTF-8"));
    bad = make(3, "three");
    bad.flag = 2;
    STATUS(SDX_REFUSED, sdx_insert(transaction, rows, &bad));
    bad = make(3, "three");
    bad.ratio = 2;
    STATUS(SDX_REFUSED, sdx_insert(transaction, rows, &bad));
    CHECK(strstr(sdx_error_message(), "ratio_is_one"));
    bad = make(3, "three");
    bad.small = 1999;
    STATUS(SDX_REFUSED, sdx_insert(transaction, rows, &bad));
    CHECK(strstr(sdx_error_message(), "short_name"));
    bad = make(3, "three");
    bad.uuid[0] = 1;
    STATUS(SDX_DUPLICATE, sdx_insert(transaction, rows, &bad));
    bad.name.data = NULL;
    STATUS(SDX_REFUSED, sdx_insert(transaction, rows, &bad));
    STATUS(SDX_INVALID_ARGUMENT, sdx_insert(transaction, rows, NULL));
    OK(sdx_transaction_commit(transaction, SDX_COMMIT_WAIT, NULL));
    STATUS(SDX_INVALID_HANDLE, sdx_transaction_abort(transaction));
    OK(sdx_transaction_begin(tables, &transaction));
    two.name.data = "zwei";
    two.name.bytes = 4;
    two.no_name = 0;
    int replaced = 5;
    OK(sdx_put(transaction, rows, &two, &replaced));
    CHECK(replaced == 1);
    OK(sdx_delete(transaction, rows, &one));
    OK(sdx_transaction_abort(transaction));
    uint64_t count;
    OK(sdx_table_rows(tables, "things", &count));
    CHECK(count == 2);
}

/* A change of read data before the end is a conflict, and the transaction has no effect. */
static void conflicts(void)
{
    sdx_transaction *one, *other;
    struct row row = make(1, NULL), fresh = make(80, "fresh");
    uint64_t before, after;
    OK(sdx_table_rows(tables, "things", &before));
    OK(sdx_transaction_begin(tables, &one));
    OK(sdx_transaction_begin(tables, &other));
    OK(sdx_get(one, rows, &row));
    OK(sdx_insert(one, rows, &fresh));
    int small = row.small;
    row.small = 77;
    OK(sdx_update(other, rows, &row));
    OK(sdx_transaction_commit(other, SDX_COMMIT_WAIT, NULL));
    /* It sees the state of its begin. */
    OK(sdx_get(one, rows, &row));
    CHECK(row.small == small);
    STATUS(SDX_CONFLICT, sdx_transaction_commit(one, SDX_COMMIT_WAIT, NULL));
    CHECK(strstr(sdx_error_message(), "things") && strstr(sdx_error_message(), "key 1"));
    STATUS(SDX_INVALID_HANDLE, sdx_transaction_abort(one));
    OK(sdx_table_rows(tables, "things", &after));
    CHECK(before == after);
    /* The second run succeeds; and the old value is restored. */
    OK(sdx_transaction_begin(tables, &one));
    OK(sdx_get(one, rows, &row));
    CHECK(row.small == 77);
    row.small = small;
    OK(sdx_update(one, rows, &row));
    OK(sdx_transaction_commit(one, SDX_COMMIT_WAIT, NULL));
}

static int fill(sdx_transaction *transaction, void *user)
{
    uint64_t *last = user;
    for (uint64_t id = 3; id <= *last; id++) {
        char name[20];
        snprintf(name, sizeof name, "%c%02d", id % 2 ? 'a' : 'b', (int) id);
        struct row row = make(id, name);
        OK(sdx_insert(transaction, rows, &row));
        row.small = 9;
        OK(sdx_update(transaction, rows, &row));
    }
    sdx_transaction *other;
    STATUS(SDX_INSIDE_TRANSACTION, sdx_transaction_begin(tables, &other));
    STATUS(SDX_INVALID_ARGUMENT, sdx_transaction_abort(transaction));
    CHECK(sdx_transaction_run(tables, fill, user, 0, NULL) == SDX_INSIDE_TRANSACTION);
    return 0;
}

static int undo(sdx_transaction *transaction, void *user)
{
    struct row row = { .id = 4 };
    OK(sdx_delete(transaction, rows, &row));
    *(sdx_transaction **) user = transaction;
    return 1234;
}

static void as_functions(void)
{
    uint64_t last = 50, count;
    sdx_ticket *ticket;
    CHECK(sdx_transaction_run(tables, fill, &last, SDX_COMMIT_LATER, &ticket) == 0);
    OK(sdx_ticket_wait(ticket));
    OK(sdx_ticket_wait(ticket));
    OK(sdx_ticket_close(ticket));
    sdx_transaction *over;
    CHECK(sdx_transaction_run(tables, undo, &over, 0, NULL) == 1234);
    struct row row = make(99, "x");
    STATUS(SDX_INVALID_HANDLE, sdx_insert(over, rows, &row));
    CHECK(sdx_transaction_run(tables, NULL, NULL, 0, NULL) == SDX_INVALID_ARGUMENT);
    CHECK(sdx_transaction_run(tables, undo, NULL, 7, NULL) == SDX_INVALID_ARGUMENT);
    OK(sdx_table_rows(tables, "things", &count));
    CHECK(count == 50);
}

/* The ids that a range of a view finds, as text. */
static void finds(sdx_view *view, const sdx_range *range, const char *expected)
{
    sdx_cursor *cursor;
    OK(sdx_view_find(view, rows, range, &cursor));
    char found[400] = "";
    struct row row;
    sdx_status status;
    while ((status = sdx_next(cursor, &row)) == SDX_OK)
        sprintf(found + strlen(found), "%d ", (int) row.id);
    STATUS(SDX_END, status);
    STATUS(SDX_END, sdx_next(cursor, &row));
    OK(sdx_cursor_close(cursor));
    if (strcmp(found, expected) != 0) {
        fprintf(stderr, "found %s, not %s\n", found, expected);
        exit(1);
    }
}

static void ranges(void)
{
    sdx_view *view;
    OK(sdx_view_open(tables, &view));
    struct row from = make(0, "a40"), to = make(0, "b04");
    sdx_range range = { .size = sizeof range, .index = "by_name", .from = &from, .to = &to,
                        .from_columns = 1, .to_columns = 1 };
    finds(view, &range, "41 43 45 47 49 4 ");
    range.flags = SDX_RANGE_TO_EXCLUDED | SDX_RANGE_REVERSE;
    finds(view, &range, "49 47 45 43 41 ");
    range.limit = 2;
    finds(view, &range, "49 47 ");
    range = (sdx_range) { .size = sizeof range, .index = "by_name", .from = &from, .from_columns = 1,
                          .flags = SDX_RANGE_STARTS_WITH };
    from.name.data = "b4";
    from.name.bytes = 2;
    finds(view, &range, "40 42 44 46 48 ");
    from = make(47, "a47");
    range = (sdx_range) { .size = sizeof range, .index = "by_name", .from = &from, .from_columns = 2,
                          .flags = SDX_RANGE_FROM_EXCLUDED, .limit = 1 };
    finds(view, &range, "49 ");
    /* Nulls come last. */
    range = (sdx_range) { .size = sizeof range, .index = "by_name", .flags = SDX_RANGE_REVERSE, .limit = 1 };
    finds(view, &range, "2 ");

    sdx_cursor *cursor;
    range.index = "by_colour";
    STATUS(SDX_REFUSED, sdx_view_find(view, rows, &range, &cursor));
    range.index = "by_name";
    range.from = &from;
    range.from_columns = 3;
    STATUS(SDX_REFUSED, sdx_view_find(view, rows, &range, &cursor));
    range.size = 3;
    STATUS(SDX_INVALID_ARGUMENT, sdx_view_find(view, rows, &range, &cursor));
    range = (sdx_range) { .size = sizeof range, .from = &from, .from_columns = 1 };
    STATUS(SDX_INVALID_ARGUMENT, sdx_view_find(view, rows, &range, &cursor));

    /* A cursor outlives its view; a transaction changes rows while it reads them. */
    OK(sdx_view_find(view, rows, NULL, &cursor));
    OK(sdx_view_close(view));
    sdx_transaction *transaction;
    sdx_cursor *of_transaction;
    struct row row;
    OK(sdx_transaction_begin(tables, &transaction));
    OK(sdx_find(transaction, rows, NULL, &of_transaction));
    int count = 0;
    while (sdx_next(of_transaction, &row) == SDX_OK) {
        OK(sdx_delete(transaction, rows, &row));
        count++;
    }
    CHECK(count == 50);
    OK(sdx_cursor_close(of_transaction));
    OK(sdx_transaction_commit(transaction, SDX_COMMIT_LATER, NULL));
    count = 0;
    while (sdx_next(cursor, &row) == SDX_OK)
        count++;
    CHECK(count == 50);
    OK(sdx_cursor_close(cursor));
}

static void *read_all(void *user)
{
    sdx_view *view = user;
    sdx_statement *own;
    sdx_cursor *cursor;
    struct row row;
    OK(sdx_prepare(tables, "things", all, COUNT(all), sizeof(struct row), &own));
    for (int round = 0; round < 20; round++) {
        int count = 0;
        OK(sdx_view_find(view, own, NULL, &cursor));
        while (sdx_next(cursor, &row) == SDX_OK)
            count++;
        OK(sdx_cursor_close(cursor));
        CHECK(count == 48);
    }
    OK(sdx_statement_close(own));
    return NULL;
}

static int clear(sdx_transaction *transaction, void *user)
{
    (void) user;
    for (uint64_t id = 3; id <= 50; id++) {
        struct row row = { .id = id };
        OK(sdx_delete(transaction, rows, &row));
    }
    return 0;
}

static void threads(void)
{
    uint64_t last = 50;
    CHECK(sdx_transaction_run(tables, fill, &last, 0, NULL) == 0);
    sdx_view *view;
    OK(sdx_view_open(tables, &view));
    pthread_t readers[2];
    for (int n = 0; n < 2; n++)
        CHECK(pthread_create(&readers[n], NULL, read_all, view) == 0);
    for (int n = 0; n < 10; n++) {
        CHECK(sdx_transaction_run(tables, clear, NULL, SDX_COMMIT_LATER, NULL) == 0);
        CHECK(sdx_transaction_run(tables, fill, &last, SDX_COMMIT_LATER, NULL) == 0);
    }
    for (int n = 0; n < 2; n++)
        CHECK(pthread_join(readers[n], NULL) == 0);
    uint64_t count;
    OK(sdx_view_rows(view, "things", &count));
    CHECK(count == 48);
    OK(sdx_view_close(view));
}

static void statements(void)
{
    sdx_statement *statement;
    sdx_binding one = FIELD("id", SDX_TYPE_UINT64, id);
    one.column = "colour";
    STATUS(SDX_REFUSED, sdx_prepare(tables, "things", &one, 1, sizeof(struct row), &statement));
    CHECK(strstr(sdx_error_message(), "colour"));
    one.column = "name";
    STATUS(SDX_REFUSED, sdx_prepare(tables, "things", &one, 1, sizeof(struct row), &statement));
    CHECK(strstr(sdx_error_message(), "text"));
    one.column = "id";
    STATUS(SDX_INVALID_ARGUMENT, sdx_prepare(tables, "things", &one, 1, 7, &statement));
    STATUS(SDX_INVALID_ARGUMENT, sdx_prepare(tables, "things", &one, 99, 8, &statement));
    STATUS(SDX_REFUSED, sdx_prepare(tables, "nothings", &one, 1, 8, &statement));
    sdx_binding twice[] = { one, one };
    STATUS(SDX_REFUSED, sdx_prepare(tables, "things", twice, 2, 8, &statement));
    /* Columns that may be null, read without a flag; a key that is not bound. */
    sdx_binding name[] = { one, FIELD("name", SDX_TYPE_TEXT, name) };
    OK(sdx_prepare(tables, "things", name, 2, sizeof(struct row), &statement));
    struct row row = make(2, NULL);
    row.name.bytes = 0;
    sdx_transaction *transaction;
    OK(sdx_transaction_begin(tables, &transaction));
    struct row null = make(60, NULL);
    OK(sdx_insert(transaction, rows, &null));
    row.id = 60;
    STATUS(SDX_REFUSED, sdx_get(transaction, statement, &row));
    CHECK(strstr(sdx_error_message(), "null"));
    OK(sdx_statement_close(statement));
    STATUS(SDX_INVALID_ARGUMENT, sdx_transaction_commit(transaction, 9, NULL));
    OK(sdx_transaction_abort(transaction));
    OK(sdx_prepare(tables, "things", name + 1, 1, sizeof(struct row), &statement));
    OK(sdx_transaction_begin(tables, &transaction));
    STATUS(SDX_REFUSED, sdx_get(transaction, statement, &row));
    CHECK(strstr(sdx_error_message(), "\"id\""));
    STATUS(SDX_INVALID_HANDLE, sdx_get((sdx_transaction *) statement, rows, &row));
    OK(sdx_transaction_abort(transaction));
    OK(sdx_statement_close(statement));
}

static void forked(void)
{
    sdx_transaction *parents;
    struct row row = { .id = 7 };
    OK(sdx_transaction_begin(tables, &parents));
    OK(sdx_get(parents, rows, &row));
    pid_t child = fork();
    if (child == 0) {
        sdx_transaction *transaction;
        sdx_view *view;
        STATUS(SDX_FORKED, sdx_get(parents, rows, &row));
        STATUS(SDX_FORKED, sdx_transaction_commit(parents, SDX_COMMIT_WAIT, NULL));
        STATUS(SDX_FORKED, sdx_transaction_begin(tables, &transaction));
        STATUS(SDX_FORKED, sdx_view_open(tables, &view));
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    OK(sdx_get(parents, rows, &row));
    OK(sdx_transaction_commit(parents, SDX_COMMIT_WAIT, NULL));
}

int main(void)
{
    OK(sdx_tables_open("tables.sdx", &tables));
    sdx_tables *twice;
    STATUS(SDX_LOCKED, sdx_tables_open("tables.sdx", &twice));
    create();
    look();
    OK(sdx_prepare(tables, "things", all, COUNT(all), sizeof(struct row), &rows));
    by_hand();
    conflicts();
    as_functions();
    ranges();
    threads();
    statements();
    forked();
    OK(sdx_tables_backup(tables, "backup.sdx"));
    STATUS(SDX_REFUSED, sdx_tables_backup(tables, "backup.sdx"));
    OK(sdx_tables_flush(tables));
    sdx_transaction *left;
    struct row of_left = { .id = 7 };
    OK(sdx_transaction_begin(tables, &left));
    OK(sdx_tables_close(tables));
    STATUS(SDX_INVALID_HANDLE, sdx_tables_flush(tables));
    /* The close ends a transaction that was left open. */
    STATUS(SDX_CLOSED, sdx_get(left, rows, &of_left));
    STATUS(SDX_CLOSED, sdx_transaction_commit(left, SDX_COMMIT_WAIT, NULL));

    /* The row is found when the database is opened again; the statement was the closed one's. */
    OK(sdx_tables_open("backup.sdx", &tables));
    uint64_t count;
    OK(sdx_table_rows(tables, "things", &count));
    CHECK(count == 48);
    sdx_transaction *transaction;
    struct row row = { .id = 7 };
    OK(sdx_transaction_begin(tables, &transaction));
    OK(sdx_get(transaction, rows, &row));
    CHECK(row.small == 9);
    OK(sdx_transaction_abort(transaction));
    OK(sdx_table_drop(tables, "things"));
    OK(sdx_transaction_begin(tables, &transaction));
    STATUS(SDX_REFUSED, sdx_get(transaction, rows, &row));
    OK(sdx_transaction_abort(transaction));
    OK(sdx_tables_close(tables));
    OK(sdx_statement_close(rows));
    return 0;
}
