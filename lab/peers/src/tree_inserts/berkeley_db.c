/* Berkeley DB's interface is a table of function pointers whose layout only db.h knows; so the few
 * calls that are used are made here, and what Rust sees are plain functions. All return 0, an errno
 * or one of Berkeley DB's own negative numbers. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <db.h>

struct sardonyx_berkeley {
    DB_ENV *environment;
    DB *tree;
};

enum { CACHE_BYTES = 512 << 20, LOG_BUFFER_BYTES = 16 << 20, LOG_FILE_BYTES = 64 << 20 };

static DBT bytes(const void *data, u_int32_t size) {
    DBT dbt;
    memset(&dbt, 0, sizeof dbt);
    dbt.data = (void *)data;
    dbt.size = size;
    return dbt;
}

int sardonyx_berkeley_close(struct sardonyx_berkeley *self) {
    int result = 0, failed;
    if (self->tree != NULL && (failed = self->tree->close(self->tree, 0)) != 0) result = failed;
    if (self->environment != NULL
        && (failed = self->environment->close(self->environment, 0)) != 0)
        result = failed;
    free(self);
    return result;
}

static int open_all(struct sardonyx_berkeley *self, const char *directory, int recover,
                    int shared) {
    int failed;
    DB_ENV *environment;
    if ((failed = db_env_create(&environment, 0)) != 0) return failed;
    self->environment = environment;
    environment->set_errfile(environment, NULL);
    u_int32_t flags =
        DB_CREATE | DB_INIT_LOCK | DB_INIT_LOG | DB_INIT_MPOOL | DB_INIT_TXN | DB_THREAD;
    if (recover) flags |= DB_RECOVER;
    if (!shared) flags |= DB_PRIVATE;
    if ((failed = environment->set_cachesize(environment, 0, CACHE_BYTES, 1)) != 0
        || (failed = environment->set_lg_bsize(environment, LOG_BUFFER_BYTES)) != 0
        || (failed = environment->set_lg_max(environment, LOG_FILE_BYTES)) != 0
        || (failed = environment->log_set_config(environment, DB_LOG_ZERO, 1)) != 0
        || (failed = environment->set_lk_detect(environment, DB_LOCK_MINWRITE)) != 0
        || (failed = environment->open(environment, directory, flags, 0)) != 0)
        return failed;
    if ((failed = db_create(&self->tree, environment, 0)) != 0) return failed;
    return self->tree->open(self->tree, NULL, "tree.db", NULL, DB_BTREE,
                            DB_CREATE | DB_AUTO_COMMIT | DB_THREAD, 0);
}

/* Opens or makes the tree. `recover`: this is the first process; `shared`: others will follow. */
int sardonyx_berkeley_open(const char *directory, int recover, int shared,
                           struct sardonyx_berkeley **opened) {
    struct sardonyx_berkeley *self = calloc(1, sizeof *self);
    if (self == NULL) return ENOMEM;
    int failed = open_all(self, directory, recover, shared);
    if (failed != 0) {
        (void)sardonyx_berkeley_close(self);
        return failed;
    }
    *opened = self;
    return 0;
}

/* One transaction, begun again if it was chosen to end a deadlock. */
int sardonyx_berkeley_insert(struct sardonyx_berkeley *self, const void *key, u_int32_t key_bytes,
                             const void *value, u_int32_t value_bytes, int sync) {
    DB_ENV *environment = self->environment;
    for (;;) {
        DB_TXN *transaction;
        int failed = environment->txn_begin(environment, NULL, &transaction, 0);
        if (failed != 0) return failed;
        DBT key_dbt = bytes(key, key_bytes), value_dbt = bytes(value, value_bytes);
        failed = self->tree->put(self->tree, transaction, &key_dbt, &value_dbt, DB_NOOVERWRITE);
        if (failed == 0)
            return transaction->commit(transaction, sync ? DB_TXN_SYNC : DB_TXN_NOSYNC);
        int not_aborted = transaction->abort(transaction);
        if (not_aborted != 0) return not_aborted;
        if (failed != DB_LOCK_DEADLOCK) return failed;
    }
}

/* Copies the value to `value`, which has room for `room` bytes; *found is 0 if there is none. */
int sardonyx_berkeley_get(struct sardonyx_berkeley *self, const void *key, u_int32_t key_bytes,
                          void *value, u_int32_t room, u_int32_t *value_bytes, int *found) {
    DBT key_dbt = bytes(key, key_bytes), value_dbt = bytes(value, 0);
    value_dbt.ulen = room;
    value_dbt.flags = DB_DBT_USERMEM;
    int failed = self->tree->get(self->tree, NULL, &key_dbt, &value_dbt, 0);
    *found = failed == 0;
    *value_bytes = value_dbt.size;
    return failed == DB_NOTFOUND ? 0 : failed;
}

/* Counts the entries by going through the whole tree. */
int sardonyx_berkeley_count(struct sardonyx_berkeley *self, u_int64_t *count) {
    DB_BTREE_STAT *statistics;
    int failed = self->tree->stat(self->tree, NULL, &statistics, 0);
    if (failed != 0) return failed;
    *count = statistics->bt_nkeys;
    free(statistics);
    return 0;
}

/* Writes all changed pages and a checkpoint record. */
int sardonyx_berkeley_checkpoint(struct sardonyx_berkeley *self) {
    return self->environment->txn_checkpoint(self->environment, 0, 0, DB_FORCE);
}

const char *sardonyx_berkeley_message(int error) { return db_strerror(error); }
