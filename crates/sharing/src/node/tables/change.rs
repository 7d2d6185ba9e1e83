//! Changes of a table's rows, each with the entries of all its indexes. So these are right when the operation
//! hands its changes over, and nothing has changed when it is refused.
//!
//! An entry of an index beside that of the primary key has the primary key as its value.

use super::super::NodeError;
use super::catalogue::TableInfo;
use super::entries;
use super::view::View;
use sardonyx_storage::tree::KEY_BYTES_MAX;

/// Refuses a key that is too long for a tree.
pub(super) fn checked_key(info: &TableInfo, key: Vec<u8>) -> Result<Vec<u8>, NodeError> {
    match key.len() <= KEY_BYTES_MAX {
        true => Ok(key),
        false => Err(NodeError::KeyTooLong {
            table: info.format.table().to_string(),
            bytes: key.len(),
        }),
    }
}

impl TableInfo {
    /// Adds a row, whose key is new.
    pub(super) fn insert_row(
        &self,
        view: &mut View<'_>,
        key: &[u8],
        row: &[u8],
    ) -> Result<(), NodeError> {
        match entries::insert(view, self.root, key, row)? {
            true => self.change_indexes(view, key, None, Some(row)),
            false => Err(self.format.duplicate(row).into()),
        }
    }

    /// Puts a row into the place of the one that is there, if there is one.
    pub(super) fn put_row(
        &self,
        view: &mut View<'_>,
        key: &[u8],
        before: Option<&[u8]>,
        row: &[u8],
    ) -> Result<(), NodeError> {
        entries::put(view, self.root, key, row)?;
        self.change_indexes(view, key, before, Some(row))
    }

    /// Takes a row out, which is returned.
    pub(super) fn remove_row(
        &self,
        view: &mut View<'_>,
        key: &[u8],
    ) -> Result<Option<Vec<u8>>, NodeError> {
        let removed = entries::remove(view, self.root, key)?;
        if let Some(before) = &removed {
            self.change_indexes(view, key, Some(before), None)?;
        }
        Ok(removed)
    }

    fn change_indexes(
        &self,
        view: &mut View<'_>,
        key: &[u8],
        before: Option<&[u8]>,
        after: Option<&[u8]>,
    ) -> Result<(), NodeError> {
        if self.indexes.is_empty() {
            return Ok(());
        }
        let keys = |row: Option<&[u8]>| match row {
            Some(row) => self.format.index_keys(row),
            None => Ok(Vec::new()),
        };
        let (before, now) = (keys(before)?, keys(after)?);
        for (number, &root) in self.indexes.iter().enumerate() {
            let (before, now) = (before.get(number), now.get(number));
            if before == now {
                continue;
            }
            if let Some(before) = before {
                entries::remove(view, root, before)?;
            }
            if let (Some(now), Some(row)) = (now, after) {
                let now = checked_key(self, now.clone())?;
                if !entries::insert(view, root, &now, key)? {
                    return Err(self.format.duplicate_value(number, row).into());
                }
            }
        }
        Ok(())
    }
}
