//! All tables in one state of the catalogue, and the definitions that a node keeps from one transaction to the next.
//!
//! The catalogue has a version, which each change of it raises. The first use of tables in a transaction reads the
//! version. Definitions that the node knows of the same version are still right, and stay so until the transaction
//! ends, since the version's page is locked. So every node sees a changed schema in its next transaction, and no
//! transaction sees it change.
//!
//! Invariant: definitions kept for later transactions were committed.

use super::super::NodeError;
use super::super::work::WorkPoint;
use super::access::Access;
use super::catalogue::{self, Definition, TableInfo};
use super::space::{FIRST_PAGE, Head};
use super::view::View;
use crate::protocol::LockMode;
use sardonyx_base::sync::futex::Mutex;
use sardonyx_rows::Relations;
use sardonyx_rows::constraints::{ComputeDefaults, HeldReferences, Marks};
use sardonyx_storage::catalogue::{Definition as Named, Definitions, Kind};
use std::sync::Arc;

/// All tables and journals, by number.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    version: u64,
    /// There is a catalogue.
    exists: bool,
    definitions: Definitions,
    infos: Vec<Option<Arc<TableInfo>>>,
    relations: Relations,
}

impl Tables {
    /// The tables as a transaction sees them.
    pub(super) fn of(access: &mut dyn Access) -> Result<Arc<Tables>, NodeError> {
        if let Some(tables) = &access.used().tables {
            return Ok(tables.clone());
        }
        let known = access.known().and_then(Known::get);
        let database = access.database();
        let tables = Self::read(&View::new(access), known, database)?;
        if !access.used().defines
            && let Some(known) = access.known()
        {
            known.note(&tables);
        }
        access.used().tables = Some(tables.clone());
        Ok(tables)
    }

    fn read(
        view: &View<'_>,
        known: Option<Arc<Tables>>,
        database: u64,
    ) -> Result<Arc<Tables>, NodeError> {
        // The head is often changed, so it is not locked where there is no need.
        let exists = match &known {
            Some(known) if known.exists => true,
            _ => Head::read(view, LockMode::Read)?.is_some(),
        };
        if !exists {
            return Ok(Arc::default());
        }
        let version = catalogue::version(view, FIRST_PAGE as u32)?;
        if let Some(known) = &known
            && known.exists
            && known.version == version
        {
            return Ok(known.clone());
        }
        let mut tables = Tables {
            version,
            exists,
            ..Tables::default()
        };
        for (name, definition) in catalogue::all(view, database)? {
            match definition {
                Definition::Table(info) => {
                    let before = known.as_ref().and_then(|known| known.info(info.number));
                    // Plans go by the schema that they know.
                    let info = match before {
                        Some(before) if before.is_as(&info) => before.clone(),
                        _ => Arc::new(info),
                    };
                    let named = info.format.schema().definition(&name);
                    let schema = Some(&**info.format.schema());
                    tables.relations.set(info.number, schema);
                    tables.put(info.number, named, Some(info));
                }
                Definition::Journal { number, row_bytes } => {
                    let named = Named {
                        name,
                        record_bytes: row_bytes as usize,
                        kind: Kind::Journal,
                    };
                    tables.put(number, named, None);
                }
                Definition::Dropped(_) => {}
            }
        }
        Ok(Arc::new(tables))
    }

    fn put(&mut self, number: u16, named: Named, info: Option<Arc<TableInfo>>) {
        let place = usize::from(number);
        while self.definitions.len() <= place {
            let dropped = Named {
                name: String::new(),
                record_bytes: 0,
                kind: Kind::Dropped,
            };
            self.definitions.set(self.definitions.len(), dropped);
            self.infos.push(None);
        }
        self.definitions.set(place, named);
        self.infos[place] = info;
    }

    /// The version of the catalogue.
    pub fn version(&self) -> u64 {
        self.version
    }

    pub fn definitions(&self) -> &Definitions {
        &self.definitions
    }

    pub fn info(&self, number: u16) -> Option<&Arc<TableInfo>> {
        self.infos.get(usize::from(number))?.as_ref()
    }

    /// The table or journal of a name.
    pub fn number(&self, name: &str) -> Option<u16> {
        self.definitions.named(name)
    }

    pub fn named(&self, name: &str) -> Option<&Arc<TableInfo>> {
        self.info(self.number(name)?)
    }

    pub fn all(&self) -> impl Iterator<Item = &Arc<TableInfo>> {
        self.infos.iter().flatten()
    }

    /// The references between the tables, and the names of their indexes.
    pub fn relations(&self) -> &Relations {
        &self.relations
    }

    /// True if rows of any table refer to this one's.
    pub fn is_referenced(&self, number: u16) -> bool {
        !self.relations.referring(number).is_empty()
    }
}

/// The definitions that a node keeps from one transaction to the next.
#[derive(Debug, Default)]
pub(in super::super) struct Known {
    tables: Mutex<Option<Arc<Tables>>>,
    computes: Mutex<Option<Arc<dyn ComputeDefaults>>>,
}

impl Known {
    fn get(&self) -> Option<Arc<Tables>> {
        self.tables.lock().clone()
    }

    fn note(&self, tables: &Arc<Tables>) {
        let mut there = self.tables.lock();
        if !there
            .as_ref()
            .is_some_and(|there| Arc::ptr_eq(there, tables))
        {
            *there = Some(tables.clone());
        }
    }

    /// Computes defaults in SQL.
    pub fn computes(&self) -> Option<Arc<dyn ComputeDefaults>> {
        self.computes.lock().clone()
    }

    /// Has defaults in SQL computed so from now on.
    pub fn compute_by(&self, computes: Arc<dyn ComputeDefaults>) {
        *self.computes.lock() = Some(computes);
    }
}

/// A transaction's use of tables.
#[derive(Debug, Default)]
pub(crate) struct Used {
    tables: Option<Arc<Tables>>,
    /// It has changed the list of tables, or their definitions.
    defines: bool,
    /// It has dropped trees, whose pages go back when it is durable.
    pub(in super::super) drops: bool,
    pub(super) marks: Marks<WorkPoint>,
    /// References that are checked later, while no [`NodeTables`](super::NodeTables) has them.
    pub(super) held: HeldReferences,
}

impl Used {
    /// It has changed the catalogue.
    pub fn defined(&mut self) {
        self.tables = None;
        self.defines = true;
    }

    /// Changes of it were undone, maybe of the catalogue.
    pub fn rolled_back(&mut self) {
        if self.defines {
            self.tables = None;
        }
    }
}
