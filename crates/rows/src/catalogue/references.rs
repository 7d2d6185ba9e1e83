//! The references between tables, from both ends: the tables to which each refers, and those that refer to it.
//!
//! So a change of a row, a dropped table and a commit find the tables that refer to one without a look at all schemas.
//! Copies share their parts ([`Parts`]): a snapshot has its own.
//!
//! Invariant: they are those of the schemas' references, each table once, in the order of the numbers.

use crate::schema::Schema;
use sardonyx_base::parts::Parts;
use std::sync::Arc;

/// Numbers of tables, in their order.
type Numbers = Arc<Vec<u16>>;

/// The references between the tables of a space or a snapshot.
#[derive(Clone, Debug, Default)]
pub(super) struct References {
    /// By the number of a table: those to which it refers.
    from: Parts<Numbers>,
    /// By the number of a table: those that refer to it.
    to: Parts<Numbers>,
}

impl References {
    /// The tables that refer to one, itself included if it does.
    #[inline]
    pub fn to(&self, table: u16) -> &[u16] {
        let to = self.to.get(usize::from(table));
        to.map_or(&[], |numbers| numbers.as_slice())
    }

    /// Takes the references of a table's present schema, or of none. Returns the tables that are referred to by others
    /// than before.
    pub fn set(&mut self, table: u16, schema: Option<&Schema>) -> Vec<u16> {
        let keys = schema.iter().flat_map(|schema| &schema.foreign_keys);
        let mut now: Vec<u16> = keys.map(|key| key.table).collect();
        now.sort_unstable();
        now.dedup();
        let before = match self.from.get(usize::from(table)) {
            Some(before) => Arc::clone(before),
            None => Numbers::default(),
        };
        if *before == now {
            return Vec::new();
        }
        let mut changed = Vec::new();
        for gone in before.iter().filter(|of| !now.contains(of)) {
            let to = Arc::make_mut(place(&mut self.to, *gone));
            to.retain(|other| *other != table);
            changed.push(*gone);
        }
        for new in now.iter().filter(|of| !before.contains(of)) {
            let to = Arc::make_mut(place(&mut self.to, *new));
            let behind = to.partition_point(|other| *other < table);
            to.insert(behind, table);
            changed.push(*new);
        }
        *place(&mut self.from, table) = Arc::new(now);
        changed
    }
}

fn place(all: &mut Parts<Numbers>, table: u16) -> &mut Numbers {
    let table = usize::from(table);
    if all.len() <= table {
        all.resize(table + 1, Numbers::default());
    }
    all.get_mut(table).expect("it is there now")
}
