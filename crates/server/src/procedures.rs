//! Procedures of SQL as the functions that Redis clients call: `FCALL name numkeys key… arg…`.
//!
//! Keys and arguments are the procedure's parameters, as quoted literals would be. The result of the last statement is
//! the answer ([`reply_of`]). A user who may `CALL` a procedure may `FCALL` it.

use crate::options::User;
use sardonyx::Transaction;
use sardonyx::low_level::Committed;
use sardonyx::rows::SpaceSnapshot;
use sardonyx_resp::{Called, Failure, FunctionCall, Functions, Listed, Reply, Within};
use sardonyx_sql::{
    Access, Caller, Complete, Database, ProcedureCall, Rights, Rows, SqlError, SqlType, Value,
    code, encode_text,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Microseconds of a millisecond.
const MICROS: i64 = 1000;

/// The procedures of a database.
pub struct Procedures {
    database: Arc<Database>,
    users: BTreeMap<String, Caller>,
}

impl Procedures {
    /// The procedures of a database, for these users; without users, for every client.
    pub fn new(database: Arc<Database>, users: &BTreeMap<String, User>) -> Procedures {
        let callers = users.iter();
        let callers = callers.map(|(name, user)| (name.clone(), Caller::new(name, &user.rights())));
        let mut users: BTreeMap<_, _> = callers.collect();
        if users.is_empty() {
            let rights = Rights::from(Access::Define);
            users.insert(
                crate::redis::DEFAULT_USER.to_string(),
                Caller::new(crate::redis::DEFAULT_USER, &rights),
            );
        }
        Procedures { database, users }
    }

    /// The call of a procedure; `None` if no procedure can have this name, or the user is unknown.
    fn call_of<'c>(
        &'c self,
        call: &FunctionCall<'c>,
        arguments: &'c [&'c str],
    ) -> Option<ProcedureCall<'c>> {
        Some(ProcedureCall {
            name: std::str::from_utf8(call.name).ok()?,
            arguments,
            caller: self.users.get(call.user)?,
            only_reads: call.only_reads,
            now: call.now.saturating_mul(MICROS),
            seed: call.seed,
        })
    }
}

/// The arguments of a call as texts.
fn arguments<'c>(call: &FunctionCall<'c>) -> Result<Vec<&'c str>, Failure> {
    let text = |given: &&'c [u8]| {
        std::str::from_utf8(given).map_err(|_| {
            Failure::Told("ERR a key or an argument is not UTF-8 text (SQLSTATE 22021)")
        })
    };
    call.given.iter().map(text).collect()
}

impl Functions for Procedures {
    fn call(
        &self,
        call: &FunctionCall<'_>,
        transaction: &mut Transaction<'_>,
    ) -> Result<Option<Called>, Failure> {
        let arguments = arguments(call)?;
        let Some(call) = self.call_of(call, &arguments) else {
            return Ok(None);
        };
        let called = self.database.call_procedure(transaction, &call);
        let Some(mut called) = called.map_err(|error| failure_of(&error))? else {
            return Ok(None);
        };
        let reply = reply_of(&mut called.complete);
        let database = self.database.clone();
        let committed: Option<Box<dyn FnOnce()>> = match called.is_all() {
            true => None,
            false => Some(Box::new(move || called.committed(&database))),
        };
        Ok(Some(Called { reply, committed }))
    }

    fn read(
        &self,
        call: &FunctionCall<'_>,
        committed: &Committed,
    ) -> Result<Option<Reply>, Failure> {
        let arguments = arguments(call)?;
        let Some(call) = self.call_of(call, &arguments) else {
            return Ok(None);
        };
        let read = self.database.read_procedure(committed, &call);
        let read = read.map_err(|error| failure_of(&error))?;
        Ok(read.map(|mut complete| reply_of(&mut complete)))
    }

    fn has(&self, name: &[u8], within: &Within<'_, '_>) -> Result<bool, Failure> {
        let Ok(name) = std::str::from_utf8(name) else {
            return Ok(false);
        };
        let is_there = match within {
            Within::Transaction(transaction) => {
                self.database.has_procedure(&transaction.view(), name)
            }
            Within::Committed(committed) => {
                let space: &SpaceSnapshot = committed.snapshot.space();
                self.database.has_procedure(&space, name)
            }
        };
        is_there.map_err(|error| failure_of(&error))
    }

    fn may_take_long(&self, name: &[u8]) -> bool {
        std::str::from_utf8(name).is_ok_and(|name| self.database.may_take_long(name))
    }

    fn list(&self, within: &Within<'_, '_>) -> Result<Vec<Listed>, Failure> {
        let names = match within {
            Within::Transaction(transaction) => self.database.procedure_names(&transaction.view()),
            Within::Committed(committed) => {
                let space: &SpaceSnapshot = committed.snapshot.space();
                self.database.procedure_names(&space)
            }
        };
        let names = names.map_err(|error| failure_of(&error))?.into_iter();
        let listed = |name| Listed {
            name,
            engine: "SQL",
        };
        Ok(names.map(listed).collect())
    }
}

/// An error of SQL in Redis' words: a code, a sentence, and the SQLSTATE at the end.
fn failure_of(error: &SqlError) -> Failure {
    let text = format!("{} (SQLSTATE {})", error.message, error.code);
    match error.code {
        // Nothing was done yet.
        code::READ_ONLY_TRANSACTION => Failure::Writes,
        code::INSUFFICIENT_PRIVILEGE => Failure::Said(format!("NOPERM {text}")),
        _ => Failure::Function(text),
    }
}

/// The answer: a single value as that value, rows as a list of lists, no rows as nil. A statement that returns no rows
/// answers the number of changed rows, and a procedure without a statement `OK`.
fn reply_of(complete: &mut Complete) -> Reply {
    let Some(rows) = complete.rows.take() else {
        return complete.tag.rows.map_or(Reply::Ok, Reply::count);
    };
    let Rows {
        values,
        width,
        count,
        columns,
        ..
    } = rows;
    let mut values = values
        .into_iter()
        .zip(columns.iter().map(|column| column.spec.kind).cycle())
        .map(|(value, kind)| reply_of_value(value, kind));
    match (count, width) {
        (0, _) => Reply::Null,
        (1, 1) => values.next().unwrap_or(Reply::Null),
        _ => {
            let row = |_| Reply::Array(values.by_ref().take(width).collect());
            Reply::Array((0..count).map(row).collect())
        }
    }
}

fn reply_of_value(value: Value, kind: SqlType) -> Reply {
    match value {
        Value::Null => Reply::Null,
        Value::Bool(value) => Reply::Bool(value),
        Value::Float(value) if kind == SqlType::Float4 => {
            // The shortest number that has the same 32 bits, as SQL prints it.
            let shortest = (value as f32).to_string().parse();
            Reply::Double(shortest.unwrap_or(value))
        }
        Value::Float(value) => Reply::Double(value),
        Value::Text(text) => Reply::Bulk(text.into_bytes()),
        // Of an object of the catalogue the text has the name, behind its number.
        Value::Bytes(bytes) if !kind.is_object() => Reply::Bulk(bytes),
        other => {
            if let Value::Int(number) = &other
                && let Ok(number) = i64::try_from(*number)
            {
                return Reply::Int(number);
            }
            let mut text = String::new();
            encode_text(kind, &other.as_ref(), &mut text);
            Reply::Bulk(text.into_bytes())
        }
    }
}
