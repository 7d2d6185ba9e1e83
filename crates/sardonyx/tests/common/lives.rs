//! A database of items and notes as a subject of the crash world: the work and the judged content are the test's.

use crate::common::Opened;
use sardonyx::{Error, Options};
use sardonyx_storage::crashes::{History, Stopped, Subject};
use sardonyx_storage::disk::SimulatedDisk;
use std::fmt::Debug;

/// A step of work: notes a change, tries it, and notes its acknowledgement.
pub type Work<C> = Box<dyn FnMut(&Opened, &mut History<C>) -> Result<(), Error>>;

/// A database in its lives.
pub struct Lives<C, F> {
    pub options: Box<dyn Fn() -> Options>,
    pub work: Work<C>,
    /// The content of the database.
    pub found: fn(&Opened) -> Result<F, Error>,
    /// The content after these changes.
    pub expected: fn(&[C]) -> F,
    /// A life that nothing ends before is closed, not dropped.
    pub closes: bool,
}

impl<C, F: PartialEq + Debug> Subject for Lives<C, F> {
    type Open = Opened;
    type Change = C;

    fn recover(
        &mut self,
        disk: &SimulatedDisk,
        history: &mut History<C>,
    ) -> Result<Opened, Stopped> {
        let opened = Opened::on(disk, (self.options)())?;
        history.settle(&(self.found)(&opened)?, self.expected);
        Ok(opened)
    }

    fn submit(&mut self, open: &mut Opened, history: &mut History<C>) -> Result<(), Stopped> {
        Ok((self.work)(open, history)?)
    }

    fn observe(&mut self, disk: &SimulatedDisk, history: &mut History<C>) -> Result<(), Stopped> {
        let opened = Opened::on(disk, (self.options)())?;
        history.judge(&(self.found)(&opened)?, self.expected);
        Ok(())
    }

    fn close(&mut self, open: Opened, _: &mut History<C>) -> Result<(), Stopped> {
        match self.closes {
            true => Ok(open.database.close()?),
            false => Ok(()),
        }
    }
}

/// These changes, one after the other, each in a durable transaction.
pub fn each<C: Clone + 'static>(
    changes: impl IntoIterator<Item = C, IntoIter: 'static>,
    run: fn(&Opened, &C) -> Result<(), Error>,
) -> Work<C> {
    let mut changes = changes.into_iter();
    Box::new(move |opened, history| {
        let change = changes.next().expect("one more");
        history.submit(change.clone());
        run(opened, &change)?;
        history.acknowledge();
        Ok(())
    })
}
