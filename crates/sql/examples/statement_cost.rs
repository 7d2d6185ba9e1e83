//! The time of statements: prepared updates and selects by key, in flights of one and of many, on a database whose log
//! is on the disk. Prints microseconds for each statement.
//!
//! ```text
//! cargo run --release -p sardonyx-sql --example statement_cost -- [DIRECTORY]
//! ```

use sardonyx::Tables;
use sardonyx_sql::{Database, Outcome, Prepared, Session, SessionOptions, Step, Value};
use std::error::Error;
use std::future::Future;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

const ROWS: i64 = 100_000;
const SECONDS: Duration = Duration::from_secs(2);

struct Unparked(Thread);

impl Wake for Unparked {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn wait<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unparked(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

fn execute(statement: &Arc<Prepared>, parameters: Vec<Value>) -> [Step; 2] {
    let statement = statement.clone();
    let step = Step::Execute {
        statement,
        parameters,
        rows_max: 0,
    };
    [step, Step::Sync]
}

/// Runs flights of the given number of statements for some time; prints the time of one.
fn measure(
    session: &mut Session,
    what: &str,
    many: i64,
    parameters: impl Fn(i64) -> Vec<Value>,
    text: &str,
) -> Result<(), Box<dyn Error>> {
    let statement = session.prepare(text, &[])?.remove(0);
    let (mut count, mut key) = (0_u64, 0_i64);
    let started = Instant::now();
    while started.elapsed() < SECONDS {
        let mut flight = Vec::with_capacity(2 * many as usize);
        for _ in 0..many {
            key = (key * 1_103_515_245 + 12_345) & 0x7fff_ffff;
            flight.extend(execute(&statement, parameters(key % ROWS)));
        }
        for outcome in wait(session.run(flight)) {
            if let Outcome::Failed(error) = outcome {
                return Err(error.into());
            }
        }
        count += many as u64;
    }
    let micros = started.elapsed().as_secs_f64() * 1e6 / count as f64;
    println!("{what:<28} {many:>4} in a flight  {micros:>9.2} µs each");
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let directory = std::env::args()
        .nth(1)
        .map_or_else(std::env::temp_dir, PathBuf::from);
    let path = directory.join(format!("statement_cost-{}.sdx", std::process::id()));
    let database = Database::new(Arc::new(Tables::open(&path)?))?;
    let options = SessionOptions {
        user: "example".into(),
        ..SessionOptions::default()
    };
    let mut session = Session::new(database.clone(), options)?;
    let create = "create table t (id int primary key, x bigint)";
    let create = session.prepare(create, &[])?.remove(0);
    wait(session.run(execute(&create, Vec::new()).into()));
    let insert = session
        .prepare("insert into t values ($1, $2)", &[])?
        .remove(0);
    for from in (0..ROWS).step_by(1000) {
        let rows = (from..from + 1000)
            .flat_map(|key| execute(&insert, vec![Value::from(key), Value::from(0)]));
        wait(session.run(rows.collect()));
    }
    for many in [1, 32] {
        let update = |key| vec![Value::from(1), Value::from(key)];
        let text = "update t set x = x + $1 where id = $2";
        measure(&mut session, "update by key", many, update, text)?;
    }
    for many in [1, 32] {
        let select = |key| vec![Value::from(key)];
        measure(
            &mut session,
            "select by key",
            many,
            select,
            "select x from t where id = $1",
        )?;
    }
    database.tables().expect("in main memory").close()?;
    std::fs::remove_dir_all(&path)?;
    Ok(())
}
