/* A function that the Rust crate of RocksDB names, and that Debian's older library lacks. The crate calls it
 * where a write buffer manager is dropped, and nothing here makes one. */

#include <stdlib.h>

void rocksdb_write_buffer_manager_destroy(void *manager) {
    (void)manager;
    abort();
}
