/*
* A hash table with chains, written as for plain memory with two differences: links are offsets from the
 * segment's start, and memory comes from the segment's heap. Any number of processes may use it at once,
 * and any of them may be killed at any moment.
 *
 *     cc -I include hash_table.c -lsardonyx_capi -o hash_table
 *     hash_table DIRECTORY put KEY VALUE
 *     hash_table DIRECTORY get KEY
 *     hash_table DIRECTORY remove KEY
 *     hash_table DIRECTORY fill FIRST COUNT    puts KEY = FIRST... with VALUE = 7 * KEY, and prints
 *                                              each key when it is durable
 *     hash_table DIRECTORY check               reads every item; prints their number
 */

#include <inttypes.h>
#include <sardonyx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 4096
#define TABLE_TYPE "example.hash_table.v1"

struct table {
    uint64_t count;
    uint64_t buckets[BUCKETS]; /* offsets of the first items, 0 if there is none */
};

struct item {
    uint64_t key, value;
    uint64_t next; /* offset, 0 at the end */
};

static sdx_session *session;
static char *memory;
static struct table *table;

static void must(sdx_status status)
{
    if (status != SDX_OK) {
        fprintf(stderr, "%s: %s\n", sdx_status_name(status), sdx_error_message());
        exit(2);
    }
}

static struct item *item_at(uint64_t offset)
{
    return (struct item *) (memory + offset);
}

/* The link to a key's item, or the link where it would be inserted. */
static uint64_t *link_of(uint64_t key)
{
    uint64_t *link = &table->buckets[key * 0x9e3779b97f4a7c15u >> 52];
    while (*link != 0 && item_at(*link)->key != key)
        link = &item_at(*link)->next;
    return link;
}

/* The parts of transactions: they know nothing of other processes. */

static void put(uint64_t key, uint64_t value)
{
    uint64_t *link = link_of(key);
    if (*link == 0) {
        uint64_t offset;
        must(sdx_allocate(session, sizeof(struct item), _Alignof(struct item), &offset));
        *item_at(offset) = (struct item) { .key = key };
        *link = offset;
        table->count++;
    }
    item_at(*link)->value = value;
}

static int get(uint64_t key, uint64_t *value)
{
    uint64_t *link = link_of(key);
    if (*link != 0)
        *value = item_at(*link)->value;
    return *link != 0;
}

static int remove_key(uint64_t key)
{
    uint64_t *link = link_of(key);
    uint64_t offset = *link;
    if (offset == 0)
        return 0;
    *link = item_at(offset)->next;
    must(sdx_free(session, offset, sizeof(struct item), _Alignof(struct item)));
    table->count--;
    return 1;
}

/* Finds the table, or makes it. */
static void find_table(void)
{
    uint64_t offset;
    must(sdx_heap_make(session));
    sdx_status found = sdx_root_get(session, "table", TABLE_TYPE, sizeof(struct table),
                                    _Alignof(struct table), &offset);
    if (found == SDX_NOT_FOUND) {
        must(sdx_allocate(session, sizeof(struct table), _Alignof(struct table), &offset));
        memset(memory + offset, 0, sizeof(struct table));
        found = sdx_root_set(session, "table", TABLE_TYPE, sizeof(struct table),
                             _Alignof(struct table), offset);
    }
    must(found);
    table = (struct table *) (memory + offset);
}

/* Begins the transaction, or begins it again; after some conflicts exclusively. */
static void begin(int attempt)
{
    must(sdx_begin(session, attempt < 6 ? 0 : SDX_BEGIN_EXCLUSIVE));
}

/* Ends it. Returns true if it must be run again. */
static int again(void)
{
    sdx_status status = sdx_commit(session, SDX_COMMIT_WAIT, NULL);
    if (status != SDX_CONFLICT)
        must(status);
    return status == SDX_CONFLICT;
}

static uint64_t number(const char *text)
{
    return strtoull(text, NULL, 0);
}

static void fill(uint64_t first, uint64_t count)
{
    for (uint64_t key = first; key < first + count; key++) {
        int attempt = 0;
        do {
            begin(attempt++);
            put(key, 7 * key);
        } while (again());
        printf("%" PRIu64 "\n", key);
        fflush(stdout);
    }
}

static int check(void)
{
    uint64_t found = 0;
    begin(0);
    for (int bucket = 0; bucket < BUCKETS; bucket++)
        for (uint64_t at = table->buckets[bucket]; at != 0; at = item_at(at)->next) {
            const struct item *item = item_at(at);
            if (item->value != 7 * item->key || *link_of(item->key) != at) {
                fprintf(stderr, "the item of key %" PRIu64 " is wrong\n", item->key);
                return 1;
            }
            found++;
        }
    if (found != table->count) {
        fprintf(stderr, "%" PRIu64 " items and a count of %" PRIu64 "\n", found, table->count);
        return 1;
    }
    must(sdx_abort(session));
    printf("%" PRIu64 "\n", found);
    return 0;
}

static int run(int count, char **words)
{
    uint64_t value = 0;
    int found = 1, attempt = 0;
    if (strcmp(words[0], "check") == 0)
        return check();
    if (strcmp(words[0], "fill") == 0 && count == 3) {
        fill(number(words[1]), number(words[2]));
        return 0;
    }
    do {
        begin(attempt++);
        if (strcmp(words[0], "put") == 0 && count == 3)
            put(number(words[1]), number(words[2]));
        else if (strcmp(words[0], "remove") == 0 && count == 2)
            found = remove_key(number(words[1]));
        else if (strcmp(words[0], "get") == 0 && count == 2)
            found = get(number(words[1]), &value);
        else
            return 2;
    } while (again());
    if (found && strcmp(words[0], "get") == 0)
        printf("%" PRIu64 "\n", value);
    return !found;
}

int main(int count, char **words)
{
    sdx_segment *segment;
    void *address;
    if (count < 3) {
        fprintf(stderr, "hash_table DIRECTORY put|get|remove|fill|check ...\n");
        return 2;
    }
    must(sdx_open(words[1], NULL, &segment));
    must(sdx_session_open(segment, &session));
    must(sdx_session_address(session, &address));
    memory = address;
    int attempt = 0;
    do {
        begin(attempt++);
        find_table();
    } while (again());
    int outcome = run(count - 2, words + 2);
    must(sdx_session_close(session));
    must(sdx_close(segment));
    return outcome;
}
