//! A file as one transaction: all of its rows, or none.

use super::{Import, Placed, Refused, is_of_row, reason, told};
use anyhow::Context;
use sardonyx_interchange::{Batch, InterchangeError, ReadAhead};
use std::collections::VecDeque;

/// The reason why the transaction was undone.
enum Ended {
    Refused(Refused),
    Read(InterchangeError),
}

impl From<sardonyx::Error> for Ended {
    fn from(error: sardonyx::Error) -> Self {
        Ended::Refused(error.into())
    }
}

/// The rows of a file, batch by batch, and the reason why they ended before its end.
struct Reading<'a> {
    ahead: &'a mut ReadAhead,
    progress: &'a mut (dyn FnMut(u64) + Send),
    waiting: VecDeque<Placed>,
    /// The row that was taken last, and the number of rows.
    last: Option<Placed>,
    taken: usize,
    ended: Option<Ended>,
}

impl Reading<'_> {
    fn read(&mut self) -> Option<()> {
        let batch = match self.ahead.next_batch() {
            Ok(batch) => batch?,
            Err(error) => {
                self.ended = Some(Ended::Read(error));
                return None;
            }
        };
        if let Some(bad) = batch.bad.first() {
            self.ended = Some(Ended::Refused(Refused::Row(bad.clone())));
            return None;
        }
        self.waiting.extend(rows_of(&batch));
        (self.progress)(batch.position);
        self.ahead.give_back(batch);
        Some(())
    }

    fn next(&mut self) -> Option<Placed> {
        while self.waiting.is_empty() {
            self.read()?;
        }
        let row = self.waiting.pop_front()?;
        self.last = Some(row.clone());
        self.taken += 1;
        Some(row)
    }
}

/// The rows of a batch with their places.
pub(super) fn rows_of(batch: &Batch) -> impl Iterator<Item = Placed> {
    batch.rows().map(|(place, values)| {
        let values = values.map(|(column, value)| (column, value.to_value()));
        (place, values.collect())
    })
}

impl Import<'_> {
    /// Inserts all rows of the file.
    pub(super) fn whole(
        &mut self,
        ahead: &mut ReadAhead,
        mut progress: impl FnMut(u64) + Send,
    ) -> anyhow::Result<()> {
        let (database, table) = (&self.database, &self.table);
        let reading = std::sync::Mutex::new(Reading {
            ahead,
            progress: &mut progress,
            waiting: VecDeque::new(),
            last: None,
            taken: 0,
            ended: None,
        });
        let ended = database.put_rows(|tx| {
            let lock = || {
                reading
                    .lock()
                    .unwrap_or_else(std::sync::PoisonError::into_inner)
            };
            let rows = std::iter::from_fn(|| Some(lock().next()?.1));
            let done = database.insert_incoming(tx, table, rows, |number, error| {
                let mut reading = lock();
                if let Some(row) = reading.last.take().filter(|_| number + 1 == reading.taken)
                    && is_of_row(&error)
                {
                    reading.ended = Some(Ended::Refused(Refused::Row(told(&row, &error))));
                }
                Err(error)
            });
            if let Some(ended) = lock().ended.take() {
                return Err(ended);
            }
            let done = done.map_err(|error| Ended::Refused(Refused::Batch(error)))?;
            let count = done.count;
            done.committed(database);
            Ok(count)
        });
        let file = self.arguments.file().display();
        match ended {
            Ok(count) => {
                self.rows += count;
                Ok(())
            }
            Err(Ended::Refused(Refused::Row(bad))) => {
                anyhow::bail!("{file}, {bad}; no row was inserted (--batch all)")
            }
            Err(Ended::Refused(Refused::Batch(error))) if is_of_row(&error) => {
                anyhow::bail!(
                    "{file}: {}; no row was inserted (--batch all)",
                    reason(&error)
                )
            }
            Err(Ended::Refused(Refused::Batch(error))) => {
                Err(error).with_context(|| format!("{file}: no row was inserted"))
            }
            Err(Ended::Read(error)) => {
                Err(error).with_context(|| format!("{file}: no row was inserted"))
            }
        }
    }
}
