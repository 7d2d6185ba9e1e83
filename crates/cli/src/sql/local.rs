//! A database that this process has opened, for a shell: the SQL layer without a server.

use super::answer::{Answer, Column, ColumnKind, Rows};
use super::connection::{Standing, StatementError};
use super::message::{Parts, message};
use super::text::Statement;
use sardonyx::hosts::{Term, TermState};
use sardonyx_sql::{
    Access, Complete, CopyData, Database, Outcome, Session, SessionOptions, SqlError, SqlType,
    Step, TransactionStatus, Value,
};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;

/// The time between two checks of a lost lease.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// A session of a database.
#[derive(Debug)]
pub struct Local {
    session: Session,
    runtime: Runtime,
    /// The term of this process, if hosts may take the database over.
    term: Option<Arc<Term>>,
}

impl Local {
    /// Opens a session of a database.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub fn open(database: Arc<Database>, term: Option<Arc<Term>>) -> anyhow::Result<Local> {
        let options = SessionOptions {
            user: "sardonyx".into(),
            parameters: vec![("application_name".into(), "sardonyx sql".into())],
            rights: Access::Define.into(),
            ..SessionOptions::default()
        };
        Ok(Local {
            session: Session::new(database, options)?,
            runtime: tokio::runtime::Builder::new_current_thread().build()?,
            term,
        })
    }

    pub fn standing(&self) -> Standing {
        match self.session.status() {
            TransactionStatus::Idle => Standing::Idle,
            TransactionStatus::Open => Standing::Open,
            TransactionStatus::Failed => Standing::Failed,
        }
    }

    pub fn run(
        &mut self,
        statement: &Statement,
        copied: Option<Vec<u8>>,
    ) -> Result<Vec<Answer>, StatementError> {
        let refused = |error: SqlError| StatementError::Refused(told(statement, &error));
        let statements = match self.session.prepare(&statement.text, &[]) {
            Ok(statements) => statements,
            Err(error) => {
                // So that it fails the transaction, as a failed statement does.
                let _ = self.go([Step::Fail(error.clone()), Step::Sync].into());
                return Err(refused(error));
            }
        };
        let mut copied = copied.map(CopyData);
        let steps = statements.into_iter().map(|statement| {
            match copied.take_if(|_| statement.is_copy_in()) {
                Some(data) => Step::Copy { statement, data },
                None => Step::Execute {
                    statement,
                    parameters: Vec::new(),
                    rows_max: 0,
                },
            }
        });
        let steps = steps.chain([Step::Sync]).collect();
        let mut answers = Vec::new();
        for outcome in self.go(steps) {
            match outcome {
                Outcome::Done(complete) => answers_of(complete, &mut answers).map_err(refused)?,
                Outcome::Failed(error) => return Err(refused(error)),
                Outcome::Skipped | Outcome::Synced(_) => {}
            }
        }
        self.check_term()?;
        Ok(answers)
    }

    /// Refuses an answer that may be older than acknowledged transactions of another host: this process was stopped for
    /// so long that the host has taken over. If the store does not answer it waits, as transactions do.
    fn check_term(&self) -> Result<(), StatementError> {
        let Some(term) = &self.term else {
            return Ok(());
        };
        while !term.has_lease() {
            if term.state() == TermState::Over {
                let text = "a host has taken the database over meanwhile: the answer may be old, and is not shown";
                return Err(StatementError::Refused(text.into()));
            }
            std::thread::sleep(BETWEEN_LOOKS);
        }
        Ok(())
    }

    fn go(&mut self, steps: Vec<Step>) -> Vec<Outcome> {
        self.runtime.block_on(self.session.run(steps))
    }
}

fn answers_of(complete: Complete, answers: &mut Vec<Answer>) -> Result<(), SqlError> {
    for notice in complete.notices {
        answers.push(Answer::Notice(format!(
            "{}: {}",
            notice.severity, notice.message
        )));
    }
    if let Some(data) = complete.copy_out {
        // Only the copied data is printed, since it may go into a file that another program reads.
        answers.push(Answer::Copied(data.0));
        return Ok(());
    }
    let Some(mut rows) = complete.rows else {
        answers.push(Answer::Done(complete.tag.to_string()));
        return Ok(());
    };
    while let Some(more) = &mut rows.more {
        let (count, goes_on) = more.next(10_000, &mut rows.values)?;
        rows.count += count;
        if !goes_on {
            rows.more = None;
        }
    }
    let columns = rows.columns.iter().map(|column| Column {
        name: column.name.clone(),
        kind: kind_of(column.spec.kind),
    });
    let row = |values: &[Value]| {
        let columns = values.iter().zip(rows.columns.iter());
        let texts = columns.map(|(value, column)| {
            (*value != Value::Null).then(|| {
                let mut text = String::new();
                column.encode_text(&value.as_ref(), rows.zone.as_deref(), &mut text);
                text
            })
        });
        texts.collect()
    };
    let texts = match rows.width {
        0 => (0..rows.count).map(|_| Vec::new()).collect(),
        width => rows.values.chunks(width).map(row).collect(),
    };
    answers.push(Answer::Rows(Rows {
        columns: columns.collect(),
        rows: texts,
    }));
    Ok(())
}

fn kind_of(kind: SqlType) -> ColumnKind {
    match kind {
        SqlType::Bool => ColumnKind::Truth,
        kind if kind.is_number() => ColumnKind::Number,
        _ => ColumnKind::Other,
    }
}

fn told(statement: &Statement, error: &SqlError) -> String {
    message(&Parts {
        text: &statement.text,
        line: statement.line,
        code: error.code,
        message: &error.message,
        detail: error.detail.as_deref(),
        hint: error.hint.as_deref(),
        context: error.context.as_deref(),
        position: error.position,
    })
}
