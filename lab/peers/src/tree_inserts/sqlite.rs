//! SQLite, by `rusqlite`: one rowid table whose integer primary key is the key; an insert is one
//! prepared statement that commits by itself. A session is a connection.
//!
//! The write-ahead log with `synchronous=FULL` is synced at every commit, by `fdatasync` (see the other comparison's
//! adapter). A single connection locks the file for itself, which saves the shared-memory index. With several, a
//! waiting one retries after about the time of a commit, since SQLite's own waiting sleeps for milliseconds.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use sardonyx_lab::Failure;
use sardonyx_lab::product::Product;
use sardonyx_lab::tree_inserts::{Session, Sharing, TreePeer, value};

/// The number of times that a waiting connection only yields, and the length of its later pauses.
const YIELDS: i32 = 4;
const PAUSE: Duration = Duration::from_micros(50);

/// The number of entries that share a transaction while the tree is filled.
const LOAD_BATCH: usize = 100_000;

pub(super) struct Sqlite {
    path: PathBuf,
    sharing: Sharing,
}

impl Product for Sqlite {
    fn name() -> &'static str {
        "SQLite"
    }

    fn settings() -> &'static str {
        "journal_mode=WAL, synchronous=FULL, INTEGER PRIMARY KEY, cache 1 GiB, checkpoint every \
         16384 pages, prepared statements, locking_mode=EXCLUSIVE for one worker"
    }
}

impl TreePeer for Sqlite {
    fn processes() -> bool {
        true
    }

    fn open(directory: &Path, sharing: Sharing) -> Result<Self, Failure> {
        let tree = Sqlite {
            path: directory.join("tree.sqlite"),
            sharing,
        };
        if sharing != Sharing::Joining {
            tree.connect()?.execute_batch(
                "CREATE TABLE IF NOT EXISTS tree (key INTEGER PRIMARY KEY, value BLOB NOT NULL)",
            )?;
        }
        Ok(tree)
    }

    fn session(&self) -> Result<Box<dyn Session + '_>, Failure> {
        let connection = self.connect()?;
        Ok(Box::new(SqliteSession { connection }))
    }
}

impl Sqlite {
    fn connect(&self) -> Result<Connection, Failure> {
        let mut connection = Connection::open(&self.path)?;
        connection.busy_handler(Some(|attempt| {
            if attempt < YIELDS {
                std::thread::yield_now();
            } else {
                std::thread::sleep(PAUSE);
            }
            true
        }))?;
        if self.sharing == Sharing::Alone {
            connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
        }
        let mode: String =
            connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
        if mode != "wal" {
            let message = format!("SQLite keeps no write-ahead log here, but journal_mode={mode}");
            return Err(message.into());
        }
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update(None, "cache_size", -(1 << 20))?;
        connection.pragma_update(None, "wal_autocheckpoint", 16_384)?;
        Ok(connection)
    }
}

struct SqliteSession {
    connection: Connection,
}

impl Session for SqliteSession {
    fn insert(&mut self, key: u64, value: &[u8]) -> Result<(), Failure> {
        let mut insert = self.connection.prepare_cached(INSERT)?;
        insert.execute(params![key.cast_signed(), value])?;
        Ok(())
    }

    fn load(
        &mut self,
        keys: &mut dyn Iterator<Item = u64>,
        value_bytes: usize,
    ) -> Result<(), Failure> {
        let mut keys = keys.peekable();
        while keys.peek().is_some() {
            let behavior = TransactionBehavior::Immediate;
            let transaction = self.connection.transaction_with_behavior(behavior)?;
            {
                let mut insert = transaction.prepare_cached(INSERT)?;
                for key in keys.by_ref().take(LOAD_BATCH) {
                    insert.execute(params![key.cast_signed(), value(key, value_bytes)])?;
                }
            }
            transaction.commit()?;
        }
        Ok(())
    }

    fn get(&mut self, key: u64, _: usize) -> Result<Option<Vec<u8>>, Failure> {
        let mut select = self
            .connection
            .prepare_cached("SELECT value FROM tree WHERE key = ?1")?;
        let key = params![key.cast_signed()];
        Ok(select.query_row(key, |row| row.get(0)).optional()?)
    }

    fn count(&mut self) -> Result<u64, Failure> {
        let count = "SELECT COUNT(*) FROM tree";
        Ok(self.connection.query_row(count, [], |row| row.get(0))?)
    }
}

const INSERT: &str = "INSERT INTO tree VALUES (?1, ?2)";
