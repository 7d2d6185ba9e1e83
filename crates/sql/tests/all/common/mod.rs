//! A database in memory with a temporary directory, and sessions that are run to their ends.

use sardonyx::Tables;
use sardonyx_sql::{
    BesideLimits, Complete, CopyData, Database, Outcome, Session, SessionOptions, SqlError,
    SqlType, Step, Value,
};
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;

/// Runs a future, which any runtime may send between threads, to its end on this thread.
pub fn wait<F: Future + Send>(future: F) -> F::Output {
    sardonyx_base::parking::wait(future)
}

/// A database and the directory that it is in.
pub struct Fresh {
    pub database: Arc<Database>,
    pub directory: tempfile::TempDir,
    /// The nodes that have it, and their memory.
    #[cfg(feature = "nodes")]
    pub nodes: Option<on_nodes::Shared>,
}

impl Fresh {
    pub fn new() -> Fresh {
        let directory = tempfile::tempdir().expect("a directory");
        let database = open(directory.path());
        Fresh {
            database,
            directory,
            #[cfg(feature = "nodes")]
            nodes: None,
        }
    }

    /// A copy of a database.
    pub fn of(image: &Image) -> Fresh {
        let directory = tempfile::tempdir().expect("a directory");
        for (name, bytes) in &image.0 {
            let path = directory.path().join(name);
            std::fs::create_dir_all(path.parent().expect("in the directory")).expect("a directory");
            std::fs::write(path, bytes).expect("written");
        }
        Fresh {
            database: open(directory.path()),
            directory,
            #[cfg(feature = "nodes")]
            nodes: None,
        }
    }

    /// With options of the engine.
    pub fn with(options: &sardonyx::Options) -> Fresh {
        let mut fresh = Fresh::new();
        fresh.close();
        let tables = options
            .clone()
            .open_tables(fresh.directory.path().join("test.sdx"));
        let tables = Arc::new(tables.expect("it opens"));
        fresh.database = Database::new(tables).expect("it speaks SQL");
        fresh
    }

    pub fn session(&self) -> Session {
        session(&self.database)
    }

    fn close(&self) {
        let tables = self.database.tables().expect("in main memory");
        tables.close().expect("it closes");
    }

    /// Closes the database and opens it again.
    pub fn reopen(&mut self) {
        #[cfg(feature = "nodes")]
        if self.nodes.is_some() {
            return self.reopen_nodes();
        }
        self.close();
        self.database = open(self.directory.path());
    }
}

/// The files of a closed database. To open a copy takes a part of the time of making the tables again.
pub struct Image(Vec<(PathBuf, Vec<u8>)>);

impl Image {
    /// Of a new database, behind these statements.
    pub fn behind(text: &str) -> Image {
        let fresh = Fresh::new();
        run(&mut fresh.session(), text).expect("it runs");
        fresh.close();
        let (home, mut files) = (fresh.directory.path(), Vec::new());
        let mut directories = vec![home.to_path_buf()];
        while let Some(directory) = directories.pop() {
            for entry in std::fs::read_dir(directory).expect("readable") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    directories.push(path);
                } else {
                    let name = path.strip_prefix(home).expect("below it").to_path_buf();
                    files.push((name, std::fs::read(path).expect("readable")));
                }
            }
        }
        Image(files)
    }
}

impl Drop for Fresh {
    /// Drops the callback between two calls of a large statement: it has the database, and would keep it alive.
    fn drop(&mut self) {
        self.database.set_beside(BesideLimits::default());
    }
}

/// Databases of two closely coupled nodes.
#[cfg(feature = "nodes")]
pub mod on_nodes {
    use super::*;
    use sardonyx::nodes::{NodeOptions, Nodes, StorageOptions};

    /// The nodes, their shared memory, and the second one's database.
    pub struct Shared {
        nodes: Nodes,
        memory: tempfile::TempDir,
        pub other: Arc<Database>,
    }

    impl Fresh {
        pub fn on_nodes() -> Fresh {
            let directory = tempfile::tempdir().expect("a directory");
            let memory = tempfile::tempdir_in("/dev/shm").expect("a directory");
            let nodes = shared(&directory, &memory);
            Fresh {
                database: of_node(&nodes),
                directory,
                nodes: Some(Shared {
                    other: of_node(&nodes),
                    nodes,
                    memory,
                }),
            }
        }

        /// All nodes leave, and join again.
        pub fn reopen_nodes(&mut self) {
            let Some(before) = self.nodes.take() else {
                return;
            };
            let memory = before.memory;
            // An ended node's database is not used.
            self.database = open(&self.directory.path().join("unused"));
            drop((before.other, before.nodes));
            let nodes = shared(&self.directory, &memory);
            self.database = of_node(&nodes);
            self.nodes = Some(Shared {
                other: of_node(&nodes),
                nodes,
                memory,
            });
        }
    }

    fn shared(directory: &tempfile::TempDir, memory: &tempfile::TempDir) -> Nodes {
        let options = NodeOptions {
            pages: 4096,
            slots: 4,
            shared_memory: memory.path().into(),
            storage: StorageOptions {
                memory_bytes_max: 1 << 27,
                workers: 1,
                ..StorageOptions::default()
            },
            ..NodeOptions::default()
        };
        Nodes::open(directory.path().join("test.sdx"), options).expect("it opens")
    }

    fn of_node(nodes: &Nodes) -> Arc<Database> {
        let node = nodes.join().expect("a node");
        Database::of_node(node).expect("it speaks SQL")
    }
}

fn open(path: &std::path::Path) -> Arc<Database> {
    let tables = Tables::open(path.join("test.sdx")).expect("it opens");
    Database::new(Arc::new(tables)).expect("it speaks SQL")
}

pub fn session(database: &Arc<Database>) -> Session {
    let options = SessionOptions {
        rights: sardonyx_sql::Access::Define.into(),
        user: "tester".into(),
        ..SessionOptions::default()
    };
    Session::new(database.clone(), options).expect("a session")
}

/// The steps of a text, as a simple query sends them.
pub fn flight(session: &mut Session, text: &str) -> Result<Vec<Step>, SqlError> {
    let statements = session.prepare(text, &[])?;
    let steps = statements.into_iter().map(|statement| Step::Execute {
        statement,
        parameters: Vec::new(),
        rows_max: 0,
    });
    Ok(steps.chain([Step::Sync]).collect())
}

/// Runs the statements of a text: their results, or the first error.
pub fn run(session: &mut Session, text: &str) -> Result<Vec<Complete>, SqlError> {
    let steps = flight(session, text)?;
    let mut done = Vec::new();
    for outcome in wait(session.run(steps)) {
        match outcome {
            Outcome::Done(complete) => done.push(complete),
            Outcome::Failed(error) => return Err(error),
            Outcome::Skipped | Outcome::Synced(_) => {}
        }
    }
    Ok(done)
}

/// Runs a statement with parameters.
pub fn execute(
    session: &mut Session,
    text: &str,
    types: &[Option<SqlType>],
    parameters: &[Value],
) -> Result<Complete, SqlError> {
    let statement = session.prepare(text, types)?.remove(0);
    let steps = vec![
        Step::Execute {
            statement,
            parameters: parameters.to_vec(),
            rows_max: 0,
        },
        Step::Sync,
    ];
    match wait(session.run(steps)).remove(0) {
        Outcome::Done(complete) => Ok(complete),
        Outcome::Failed(error) => Err(error),
        other => panic!("a statement is done or fails: {other:?}"),
    }
}

/// Runs `COPY … FROM STDIN`.
pub fn copy_in(session: &mut Session, text: &str, data: &[u8]) -> Result<Complete, SqlError> {
    let statement = session.prepare(text, &[])?.remove(0);
    let data = CopyData(data.to_vec());
    let steps = vec![Step::Copy { statement, data }, Step::Sync];
    match wait(session.run(steps)).remove(0) {
        Outcome::Done(complete) => Ok(complete),
        Outcome::Failed(error) => Err(error),
        other => panic!("a statement is done or fails: {other:?}"),
    }
}

/// The rows of a result as lines: values between `|`, `NULL` for a null.
pub fn lines(complete: &Complete) -> Vec<String> {
    let Some(rows) = &complete.rows else {
        return Vec::new();
    };
    if rows.width == 0 {
        return (0..rows.count).map(|_| String::new()).collect();
    }
    let row = |values: &[Value]| {
        let columns = values.iter().zip(rows.columns.iter());
        let texts = columns.map(|(value, column)| {
            if *value == Value::Null {
                return "NULL".to_string();
            }
            let mut text = String::new();
            column.encode_text(&value.as_ref(), rows.zone.as_deref(), &mut text);
            text
        });
        texts.collect::<Vec<_>>().join("|")
    };
    rows.values.chunks(rows.width).map(row).collect()
}

/// The lines of the last statement's result.
pub fn query(session: &mut Session, text: &str) -> Result<Vec<String>, SqlError> {
    let done = run(session, text)?;
    Ok(done.last().map(lines).unwrap_or_default())
}

/// All rows of a result, also those that are read in portions.
pub fn drain(complete: Complete, portion: u64) -> Vec<Value> {
    let rows = complete.rows.expect("it has rows");
    let mut values = rows.values;
    let mut more = rows.more;
    while let Some(stream) = &mut more {
        let (count, goes_on) = stream.next(portion, &mut values).expect("they are read");
        assert!(count <= portion, "at most so many as are wanted");
        if !goes_on {
            more = None;
        }
    }
    values
}
