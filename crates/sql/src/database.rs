//! A database as SQL sees it, shared by all sessions: the tables, and the state beside them. That is the sequences'
//! next numbers, the version of the catalogue, and the procedures that a program registered.

use crate::activity::{Sessions, now};
use crate::advisory::AdvisoryLocks;
use crate::blocking::{Priority, Threads};
use crate::define_target::DefineTarget;
use crate::error::{SqlError, code};
use crate::idle_rows::IdleRows;
use crate::registered::RegisteredProcedures;
use crate::relation::{BY_KIND, OBJECTS, kind, objects, parsed, put_object, unnoted_materialized};
use crate::rights::{Rights, Users};
use crate::sequences::{Counter, Counters, Sequence};
use crate::source::Source;
use crate::store::{NodeStore, Store, TRIES};
use sardonyx::schema::{Schema, SchemaBuilder, Type};
use sardonyx::{Durability, Error, Tables};
use sardonyx_base::channels::{Hub, Posting};
use sardonyx_base::memory::{Budget, Reclaim};
use std::any::Any;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// A procedure that was compiled.
type Compiled = Arc<dyn Any + Send + Sync>;

/// A database to which sessions speak SQL.
pub struct Database {
    store: Store,
    counters: Counters,
    registered: RegisteredProcedures,
    /// Compiled procedures of the database ([`crate::procedures`]), with their version of the catalogue.
    compiled: Mutex<HashMap<String, (u64, Compiled)>>,
    readers: Threads,
    workers: Threads,
    memory: Arc<Budget>,
    /// Rows of open transactions whose sessions wait for their clients.
    idle: Arc<IdleRows>,
    /// True if Redis clients are served, too.
    has_keyspace: AtomicBool,
    /// The users that statements may name.
    users: Mutex<Arc<Users>>,
    /// The number of statements of an open transaction at which its flights run aside.
    aside_from: AtomicUsize,
    /// The most bytes that an open transaction keeps aside.
    aside_bytes_max: AtomicUsize,
    /// The statements of open transactions that have run again, and the most of one transaction.
    run_again: AtomicU64,
    run_again_in_stage: AtomicU64,
    again_max: AtomicU64,
    beside: Mutex<BesideLimits>,
    /// The most bytes of a transaction of its log.
    transaction_bytes_max: usize,
    posting: Arc<Posting>,
    advisory: Arc<AdvisoryLocks>,
    sessions: Arc<Sessions>,
    /// When it was opened, and when its users were set last, in microseconds since 1970.
    opened: i64,
    configured: AtomicI64,
    /// The number of the next session, for its temporary tables.
    next_session: AtomicU64,
}

/// The bounds of statements that change many rows.
#[derive(Clone)]
pub struct BesideLimits {
    /// The rows of a table from which a statement that looks at all of them runs aside.
    pub from: u64,
    /// The most rows that one call changes. If a statement changes more, and a good part of the table, its next content
    /// is made.
    pub few: u64,
    /// The most rows of a next content that one call makes.
    pub slice: usize,
    /// The most rows, and keys of rows, that the last call changes for those that others have changed.
    pub keys_max: usize,
    /// The bytes of a part in which the rows of an index to build are sorted, and others' changes are followed.
    pub run_bytes: usize,
    /// The most bytes of changes of one call: those of a transaction of the log. With the log in a store they are few.
    pub call_bytes: usize,
    /// A next content is made of each table that changes: the changes are more than `call_bytes`.
    pub makes_all: bool,
    /// Called between two calls, for tests.
    pub between: Option<Arc<dyn Fn() + Send + Sync>>,
    /// Called in the call that changes few rows, for tests.
    pub within: Option<Arc<dyn Fn() + Send + Sync>>,
}

impl fmt::Debug for BesideLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BesideLimits")
            .field("from", &self.from)
            .field("few", &self.few)
            .field("slice", &self.slice)
            .field("keys_max", &self.keys_max)
            .field("run_bytes", &self.run_bytes)
            .field("call_bytes", &self.call_bytes)
            .field("makes_all", &self.makes_all)
            .finish_non_exhaustive()
    }
}

impl Default for BesideLimits {
    fn default() -> Self {
        BesideLimits {
            from: 10_000,
            few: 2000,
            slice: 500,
            keys_max: 100_000,
            run_bytes: 64 << 20,
            call_bytes: usize::MAX,
            makes_all: false,
            between: None,
            within: None,
        }
    }
}

/// The log has more bytes than the rows. Changes are made in one call up to this part of its bytes.
pub(crate) const CALL_SHARE: usize = 2;
/// A log in the database's directory takes larger transactions than this.
const SMALL_CALL_BYTES: usize = 256 << 20;

/// The number of statements of a transaction at which it moves aside by default: running fewer of them again costs less
/// than a snapshot.
const ASIDE_FROM: usize = 8;
/// The most runs again of a transaction's statements by default, beside those that each statement adds: at most some seconds
/// of the stage, milliseconds at a time.
const AGAIN_MAX: u64 = 2_000_000;
/// The most bytes that a transaction keeps aside by default.
const ASIDE_BYTES_MAX: usize = 256 << 20;

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database").finish_non_exhaustive()
    }
}

impl Database {
    /// See [`Database::new`].
    ///
    /// # Errors
    /// As [`Database::new`].
    pub(crate) fn over(tables: Arc<Tables>) -> Result<Arc<Database>, SqlError> {
        let is_there = tables.read(|view| Ok(view.table_named(OBJECTS).is_some()))?;
        match is_there {
            true => index_objects(&tables)?,
            false => {
                let schema = objects_schema().index(BY_KIND, ["kind", "name"]);
                tables.create_table(OBJECTS, schema.ordered())?;
            }
        }
        forget_next_contents(&tables)?;
        let database = Self::with(Store::Memory(tables.clone()));
        let load = |view: &sardonyx::View<'_>| Ok(database.load_sequences(view));
        tables.read(load)??;
        database.forget_temporary(&tables)?;
        Ok(database)
    }

    /// The same over a node's tables.
    ///
    /// # Errors
    /// An error of the node.
    #[cfg_attr(not(feature = "nodes"), allow(dead_code))]
    pub(crate) fn over_node(node: Arc<dyn NodeStore>) -> Result<Arc<Database>, SqlError> {
        let mut tries = 0;
        loop {
            let mut made = Ok(());
            let ran = node.run(&mut |tx| {
                if tx.table_named(OBJECTS).is_none()
                    && let Some(tx) = tx.define()
                {
                    made = objects_schema()
                        .build()
                        .map_err(|error| SqlError::new(code::INTERNAL, error.to_string()))
                        .and_then(|schema| Ok(tx.create_table(OBJECTS, schema).map(drop)?));
                }
                made.is_ok()
            });
            tries += 1;
            match ran {
                Err(sardonyx::Error::Conflict(_)) if tries < TRIES => {}
                Err(error) => return Err(error.into()),
                Ok(_) => {
                    made?;
                    break;
                }
            }
        }
        Ok(Self::with(Store::Node(node, AtomicU64::new(0))))
    }

    /// A database over a store, with no sequences yet.
    pub(crate) fn with(store: Store) -> Arc<Database> {
        let (memory, idle) = (Arc::<Budget>::default(), Arc::<IdleRows>::default());
        let transaction_bytes_max = match &store {
            Store::Memory(tables) => tables.engine().transaction_bytes_max(),
            Store::Node(..) | Store::Followed(_) => usize::MAX,
        };
        let reclaim: Arc<dyn Reclaim> = idle.clone();
        memory.set_reclaim(Arc::downgrade(&reclaim));
        Arc::new_cyclic(|itself| Database {
            store,
            counters: Counters::default(),
            registered: RegisteredProcedures::default(),
            compiled: Mutex::default(),
            readers: Threads::new(readers_most(), Priority::Low),
            workers: Threads::new(readers_most(), Priority::Same),
            memory,
            idle,
            has_keyspace: AtomicBool::new(false),
            users: Mutex::default(),
            aside_from: AtomicUsize::new(ASIDE_FROM),
            aside_bytes_max: AtomicUsize::new(ASIDE_BYTES_MAX),
            run_again: AtomicU64::new(0),
            run_again_in_stage: AtomicU64::new(0),
            again_max: AtomicU64::new(AGAIN_MAX),
            beside: Mutex::default(),
            transaction_bytes_max,
            posting: posting(itself),
            advisory: Arc::default(),
            sessions: Arc::default(),
            opened: now(),
            configured: AtomicI64::new(now()),
            next_session: AtomicU64::new(1),
        })
    }

    /// Sets the number of statements of an open transaction at which its flights run aside; `usize::MAX` for none.
    #[doc(hidden)]
    pub fn set_aside_from(&self, statements: usize) {
        self.aside_from.store(statements, Ordering::Relaxed);
    }

    /// Sets the bounds of statements that change many rows.
    #[doc(hidden)]
    pub fn set_beside(&self, limits: BesideLimits) {
        *locked(&self.beside) = limits;
    }

    pub(crate) fn beside(&self) -> BesideLimits {
        let mut limits = locked(&self.beside).clone();
        limits.call_bytes = limits.call_bytes.min(self.transaction_bytes_max);
        limits
    }

    /// The estimated bytes of changes up to which one call makes them.
    pub(crate) fn call_bytes(&self) -> usize {
        locked(&self.beside)
            .call_bytes
            .min(self.transaction_bytes_max)
            / CALL_SHARE
    }

    /// True if a statement of few rows may change more bytes than a transaction of the log may have.
    pub(crate) fn has_small_calls(&self) -> bool {
        self.transaction_bytes_max < SMALL_CALL_BYTES
    }

    /// The most rows of a table that one call changes.
    pub(crate) fn few_rows(&self) -> u64 {
        locked(&self.beside).few
    }

    /// The rows up to which the stage tries a statement that may look at many.
    pub(crate) fn tried_rows(&self) -> u64 {
        let limits = locked(&self.beside);
        limits.few.min(limits.from)
    }

    pub(crate) fn aside_from(&self) -> usize {
        self.aside_from.load(Ordering::Relaxed)
    }

    /// Sets the most bytes that an open transaction keeps aside.
    #[doc(hidden)]
    pub fn set_aside_bytes_max(&self, bytes: usize) {
        self.aside_bytes_max.store(bytes, Ordering::Relaxed);
    }

    pub(crate) fn aside_bytes_max(&self) -> usize {
        self.aside_bytes_max.load(Ordering::Relaxed)
    }

    /// The statements of open transactions that have run again since the database was opened: each as often as it did.
    #[doc(hidden)]
    pub fn statements_run_again(&self) -> u64 {
        self.run_again.load(Ordering::Relaxed)
    }

    /// Sets the most runs again of one transaction's statements, beside those that each statement adds.
    #[doc(hidden)]
    pub fn set_again_max(&self, statements: u64) {
        self.again_max.store(statements, Ordering::Relaxed);
    }

    pub(crate) fn again_max(&self) -> u64 {
        self.again_max.load(Ordering::Relaxed)
    }

    /// The same of those that ran in the stage.
    #[doc(hidden)]
    pub fn statements_run_again_in_stage(&self) -> u64 {
        self.run_again_in_stage.load(Ordering::Relaxed)
    }

    pub(crate) fn ran_again(&self, statements: usize, in_stage: bool) {
        if statements == 0 {
            return;
        }
        let statements = statements as u64;
        self.run_again.fetch_add(statements, Ordering::Relaxed);
        if in_stage {
            self.run_again_in_stage
                .fetch_add(statements, Ordering::Relaxed);
        }
    }

    /// The store of the tables.
    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// Notes the users that are admitted, with their rights, for statements that name users. None: every name is admitted,
    /// with all rights.
    pub fn set_users(&self, users: impl IntoIterator<Item = (String, Rights)>) {
        self.configured.store(now(), Ordering::Relaxed);
        let known: BTreeMap<String, Rights> = users.into_iter().collect();
        *locked(&self.users) = Arc::new(match known.is_empty() {
            true => Users::Everyone,
            false => Users::Known(known),
        });
    }

    /// The users that statements may name.
    pub(crate) fn users(&self) -> Arc<Users> {
        locked(&self.users).clone()
    }

    /// Notes that the keys of Redis clients are in use: their tables are not dropped as long as the database is open.
    pub fn keep_keyspace(&self) {
        self.has_keyspace.store(true, Ordering::Release);
    }

    /// True if the keys of Redis clients are in use.
    pub(crate) fn has_keyspace(&self) -> bool {
        self.has_keyspace.load(Ordering::Acquire)
    }

    /// Rows of open transactions whose sessions wait for their clients.
    pub(crate) fn idle(&self) -> &Arc<IdleRows> {
        &self.idle
    }

    /// The procedures that the program registered.
    pub(crate) fn registered_procedures(&self) -> &RegisteredProcedures {
        &self.registered
    }

    /// The threads that read many rows of snapshots, at a low priority.
    pub(crate) fn readers(&self) -> &Threads {
        &self.readers
    }

    /// The threads for other work that waits.
    pub(crate) fn workers(&self) -> &Threads {
        &self.workers
    }

    /// The memory that the rows of all sessions share: without a bound, if the program sets none.
    pub fn memory(&self) -> &Arc<Budget> {
        &self.memory
    }

    /// A procedure of the database that was compiled under this version.
    pub(crate) fn compiled<T: Any + Send + Sync>(
        &self,
        name: &str,
        version: u64,
    ) -> Option<Arc<T>> {
        let compiled = locked(&self.compiled);
        let (of, procedure) = compiled.get(name)?;
        (*of == version).then(|| procedure.clone().downcast().ok())?
    }

    pub(crate) fn keep_compiled(&self, name: &str, version: u64, procedure: Compiled) {
        let mut compiled = locked(&self.compiled);
        compiled.retain(|_, (of, _)| *of == version);
        compiled.insert(name.to_string(), (version, procedure));
    }

    /// The version of the catalogue that plans depend on, as far as sessions of this process change it.
    pub(crate) fn version(&self) -> u64 {
        match &self.store {
            Store::Memory(tables) => tables.catalogue_version(),
            Store::Node(_, changes) => changes.load(Ordering::Acquire),
            Store::Followed(followed) => followed.version(),
        }
    }

    /// Notes that the catalogue has changed, or is about to, or that a change was undone.
    pub(crate) fn catalogue_changed(&self) {
        match &self.store {
            Store::Memory(tables) => tables.catalogue_changed(),
            Store::Node(_, changes) => drop(changes.fetch_add(1, Ordering::AcqRel)),
            // Only its own program changes it.
            Store::Followed(_) => {}
        }
    }

    /// The name of the schema of a new session's temporary tables, with a number of this process. Schemas of an earlier
    /// process were dropped, or are passed over.
    pub(crate) fn next_temporary(&self) -> Arc<str> {
        let number = self.next_session.fetch_add(1, Ordering::Relaxed);
        format!("pg_temp_{number}").into()
    }

    /// Gives new sessions greater numbers than one whose temporary tables are left.
    pub(crate) fn sessions_begin_behind(&self, number: u64) {
        let next = number.saturating_add(1);
        self.next_session.fetch_max(next, Ordering::Relaxed);
    }

    /// The sequences.
    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Makes a counter for each stored sequence.
    ///
    /// # Errors
    /// `XX001` if they cannot be read.
    fn load_sequences(&self, source: &dyn Source) -> Result<(), SqlError> {
        let mut counters = self.counters.lock();
        for (name, body) in objects(source, kind::SEQUENCE)? {
            let sequence: Sequence = parsed(&body)?;
            counters.insert(name, Counter::of(sequence));
        }
        Ok(())
    }

    /// The advisory locks of sessions.
    pub(crate) fn advisory(&self) -> &Arc<AdvisoryLocks> {
        &self.advisory
    }

    /// Its sessions, as others see them.
    pub(crate) fn sessions(&self) -> &Arc<Sessions> {
        &self.sessions
    }

    /// When it was opened, in microseconds since 1970.
    pub(crate) fn opened(&self) -> i64 {
        self.opened
    }

    /// When its users were set last.
    pub(crate) fn configured(&self) -> i64 {
        self.configured.load(Ordering::Relaxed)
    }

    /// The listeners of each channel.
    pub(crate) fn hub(&self) -> &Arc<Hub> {
        self.posting.hub()
    }

    /// The hub with the delivery of notifications of transactions that no session waits for.
    pub(crate) fn posting(&self) -> &Arc<Posting> {
        &self.posting
    }
}

/// The channels of a database, which do not keep it open.
fn posting(of: &Weak<Database>) -> Arc<Posting> {
    let (waits, runs) = (of.clone(), of.clone());
    let is_durable = move || {
        let database = waits.upgrade()?;
        // This needs a turn of its own: the call that posted has ended then, and a state from before it does not count.
        let turn = database.tables()?.turn().ok()?;
        turn.all_durable().wait().ok()
    };
    Posting::new(
        move || is_durable().is_some(),
        move |work| {
            if let Some(database) = runs.upgrade() {
                drop(database.workers().run(work));
            }
        },
    )
}

/// Drops the next contents of tables that a process left when it ended while it made them.
///
/// # Errors
/// The engine's.
fn forget_next_contents(tables: &Tables) -> Result<(), SqlError> {
    if tables.read(|view| Ok(view.has_next_contents()))? {
        let turn = tables.turn()?;
        match turn.run(Durability::Deferred, |tx| tx.forget_all_beside()) {
            // A database whose log is full can still be read. They are dropped later.
            Ok(()) | Err(Error::Limit(_) | Error::Full(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Adds the index of its objects to a database of an older version, and notes its materialized views.
///
/// # Errors
/// The engine's.
fn index_objects(tables: &Tables) -> Result<(), SqlError> {
    let schema = objects_schema().index(BY_KIND, ["kind", "name"]).ordered();
    let schema = schema
        .build()
        .map_err(|error| SqlError::new(code::INTERNAL, error.to_string()))?;
    let (missing, unnoted) = tables.read(|view| {
        let source = *view;
        let number = view.table_named(OBJECTS);
        let there = number.and_then(|number| Source::schema(view, number));
        let is_there = there.is_some_and(|there| there.indexes == schema.indexes);
        Ok((number.filter(|_| !is_there), unnoted_materialized(&source)))
    })?;
    let unnoted = unnoted?;
    if missing.is_none() && unnoted.is_empty() {
        return Ok(());
    }
    let indexed = tables.transaction().errors().run(|tx| {
        if let (Some(number), Some(index)) = (missing, schema.indexes.first()) {
            DefineTarget::create_index(tx, number, index.clone())?;
        }
        let mut unnoted = unnoted.iter();
        unnoted.try_for_each(|number| put_object(tx, kind::MATERIALIZED, number, ""))
    });
    match indexed {
        // A full database can still be read: objects are found one by one, and a later opening adds the index.
        Err(error) if error.code.starts_with("53") || error.code.starts_with("54") => Ok(()),
        indexed => indexed,
    }
}

/// The table for properties that the engine's schemas do not have.
fn objects_schema() -> SchemaBuilder {
    Schema::new()
        .column("kind", Type::Text)
        .column("name", Type::Text)
        .column("body", Type::Text)
        .primary_key(["kind", "name"])
}

/// The most statements that read many rows at once. It is far above the number of processors, so that short reads share
/// the processors with long ones and do not wait for their end. It is below the number of clients.
fn readers_most() -> usize {
    const LEAST: usize = 64;
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    (2 * processors).max(LEAST)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
