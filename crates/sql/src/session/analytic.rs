//! Statements that an analytic reader reads: which they are, and their first rows.

use super::parameters::text_column;
use super::state::{SessionState, TransactionState};
use super::telling::portion_memory;
use crate::analytic::{AnalyticQuery, AnalyticReader, AnalyticStream, Suits, suits};
use crate::database::Database;
use crate::error::{SqlError, code};
use crate::explain;
use crate::prepared::Prepared;
use crate::result::{Complete, RowStream, Rows, Step, Tag};
use crate::source::Source;
use sardonyx::Snapshot;
use sardonyx::schema::Value;
use sardonyx_base::memory::Budget;
use sqlparser::ast::Statement;
use std::sync::Arc;
use std::time::Instant;

/// The parameter of a session that says what is read analytically: `off` nothing, `always` all that may be, however
/// short it is, anything else what is better read so.
const SETTING: &str = "sardonyx.analytics";

/// A statement that the reader is to read.
pub(super) struct Chosen {
    reader: Arc<dyn AnalyticReader>,
    suits: Suits,
    query: AnalyticQuery,
    rows_max: u64,
    /// The memory of all sessions.
    memory: Arc<Budget>,
    /// Of `EXPLAIN`: whether it is run, too.
    explains: Option<bool>,
}

/// What a statement asks to be read: a query, or how one is run.
fn query_of(prepared: &Prepared) -> Option<(&Statement, Option<bool>)> {
    match prepared.statement()? {
        query @ Statement::Query(_) => Some((query, None)),
        Statement::Explain {
            statement,
            analyze,
            format: None,
            ..
        } if matches!(**statement, Statement::Query(_)) => Some((statement, Some(*analyze))),
        _ => None,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Off,
    Usual,
    Always,
}

fn mode(state: &SessionState) -> Mode {
    let set = state.settings.get(SETTING).unwrap_or_default();
    match set.to_ascii_lowercase().as_str() {
        "off" | "false" | "no" | "0" => Mode::Off,
        "always" => Mode::Always,
        _ => Mode::Usual,
    }
}

/// The statement as the reader is to read it; `None` if the own planner reads it.
///
/// # Errors
/// What is wrong with the statement, as far as the own planner knows.
pub(super) fn choose(
    database: &Database,
    state: &SessionState,
    step: &Step,
    version: u64,
    snapshot: &Snapshot,
) -> Result<Option<Chosen>, SqlError> {
    let Step::Execute {
        statement,
        parameters,
        rows_max,
    } = step
    else {
        return Ok(None);
    };
    let mode = mode(state);
    let Some(reader) = database.analytic_reader().filter(|_| mode != Mode::Off) else {
        return Ok(None);
    };
    let now = super::state::now();
    let started = match &state.transaction {
        TransactionState::Idle => now,
        TransactionState::Open(open) if open.read_only => open.started,
        // What it tells would be compared at COMMIT, by the own planner.
        _ => return Ok(None),
    };
    let Some((query, explains)) = query_of(statement) else {
        return Ok(None);
    };
    let source = Source::Frozen(snapshot.space());
    let planned = match explains {
        None => statement.planned(version, &source)?,
        Some(_) => Arc::new(explain::plan_of(statement, version, &source)?),
    };
    // The reader knows tables alone.
    if planned.names_views {
        return Ok(None);
    }
    let suits = suits(&planned, &source);
    let suits = match (suits, mode) {
        (Suits::Not, Mode::Always) => Suits::Better,
        (Suits::Not, _) => return Ok(None),
        (suits, _) => suits,
    };
    Ok(Some(Chosen {
        suits,
        query: AnalyticQuery {
            text: query.to_string(),
            types: statement.known_parameters(),
            parameters: parameters.clone(),
            columns: statement
                .columns()
                .filter(|_| explains.is_none())
                .map(Arc::from),
            snapshot: snapshot.clone(),
            transaction_started: started,
            statement_started: now,
            interrupt: state.interrupt.clone(),
            rights: statement.rights().clone(),
        },
        reader: reader.clone(),
        rows_max: *rows_max,
        memory: database.memory().clone(),
        explains,
    }))
}

impl Chosen {
    /// The first rows of it, and what follows; `None` if the reader does not know it and the own planner does.
    ///
    /// # Errors
    /// What is wrong with the statement, or cannot be computed.
    pub async fn read(self) -> Result<Option<Complete>, SqlError> {
        let (suits, explains) = (self.suits, self.explains);
        let begun = match explains {
            None => self.reader.run(self.query).await.map(Begun::Rows),
            Some(runs) => {
                let lines = self.reader.explain(self.query.clone()).await;
                match (lines, runs) {
                    (Ok(lines), true) => self
                        .reader
                        .run(self.query)
                        .await
                        .map(|rows| Begun::Lines(lines, Some(rows))),
                    (lines, _) => lines.map(|lines| Begun::Lines(lines, None)),
                }
            }
        };
        match begun {
            Ok(Begun::Rows(rows)) => {
                let first = first(AnalyticStream::of(rows), self.rows_max, &self.memory);
                first.await.map(Some)
            }
            Ok(Begun::Lines(lines, rows)) => explained(lines, rows.map(AnalyticStream::of)).await,
            Err(error) if suits == Suits::Better && error.code != code::QUERY_CANCELED => Ok(None),
            Err(error) => Err(error),
        }
    }
}

enum Begun {
    Rows(Box<dyn crate::analytic::AnalyticRows>),
    Lines(Vec<String>, Option<Box<dyn crate::analytic::AnalyticRows>>),
}

async fn first(
    mut stream: AnalyticStream,
    rows_max: u64,
    memory: &Arc<Budget>,
) -> Result<Complete, SqlError> {
    let most = if rows_max == 0 { u64::MAX } else { rows_max };
    let mut values = Vec::new();
    stream.ready().await;
    let (count, more) = stream.next(most, &mut values)?;
    let columns = stream.columns().clone();
    let mut complete = Complete::of(Tag::rows("SELECT", count));
    complete.memory = Some(portion_memory(&values, memory)?);
    complete.rows = Some(Rows {
        values,
        width: columns.len(),
        count,
        columns,
        more: more.then(|| RowStream::of_reader(stream)),
    });
    Ok(complete)
}

async fn explained(
    mut lines: Vec<String>,
    rows: Option<AnalyticStream>,
) -> Result<Option<Complete>, SqlError> {
    if let Some(mut stream) = rows {
        let started = Instant::now();
        let (mut rows, mut values) = (0, Vec::new());
        loop {
            stream.ready().await;
            values.clear();
            let (count, more) = stream.next(u64::MAX, &mut values)?;
            rows += count;
            if !more {
                break;
            }
        }
        explain::finish(&mut lines, rows, started);
    }
    let mut complete = Complete::of(Tag::plain("EXPLAIN"));
    complete.rows = Some(Rows {
        width: 1,
        count: lines.len() as u64,
        values: lines.into_iter().map(Value::Text).collect(),
        columns: Arc::from([text_column("QUERY PLAN".into())]),
        more: None,
    });
    Ok(Some(complete))
}

/// Asks the reader for the parameters and columns of a statement that the own planner does not know.
///
/// # Errors
/// What is wrong with it.
pub(super) fn describe(
    database: &Database,
    state: &SessionState,
    prepared: &Prepared,
) -> Result<(), SqlError> {
    // Tables that a transaction makes are in no snapshot.
    if matches!(&state.transaction, TransactionState::Open(open) if open.defines) {
        return Ok(());
    }
    let (Some(why), Some(statement), None) = (
        prepared.elsewhere(),
        prepared.statement(),
        prepared.columns(),
    ) else {
        return Ok(());
    };
    let reader = database
        .analytic_reader()
        .filter(|_| mode(state) != Mode::Off);
    let Some(reader) = reader else {
        // What is not supported is told to who runs it.
        return match why.code {
            code::FEATURE_NOT_SUPPORTED => Ok(()),
            _ => Err(prepared.placed(why)),
        };
    };
    let now = super::state::now();
    let described = reader.describe(AnalyticQuery {
        text: statement.to_string(),
        types: prepared.known_parameters(),
        parameters: Vec::new(),
        columns: None,
        snapshot: database.committed(&state.interrupt)?.snapshot,
        transaction_started: now,
        statement_started: now,
        interrupt: Arc::default(),
        rights: prepared.rights().clone(),
    });
    let described = described.map_err(|error| match error.code == why.code {
        true => prepared.placed(why),
        false => error,
    })?;
    prepared.describe(described.parameters, Some(described.columns));
    Ok(())
}
