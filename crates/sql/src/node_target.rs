//! The transaction of a node, for statements and definitions.

use crate::define_target::{DefineTarget, RowValue, defines};
use crate::error::SqlError;
use crate::rows::EachRow;
use crate::source::Source;
use crate::write_target::{DueOf, WriteTarget, delete_before_others};
use sardonyx::low_level::HeldReference;
use sardonyx::nodes::NodeTables;
use sardonyx::rows::{DefineRows, RowWriter, Rows, Savepoint};
use sardonyx::schema::{
    Declared, ForeignKey, GeneratedColumn, IndexDefinition, Schema, Type, Value,
};
use sardonyx::{Error, Transaction};
use sardonyx_rows::constraints::{self, Followers, Objects, check_new_row, objects};
use sardonyx_storage::page::Address;

impl WriteTarget for NodeTables<'_> {
    fn insert(&mut self, number: u16, row: &RowWriter<'_>) -> Result<(), Error> {
        Rows::numbered(self, number)?.insert_row(row)
    }

    fn check_new(&mut self, number: u16, row: &RowWriter<'_>) -> Result<(), Error> {
        Ok(check_new_row(self, number, row)?)
    }

    /// Its rows have no addresses.
    fn update_at(&mut self, _: u16, _: Address, _: &RowWriter<'_>) -> Result<(), Error> {
        Err(Error::Refused("a row of a node has no address".into()))
    }

    fn update(&mut self, number: u16, key: &[Value], row: &RowWriter<'_>) -> Result<bool, Error> {
        Rows::numbered(self, number)?.update_row(key, row)
    }

    fn delete(&mut self, number: u16, key: &[Value]) -> Result<bool, Error> {
        Rows::numbered(self, number)?.delete(key)
    }

    fn delete_before_others(&mut self, number: u16, key: &[Value]) -> Result<Followers, Error> {
        delete_before_others(self, number, key)
    }

    fn follow(&mut self, followers: Followers) -> Result<(), Error> {
        Ok(constraints::follow(self, followers)?)
    }

    fn take(&mut self, number: u16, key: &[Value]) -> Result<bool, Error> {
        Rows::numbered(self, number)?.take(key)
    }

    fn at(&self, _: u16, _: Address, _: EachRow<'_>) -> Result<(), SqlError> {
        Ok(())
    }

    fn savepoint(&mut self) -> Savepoint {
        NodeTables::savepoint(self)
    }

    fn rollback_to(&mut self, savepoint: Savepoint) -> Result<(), Error> {
        NodeTables::rollback_to(self, savepoint)
    }

    fn release(&mut self, savepoint: Savepoint) -> Result<(), Error> {
        NodeTables::release(self, savepoint)
    }

    fn hold_references(&mut self, holds: bool) {
        NodeTables::hold_references(self, holds);
    }

    fn held_references(&self) -> Vec<HeldReference> {
        NodeTables::held_references(self)
    }

    fn check_held(&mut self, due: DueOf<'_>) -> Result<(), Error> {
        Ok(NodeTables::check_held(self, due)?)
    }

    fn objects(&mut self, act: &mut dyn FnMut(&mut dyn Objects)) {
        act(&mut objects(self));
    }

    fn tables(&mut self, _: &mut dyn FnMut(&mut Transaction<'_>)) -> bool {
        false
    }

    fn define(&mut self) -> Option<&mut dyn DefineTarget> {
        Some(self)
    }

    fn change_found(&mut self, changes: bool) {
        NodeTables::change_found(self, changes);
    }

    fn version(&self) -> Option<u64> {
        Some(NodeTables::version(self))
    }
}

impl DefineTarget for NodeTables<'_> {
    defines!();

    /// Sequences are refused: each process draws from a reserve in its main memory.
    fn check_sequences(&self) -> Result<(), SqlError> {
        Err(SqlError::unsupported(
            "sequences, serial and identity columns are not supported on a nodes' database",
        ))
    }

    /// Nodes check references, and keys, before they store a row.
    fn check_deferrable_keys(&self) -> Result<(), SqlError> {
        Err(SqlError::unsupported(
            "UNIQUE and PRIMARY KEY with DEFERRABLE are not supported on a nodes' database",
        ))
    }

    /// Nodes keep rows in the tree of their primary key.
    fn check_numbered_rows(&self) -> Result<(), SqlError> {
        Err(SqlError::unsupported(
            "a primary key that was declared with its table cannot be changed or dropped on a nodes' database",
        )
        .hint("Create a table with the new key, fill it by INSERT ... SELECT, drop the old one and rename the new one."))
    }

    fn defined(&mut self) -> Result<(), Error> {
        Ok(self.raise_version()?)
    }
}
