//! Answers to clients, and the digest of an answer by which a replay is compared.

use super::given::Given;
use super::history::{Remembered, Told};
use crate::claiming::{ClaimLog, bytes_of_log};
use crate::column::ResultColumn;
use crate::error::SqlError;
use crate::explain;
use crate::memory::{SMALL_BYTES, WRITTEN, bytes_of as bytes_of_values, cover_portion};
use crate::prepared::Prepared;
use crate::result::{Complete, CopyData, Notice, RowStream, Rows};
use crate::rows::Table;
use crate::sequences::{Done, Draws};
use crate::settings::Settings;
use crate::values::equality_keys::key_of;
use sardonyx::schema::Value;
use sardonyx_base::memory::{Budget, Share};
use sqlparser::ast::Statement;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, OnceLock};

/// Counts the memory of a statement's answer until it is sent.
///
/// # Errors
/// `53200` if there is no memory for it.
pub(super) fn count(
    complete: &mut Complete,
    table: Option<&(Table, Arc<[ResultColumn]>)>,
    memory: &Arc<Budget>,
) -> Result<(), SqlError> {
    let bytes = bytes_of(complete, table);
    if bytes > SMALL_BYTES {
        let mut share = Share::of(memory.clone());
        share.cover(bytes)?;
        complete.memory = Some(share);
    }
    Ok(())
}

/// Gives a statement's rows to its client: all, or the first ones and a stream.
pub(super) fn attach(
    complete: &mut Complete,
    table: Option<(Table, Arc<[ResultColumn]>)>,
    rows_max: u64,
    statement: &Prepared,
) {
    let Some((mut table, columns)) = table else {
        return;
    };
    let count = match rows_max {
        0 => table.rows,
        most => table.rows.min(most),
    };
    let more = (count < table.rows).then(|| {
        let at = usize::try_from(count)
            .unwrap_or(usize::MAX)
            .saturating_mul(table.width);
        let rest = table.values.split_off(at);
        RowStream::held(rest, table.width, table.rows - count)
    });
    table.rows = count;
    let rows = Rows::all(table, columns);
    let zone = statement.rights().path().zone().cloned().map(Box::new);
    complete.rows = Some(Rows { more, zone, ..rows });
}

/// The memory of the first rows of a stream, which grows with those that follow.
///
/// # Errors
/// `53200` if there is no memory for them.
pub(super) fn portion_memory(values: &[Value], memory: &Arc<Budget>) -> Result<Share, SqlError> {
    let mut share = Share::of(memory.clone());
    cover_portion(&mut share, values)?;
    Ok(share)
}

/// The memory of an answer until it is sent, about: its rows are written a few at a time, and at least one.
fn bytes_of(complete: &Complete, table: Option<&(Table, Arc<[ResultColumn]>)>) -> usize {
    let copied = complete
        .copy_out
        .as_ref()
        .map_or(0, |data| data.0.capacity());
    let Some((table, _)) = table else {
        return copied;
    };
    let rows = table.values.chunks(table.width.max(1)).map(bytes_of_values);
    let (all, most) = rows.fold((0, 0), |(all, most): (usize, usize), row| {
        (all + row, most.max(row))
    });
    match most > SMALL_BYTES {
        true => copied + all + most * WRITTEN,
        false => copied + all,
    }
}

fn hashers() -> &'static [RandomState; 2] {
    static HASHERS: OnceLock<[RandomState; 2]> = OnceLock::new();
    HASHERS.get_or_init(|| [RandomState::new(), RandomState::new()])
}

/// The digest of an answer: the sum over rows, so that their order does not matter. It leaves out the times of
/// `EXPLAIN ANALYZE`, which differ in each run.
pub(super) fn told_of(
    statement: &Prepared,
    complete: &Complete,
    table: Option<&(Table, Arc<[ResultColumn]>)>,
) -> Told {
    let is_explained = matches!(statement.statement(), Some(Statement::Explain { .. }));
    let mut digests = [0_u64; 2];
    let mut add = |bytes: &[u8]| {
        for (digest, hasher) in digests.iter_mut().zip(hashers()) {
            *digest = digest.wrapping_add(hasher.hash_one(bytes));
        }
    };
    if let Some((table, _)) = table {
        let mut key = Vec::new();
        for row in table.values.chunks(table.width.max(1)) {
            if is_explained && matches!(row, [Value::Text(line)] if explain::is_measured(line)) {
                continue;
            }
            key.clear();
            for value in row {
                // Equal numbers may be written with different digits.
                if let Value::Decimal(_, scale) = value {
                    key.push(*scale);
                }
                key_of(value.as_ref(), &mut key);
            }
            add(&key);
        }
    }
    if let Some(data) = &complete.copy_out {
        add(&data.0);
    }
    Told::Rows {
        rows: complete.tag.rows.unwrap_or(0),
        digest: digests,
    }
}

/// The warnings of locks that a statement released, and the session did not have.
pub(super) fn not_held(draws: &Draws) -> Vec<Notice> {
    let told = draws.told.iter().map(|(severity, code, message)| Notice {
        severity,
        code,
        message: message.clone(),
    });
    let warnings = draws.not_held.iter().map(|is_shared| {
        let mode = if *is_shared { "Share" } else { "Exclusive" };
        let text = format!("you don't own a lock of type {mode}Lock");
        Notice::warning("01000", &text)
    });
    told.chain(warnings).collect()
}

/// A statement as it is remembered.
pub(super) fn remembered(
    statement: &Arc<Prepared>,
    parameters: &[Value],
    data: Option<Arc<CopyData>>,
    given: &Given<'_>,
    settings: Settings,
    told: Told,
    (drawn, claimed): (Done, Arc<ClaimLog>),
) -> Remembered {
    let outside = |value: &Value| match value {
        Value::Text(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        _ => 0,
    };
    let bytes = size_of_val(parameters)
        + parameters.iter().map(outside).sum::<usize>()
        + data.as_ref().map_or(0, |data| data.0.len())
        + drawn.bytes()
        + bytes_of_log(&claimed);
    Remembered {
        statement: statement.clone(),
        parameters: parameters.into(),
        data,
        statement_started: given.statement_started,
        seed: given.seed,
        settings,
        drawn,
        claimed,
        told,
        bytes,
    }
}
