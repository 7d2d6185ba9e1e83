//! Rows that transactions of sessions have claimed: by `FOR UPDATE` and its brothers, and by changes that are not
//! committed. A claim keeps no transaction from a row. `SKIP LOCKED` leaves out the rows that others have claimed, and
//! `NOWAIT` refuses them; the comparison at the commit decides in any case.
//!
//! Rows are known by hashes of their keys. Two keys with one hash are claimed together, which leaves out a row more.
//!
//! Invariant: memory is bounded. A transaction that claims many rows of a table claims all of them.

use crate::lock_modes::{Modes, RowMode};
use sardonyx_base::hash::IntegerMap;
use sardonyx_storage::catalogue::Definitions;

/// The most rows that the transactions of a database have claimed one by one, each with 100 bytes or so.
pub(crate) const ROWS_MAX: usize = 1_000_000;
/// The most of them that claims that are not refused may reach: the others are for those that can be.
pub(crate) const URGENT_ROWS_MAX: usize = ROWS_MAX / 2;
/// A transaction that claims more rows than this claims all rows of each further table.
pub(crate) const ROWS_OF_SESSION_MAX: usize = ROWS_MAX / 4;
/// A transaction that claims more rows of a table than this claims all of them.
pub(crate) const ROWS_OF_TABLE_MAX: usize = 100_000;

/// A table. After it is dropped, a later table may have its number, but not its origin.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct TableId {
    pub number: u16,
    origin: u64,
}

impl TableId {
    /// The table that has a number in a state.
    pub fn of(definitions: &Definitions, number: u16) -> TableId {
        let origin = definitions.origin(number);
        TableId {
            number,
            origin: origin.unwrap_or_default(),
        }
    }

    #[cfg(test)]
    pub fn nth(number: u16) -> TableId {
        TableId { number, origin: 0 }
    }
}

/// The hash of a row's key, with a secret of the process: clients cannot choose it.
pub(crate) type RowHash = u128;

/// The sessions that have claimed a row, with the modes.
type Holders = Vec<(u64, Modes)>;

#[derive(Debug, Default)]
struct OfTable {
    rows: IntegerMap<RowHash, Holders>,
    /// The sessions that have claimed all rows.
    whole: Holders,
    /// The number of rows that a session has claimed one by one.
    counts: IntegerMap<u64, usize>,
}

/// All claims of rows.
#[derive(Debug, Default)]
pub(crate) struct RowClaims {
    tables: IntegerMap<TableId, OfTable>,
    count: usize,
    /// The number of rows that a session has claimed one by one.
    of_sessions: IntegerMap<u64, usize>,
}

/// A claim that a session has made, with its modes before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Claimed {
    pub table: TableId,
    /// `None` for all rows of the table.
    pub row: Option<RowHash>,
    before: Modes,
}

/// The claims of single rows are at their bound.
#[derive(Debug)]
pub(crate) struct Full;

fn modes_of(holders: &Holders, session: u64) -> Modes {
    let found = holders.iter().find(|(of, _)| *of == session);
    found.map_or(0, |(_, modes)| *modes)
}

/// Sets the modes of a session. Returns those before.
fn set(holders: &mut Holders, session: u64, modes: Modes) -> Modes {
    match holders.iter().position(|(of, _)| *of == session) {
        Some(at) if modes == 0 => holders.swap_remove(at).1,
        Some(at) => std::mem::replace(&mut holders[at].1, modes),
        None => {
            if modes != 0 {
                holders.push((session, modes));
            }
            0
        }
    }
}

/// Counts one row less of a session.
fn one_less(counts: &mut IntegerMap<u64, usize>, session: u64) {
    if let Some(count) = counts.get_mut(&session) {
        *count -= 1;
        if *count == 0 {
            counts.remove(&session);
        }
    }
}

impl RowClaims {
    /// True if another session has claimed a row in a mode that excludes this one.
    pub fn is_claimed(&self, table: TableId, row: RowHash, session: u64, mode: RowMode) -> bool {
        let Some(of) = self.tables.get(&table) else {
            return false;
        };
        let excludes = |holders: &Holders| {
            let mut others = holders.iter().filter(|(of, _)| *of != session);
            others.any(|(_, modes)| modes & mode.excluded() != 0)
        };
        excludes(&of.whole) || of.rows.get(&row).is_some_and(excludes)
    }

    /// True if a session has claimed a row in a mode, or in a stronger one.
    pub fn has(&self, table: TableId, row: RowHash, session: u64, mode: RowMode) -> bool {
        let Some(of) = self.tables.get(&table) else {
            return false;
        };
        let own = of
            .rows
            .get(&row)
            .map_or(0, |there| modes_of(there, session));
        (modes_of(&of.whole, session) | own) & mode.or_stronger() != 0
    }

    /// Claims a row. `None` if the session has claimed it in this mode, or in a stronger one. At the
    /// bounds of its session, and an `urgent` one earlier than others, it becomes one of the whole table.
    ///
    /// # Errors
    /// The bound.
    pub fn claim(
        &mut self,
        table: TableId,
        row: RowHash,
        session: u64,
        (mode, urgent): (RowMode, bool),
    ) -> Result<Option<Claimed>, Full> {
        let of = self.tables.entry(table).or_default();
        let whole = modes_of(&of.whole, session);
        let own = of
            .rows
            .get(&row)
            .map_or(0, |there| modes_of(there, session));
        if (whole | own) & mode.or_stronger() != 0 {
            return Ok(None);
        }
        let is_known = own != 0;
        let count_of = |counts: &IntegerMap<u64, usize>| counts.get(&session).copied().unwrap_or(0);
        let is_whole = count_of(&of.counts) >= ROWS_OF_TABLE_MAX
            || count_of(&self.of_sessions) >= ROWS_OF_SESSION_MAX
            || urgent && self.count >= URGENT_ROWS_MAX;
        if !is_known && !is_whole && self.count >= ROWS_MAX {
            return Err(Full);
        }
        if !is_known && is_whole {
            let before = set(&mut of.whole, session, whole | mode.bit());
            return Ok(Some(Claimed {
                table,
                row: None,
                before,
            }));
        }
        let holders = of.rows.entry(row).or_default();
        let before = set(holders, session, own | mode.bit());
        if !is_known {
            *of.counts.entry(session).or_default() += 1;
            *self.of_sessions.entry(session).or_default() += 1;
            self.count += 1;
        }
        Ok(Some(Claimed {
            table,
            row: Some(row),
            before,
        }))
    }

    /// Gives a claim back: its modes are those before it.
    pub fn give_back(&mut self, session: u64, claimed: &Claimed) {
        let Some(of) = self.tables.get_mut(&claimed.table) else {
            return;
        };
        match claimed.row {
            None => {
                set(&mut of.whole, session, claimed.before);
            }
            Some(row) => {
                let Some(holders) = of.rows.get_mut(&row) else {
                    return;
                };
                set(holders, session, claimed.before);
                if holders.is_empty() {
                    of.rows.remove(&row);
                }
                if claimed.before == 0 {
                    self.count -= 1;
                    one_less(&mut of.counts, session);
                    one_less(&mut self.of_sessions, session);
                }
            }
        }
        if of.rows.is_empty() && of.whole.is_empty() {
            self.tables.remove(&claimed.table);
        }
    }

    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty() && self.of_sessions.is_empty() && self.count == 0
    }
}
