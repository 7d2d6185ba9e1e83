//! The program's own code in the engine: a transaction, a procedure, and values that panic.

use super::REMAINDER;
use crate::common::{Item, Note, Opened, PLANNED};
use sardonyx::procedures::Procedure;
use sardonyx::{Error, Table, Transaction};
use std::sync::Arc;
use std::task::Wake;

/// Inserts an item and notes it, both or neither; in a procedure, as its argument directs.
#[derive(Clone, Copy)]
pub struct Put(pub Table<Item>, pub sardonyx::Journal<Note>);

impl Put {
    pub fn put(self, tx: &mut Transaction<'_>, id: u64) -> Result<(), Error> {
        tx.insert(self.0, &Item::new(id, id))?;
        let note = Note {
            account: id,
            amount: id,
        };
        tx.append(self.1, &note)
    }
}

/// As [`Put::put`], into this database.
pub fn insert(opened: &Opened, tx: &mut Transaction<'_>, id: u64) -> Result<(), Error> {
    Put(opened.items, opened.notes).put(tx, id)
}

impl Procedure for Put {
    type Arguments = u64;
    type Located = ();
    type Output = u64;
    type Error = Error;

    fn name(&self) -> &str {
        "put"
    }

    fn check(&self, id: &u64) -> Result<(), Error> {
        match id % REMAINDER {
            3 => Err(Error::other("refused")),
            4 => panic!("{PLANNED}"),
            _ => Ok(()),
        }
    }

    fn locate(&self, id: &u64, _: &sardonyx::procedures::TableSpace) {
        assert!(id % REMAINDER != 5, "{PLANNED}");
    }

    fn execute(&self, id: &u64, (): (), tx: &mut Transaction<'_>) -> Result<u64, Error> {
        self.put(tx, *id)?;
        match id % REMAINDER {
            6 => Err(Error::other("failed")),
            7 => panic!("{PLANNED}"),
            _ => Ok(*id),
        }
    }
}

/// A value that panics when it is dropped, and a task that panics when it is woken.
pub struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("{PLANNED}");
        }
    }
}

impl Wake for Bomb {
    fn wake(self: Arc<Self>) {
        std::mem::forget(self);
        panic!("{PLANNED}");
    }
}
