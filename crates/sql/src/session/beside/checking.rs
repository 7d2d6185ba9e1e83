//! A constraint on a table with many rows. The rows are checked beside the table, in a snapshot. Rows that others have
//! changed are checked again, in rounds while they are many. The last call checks the last ones, and runs the
//! statement, which checks no row any more. A row that does not meet the constraint ends the statement: each state that
//! is checked is later than its beginning.

use super::made::Ran;
use super::whole::{LAST_ROWS, ROUNDS, Stop, Whole, commit};
use crate::define::Rule;
use crate::rows::InputRow;
use crate::source::Source;
use sardonyx::{Snapshot, Transaction};
use sardonyx_rows::ScanPlace;

fn input(row: &Option<impl InputRow>) -> Option<&dyn InputRow> {
    row.as_ref().map(|row| row as &dyn InputRow)
}

impl Whole<'_> {
    /// Checks all rows of the table, and runs `finish` in the call after which they have to meet the rule.
    pub fn with_rule<T>(
        &self,
        rule: &Rule,
        finish: impl FnOnce(&mut Transaction<'_>) -> Result<T, Stop>,
    ) -> Result<Ran<T>, Stop> {
        let mut last = self.newest()?;
        self.all_meet(rule, &last)?;
        let mut count = 0;
        for _ in 0..ROUNDS {
            let next = self.newest()?;
            count = self.changed_meet(rule, &last, &next)?;
            last = next;
            if count < LAST_ROWS {
                break;
            }
        }
        let table = self.made.table();
        let turn = self.turn()?;
        commit(turn, self.limits, count, |tx: &mut Transaction<'_>| {
            self.check_table(tx)?;
            self.meet_now(rule, &last, tx)?;
            // The snapshot ends before pages change, so that none is copied for it.
            drop(last);
            tx.with_checked_rows(table, finish)
        })
    }

    /// Checks the rows that others changed since a state, in the call that commits.
    pub fn meet_now(&self, rule: &Rule, last: &Snapshot, tx: &Transaction<'_>) -> Result<(), Stop> {
        let (view, source) = (tx.view(), tx as &dyn Source);
        last.space()
            .changed_rows(self.made.table(), view, |_, is| match &is {
                Some(row) => self.meets(rule, row, source),
                None => Ok(()),
            })?;
        if let Some(parent) = rule.parent() {
            last.space().changed_rows(parent, view, |was, is| {
                match rule.is_kept(input(&was), input(&is), source)? {
                    true => Ok(()),
                    // A look for rows that refer to it takes too long here: the statement begins again.
                    false => Err(self.conflict()),
                }
            })?;
        }
        Ok(())
    }

    /// Ends the statement for a row that does not meet the rule. For a row that cannot be tested, the stage gives the
    /// error.
    fn meets(&self, rule: &Rule, row: &dyn InputRow, source: &dyn Source) -> Result<(), Stop> {
        if rule.is_met(row, source)? {
            return Ok(());
        }
        let violation = rule.violation(self.made.table(), row, source)?;
        Err(violation.map_or(Stop::Open, Stop::Statement))
    }

    pub fn all_meet(&self, rule: &Rule, snapshot: &Snapshot) -> Result<(), Stop> {
        let mut place = ScanPlace::default();
        let source = &**snapshot.space();
        let mut is_end = false;
        while !is_end {
            let (mut count, mut met) = (0, Ok(()));
            let scanned = Source::scan_from(&source, self.made.table(), &mut place, &mut |row| {
                self.with.context.look_at_row()?;
                met = self.meets(rule, row, &source);
                count += 1;
                Ok(met.is_ok() && count < self.limits.slice)
            });
            let scanned = scanned.map_err(Stop::from);
            let scanned = scanned.and_then(|is_end| met.map(|()| is_end));
            is_end = scanned.map_err(|stop| stop.unless_ended(&[snapshot]))?;
            self.limits.pause(&self.with)?;
        }
        Ok(())
    }

    /// Checks the rows that others changed between two states, or all rows if keys of the other table were removed.
    /// Returns the number of changes; at least [`LAST_ROWS`] if all rows were checked.
    pub fn changed_meet(
        &self,
        rule: &Rule,
        before: &Snapshot,
        after: &Snapshot,
    ) -> Result<usize, Stop> {
        let (mut count, source) = (0, &**after.space());
        let read = &[before, after];
        let space = before.space();
        let compared = space.rows_changed_until(self.made.table(), source, |_, is| {
            self.with.context.look_at_row()?;
            count += 1;
            match &is {
                Some(row) => self.meets(rule, row, &source),
                None => Ok(()),
            }
        });
        compared.map_err(|stop: Stop| stop.unless_ended(read))?;
        if let Some(parent) = rule.parent() {
            let mut are_kept = true;
            let compared = space.rows_changed_until(parent, source, |was, is| {
                self.with.context.look_at_row()?;
                count += 1;
                are_kept = are_kept && rule.is_kept(input(&was), input(&is), &source)?;
                Ok(())
            });
            compared.map_err(|stop: Stop| stop.unless_ended(read))?;
            if !are_kept {
                // A row may refer to a removed key. To look for it takes long: another round follows.
                self.all_meet(rule, after)?;
                count = count.max(LAST_ROWS);
            }
        }
        self.limits.pause(&self.with)?;
        Ok(count)
    }
}
