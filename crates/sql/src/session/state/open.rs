//! The open transaction of a session: its savepoints, its statements to run again, and its way aside and back.

use super::{OpenTransaction, Reading, Savepoint};
use crate::error::{SqlError, code};
use crate::session::aside::own_version;
use crate::session::history::Remembered;
use crate::settings::Settings;
use sardonyx::rows::OpenRows;

/// The most savepoints of a transaction.
const SAVEPOINTS_MAX: usize = 1000;

impl OpenTransaction {
    /// Says whether it only reads.
    ///
    /// # Errors
    /// `25001` if it has read, and is to write from now on.
    pub fn set_read_only(&mut self, read_only: bool) -> Result<(), SqlError> {
        if !self.is_fresh() && self.read_only && !read_only {
            return Err(SqlError::new(
                code::ACTIVE_TRANSACTION,
                "transaction read-write mode must be set before any query",
            ));
        }
        self.read_only = read_only;
        Ok(())
    }

    /// The same for a run to its end that may be taken back: without its history, which is not run again.
    pub fn stand_in(&self) -> OpenTransaction {
        OpenTransaction {
            started: self.started,
            read_only: self.read_only,
            is_implicit: self.is_implicit,
            settings_before: self.settings_before.clone(),
            drawn_before: self.drawn_before.clone(),
            defines: self.defines,
            is_of_stage: self.is_of_stage,
            ..OpenTransaction::default()
        }
    }

    /// True if it has neither read nor written.
    pub fn is_fresh(&self) -> bool {
        matches!(self.reading, Reading::Snapshot(None))
    }

    /// Goes on in the stage: all that it did is run again there from now on.
    pub fn leave_aside(&mut self) {
        self.aside = None;
        self.is_aside = false;
        self.is_new_aside = false;
        for savepoint in &mut self.savepoints {
            savepoint.aside = None;
        }
    }

    /// The tables as it has defined them aside, and the version of the catalogue for plans over them.
    pub fn own_tables(&mut self) -> Option<(u64, &OpenRows)> {
        let has_defined = self.defines && !self.is_new_aside;
        let aside = self.aside.as_mut().filter(|_| has_defined)?.get();
        let is_there = !aside.rows.snapshot().is_ended();
        is_there.then_some((aside.version, &aside.rows))
    }

    /// Remembers a statement.
    ///
    /// # Errors
    /// `54001` beyond the bounds.
    pub fn remember(&mut self, one: Remembered) -> Result<(), SqlError> {
        self.history.add_rows(std::mem::take(&mut self.walked));
        let remembered = self.history.remember(one, &self.settings_before);
        match remembered {
            // It need not be run again, as long as its reads do not change.
            Err(_) if self.is_aside || self.read_only => {
                self.history.forget();
                Ok(())
            }
            remembered => remembered,
        }
    }

    /// True if a failed statement is remembered: the client may roll it back, and continue.
    pub fn remembers_failures(&self) -> bool {
        !self.is_implicit && !self.savepoints.is_empty()
    }

    /// Sets a savepoint.
    ///
    /// # Errors
    /// `54001` if there are too many.
    pub fn save(
        &mut self,
        name: String,
        settings: Settings,
        claims: usize,
    ) -> Result<(), SqlError> {
        if self.savepoints.len() >= SAVEPOINTS_MAX {
            return Err(SqlError::new(
                code::TOO_COMPLEX,
                format!("a transaction has at most {SAVEPOINTS_MAX} savepoints"),
            ));
        }
        let aside = self.aside.as_mut().map(|aside| {
            let aside = aside.get();
            (aside.rows.savepoint(), aside.effects.mark())
        });
        self.savepoints.push(Savepoint {
            name,
            place: self.history.place(),
            settings,
            aside,
            signals: self.signals.mark(),
            claims,
        });
        Ok(())
    }

    /// Forgets a savepoint, and those behind it; the statements stay.
    ///
    /// # Errors
    /// `3B001` if there is none of the name.
    pub fn release(&mut self, name: &str) -> Result<(), SqlError> {
        let at = self.savepoint(name)?;
        let released = self.savepoints.drain(at..);
        let mark = released.filter_map(|savepoint| savepoint.aside).next();
        if let (Some(aside), Some((mark, _))) = (&mut self.aside, mark) {
            aside.get().rows.release(mark)?;
        }
        Ok(())
    }

    /// The mark of the locks and claims that the transaction keeps if it fails: those before its last savepoint.
    pub fn kept_claims(&self) -> usize {
        let last = self.savepoints.last();
        last.map_or(0, |savepoint| savepoint.claims)
    }

    /// Goes back to a savepoint: undoes the changes since. Returns the settings at that time.
    ///
    /// # Errors
    /// `3B001` if there is none of the name.
    pub fn return_to(&mut self, name: &str) -> Result<Settings, SqlError> {
        let at = self.savepoint(name)?;
        self.savepoints.truncate(at + 1);
        let savepoint = &mut self.savepoints[at];
        self.history.undo_since(savepoint.place);
        savepoint.place = self.history.place();
        let settings = savepoint.settings.clone();
        self.signals.return_to(savepoint.signals);
        match (&mut self.aside, &savepoint.aside) {
            (Some(aside), Some((mark, effects))) => {
                let aside = aside.get();
                aside.rows.rollback_to(*mark)?;
                aside.effects.return_to(effects);
                if self.defines {
                    // Plans of undone definitions are invalid.
                    aside.version = own_version();
                }
            }
            // The transaction failed before the mark could be set there.
            (Some(_), None) => self.leave_aside(),
            (None, _) => {}
        }
        self.defines = self.history.defines();
        Ok(settings)
    }

    fn savepoint(&self, name: &str) -> Result<usize, SqlError> {
        let found = self
            .savepoints
            .iter()
            .rposition(|savepoint| savepoint.name == name);
        found.ok_or_else(|| {
            SqlError::new(
                code::NO_SAVEPOINT,
                format!("savepoint \"{name}\" does not exist"),
            )
        })
    }
}
