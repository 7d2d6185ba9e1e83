/* Followers: one process writes, another one, which never has the database open, reads its commits. */

#define _GNU_SOURCE
#include "sardonyx.h"
#include "check.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECONDS(count) ((count) * (uint64_t) 1000000)

struct account {
    uint64_t id;
    sdx_text owner;
    int64_t balance;
};

static const sdx_binding bindings[] = {
    { "id", SDX_TYPE_UINT64, offsetof(struct account, id), SDX_NEVER_NULL, 0 },
    { "owner", SDX_TYPE_TEXT, offsetof(struct account, owner), SDX_NEVER_NULL, 0 },
    { "balance", SDX_TYPE_INT64, offsetof(struct account, balance), SDX_NEVER_NULL, 0 },
};

/* Positions go to the reader, and a byte comes back for each. */
static int to_reader[2], to_writer[2];

static uint64_t receive(void)
{
    uint64_t position;
    CHECK(read(to_reader[0], &position, sizeof position) == sizeof position);
    return position;
}

static void answer(void)
{
    CHECK(write(to_writer[1], "", 1) == 1);
}

static void send_position(sdx_tables *tables)
{
    uint64_t position;
    char byte;
    OK(sdx_tables_position(tables, &position));
    CHECK(write(to_reader[1], &position, sizeof position) == sizeof position);
    CHECK(read(to_writer[0], &byte, 1) == 1);
}

/* A follower, and a position that it has reached. */
struct waiting {
    sdx_follower *follower;
    uint64_t reached;
    pthread_barrier_t has_waited;
};

static void *wait_for_what_never_comes(void *user)
{
    struct waiting *waiting = user;
    OK(sdx_follower_wait(waiting->follower, waiting->reached, SECONDS(60)));
    pthread_barrier_wait(&waiting->has_waited);
    /* The close comes during the wait, or before it. */
    sdx_status status = sdx_follower_wait(waiting->follower, UINT64_MAX, SECONDS(3600));
    CHECK(status == SDX_CLOSED || status == SDX_INVALID_HANDLE);
    return NULL;
}

static int64_t balance_of(sdx_view *view, sdx_statement *statement, uint64_t id)
{
    struct account account = { .id = id };
    OK(sdx_view_get(view, statement, &account));
    return account.balance;
}

static void tables_of(sdx_view *view)
{
    char name[64];
    OK(sdx_view_table(view, 0, name, sizeof name));
    CHECK(strcmp(name, "accounts") == 0);
    STATUS(SDX_NOT_FOUND, sdx_view_table(view, 1, name, sizeof name));
    STATUS(SDX_LIMIT, sdx_view_table(view, 0, name, 8));
    STATUS(SDX_INVALID_ARGUMENT, sdx_view_table(view, 0, NULL, 64));
    sdx_column column = { .size = sizeof column };
    OK(sdx_view_column(view, "accounts", 1, &column));
    CHECK(strcmp(column.name, "owner") == 0 && strcmp(column.kind, "text") == 0);
    STATUS(SDX_NOT_FOUND, sdx_view_column(view, "accounts", 3, &column));
    STATUS(SDX_REFUSED, sdx_view_column(view, "nothings", 0, &column));
    sdx_statement *statement;
    STATUS(SDX_REFUSED, sdx_view_prepare(view, "nothings", bindings, 3, sizeof(struct account), &statement));
    STATUS(SDX_INVALID_ARGUMENT, sdx_view_prepare(view, "accounts", NULL, 3, sizeof(struct account), &statement));
    STATUS(SDX_INVALID_ARGUMENT, sdx_view_prepare(view, "accounts", bindings, 3, 8, &statement));
}

static void refusals(void)
{
    sdx_follower *follower;
    STATUS(SDX_NOT_FOUND, sdx_follow("no-database", 0, 0, &follower));
    CHECK(access("no-database", F_OK) != 0);
    STATUS(SDX_INVALID_ARGUMENT, sdx_follow(NULL, 0, 0, &follower));
    STATUS(SDX_INVALID_ARGUMENT, sdx_follow("bank.sdx", 0, 0, NULL));
    STATUS(SDX_FULL, sdx_follow("bank.sdx", 4096, 0, &follower));
}

static void reader(void)
{
    uint64_t position = receive();
    refusals();
    sdx_follower *follower;
    OK(sdx_follow("bank.sdx", 1 << 30, 1 << 20, &follower));
    OK(sdx_follower_wait(follower, position, SECONDS(60)));
    sdx_view *before, *after, *none;
    OK(sdx_follower_view(follower, SDX_ANY_LAG, &before));
    tables_of(before);
    sdx_statement *accounts;
    OK(sdx_view_prepare(before, "accounts", bindings, 3, sizeof(struct account), &accounts));
    CHECK(balance_of(before, accounts, 1) == 100);
    answer();

    position = receive();
    OK(sdx_follower_wait(follower, position, SECONDS(60)));
    OK(sdx_follower_view(follower, SECONDS(60), &after));
    CHECK(balance_of(after, accounts, 1) == 70 && balance_of(before, accounts, 1) == 100);
    uint64_t reached, lag, rows;
    OK(sdx_follower_position(follower, &reached));
    CHECK(reached >= position);
    OK(sdx_view_rows(after, "accounts", &rows));
    CHECK(rows == 2);
    sdx_cursor *cursor;
    struct account account;
    OK(sdx_view_find(after, accounts, NULL, &cursor));
    for (rows = 0; sdx_next(cursor, &account) == SDX_OK; rows++)
        CHECK(account.id == 1 || (account.owner.bytes == 5 && memcmp(account.owner.data, "Grace", 5) == 0));
    CHECK(rows == 2);
    OK(sdx_cursor_close(cursor));

    /* The lag has begun to grow when it is read. */
    OK(sdx_follower_lag(follower, &lag));
    CHECK(lag > 0 && lag < SECONDS(60));
    STATUS(SDX_UNAVAILABLE, sdx_follower_view(follower, 0, &none));
    CHECK(strstr(sdx_error_message(), "behind"));
    STATUS(SDX_UNAVAILABLE, sdx_follower_wait(follower, position + 1000, 1000));
    STATUS(SDX_INVALID_ARGUMENT, sdx_follower_lag(follower, NULL));
    STATUS(SDX_INVALID_HANDLE, sdx_follower_view((sdx_follower *) after, SDX_ANY_LAG, &none));

    pthread_t waiter;
    struct waiting waiting = { .follower = follower, .reached = position };
    CHECK(pthread_barrier_init(&waiting.has_waited, NULL, 2) == 0);
    CHECK(pthread_create(&waiter, NULL, wait_for_what_never_comes, &waiting) == 0);
    pthread_barrier_wait(&waiting.has_waited);
    OK(sdx_follower_close(follower));
    CHECK(pthread_join(waiter, NULL) == 0);
    CHECK(pthread_barrier_destroy(&waiting.has_waited) == 0);
    STATUS(SDX_INVALID_HANDLE, sdx_follower_position(follower, &reached));
    CHECK(balance_of(after, accounts, 2) == 5);
    OK(sdx_view_close(before));
    OK(sdx_view_close(after));
    OK(sdx_statement_close(accounts));
    answer();
}

static void writer(void)
{
    sdx_tables *tables;
    sdx_schema *schema;
    sdx_statement *accounts;
    sdx_transaction *transaction;
    OK(sdx_tables_open("bank.sdx", &tables));
    OK(sdx_schema_new(&schema));
    OK(sdx_schema_column(schema, "id", "u64", 0));
    OK(sdx_schema_column(schema, "owner", "text", 0));
    OK(sdx_schema_column(schema, "balance", "i64", 0));
    OK(sdx_schema_key(schema, "id", 0));
    OK(sdx_table_create(tables, "accounts", schema));
    OK(sdx_schema_close(schema));
    OK(sdx_prepare(tables, "accounts", bindings, 3, sizeof(struct account), &accounts));
    OK(sdx_transaction_begin(tables, &transaction));
    OK(sdx_insert(transaction, accounts, &(struct account) { 1, { "Ada", 3 }, 100 }));
    OK(sdx_transaction_commit(transaction, SDX_COMMIT_WAIT, NULL));
    send_position(tables);
    OK(sdx_transaction_begin(tables, &transaction));
    OK(sdx_update(transaction, accounts, &(struct account) { 1, { "Ada", 3 }, 70 }));
    OK(sdx_insert(transaction, accounts, &(struct account) { 2, { "Grace", 5 }, 5 }));
    OK(sdx_transaction_commit(transaction, SDX_COMMIT_WAIT, NULL));
    send_position(tables);
    STATUS(SDX_INVALID_ARGUMENT, sdx_tables_position(tables, NULL));
    OK(sdx_statement_close(accounts));
    OK(sdx_tables_close(tables));
}

int main(void)
{
    CHECK(pipe(to_reader) == 0 && pipe(to_writer) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        /* The end of the writer is the end of the pipe. */
        close(to_reader[1]);
        reader();
        return 0;
    }
    close(to_writer[1]);
    writer();
    int ended;
    CHECK(waitpid(child, &ended, 0) == child);
    CHECK(WIFEXITED(ended) && WEXITSTATUS(ended) == 0);
    return 0;
}
