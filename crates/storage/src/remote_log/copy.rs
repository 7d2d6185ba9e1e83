//! A log in a store as the copy without which nothing is durable here ([`RemoteCopy`]): all groups that wait become one
//! entry, or few if they are too large for one. So there are as many entries as the store takes one after the other, and
//! they grow with the load.
//!
//! Bound (I10): a group that is larger than the store's entries closes the log; who opens one with a copy is to limit
//! transactions to less.

use super::entry::EntryBuilder;
use super::shell::RemoteWriter;
use crate::log::LogError;
use crate::log::pool::DurableGroup;
use crate::log::writer::RemoteCopy;
use std::sync::Arc;

impl RemoteCopy for RemoteWriter {
    fn append(&mut self, groups: &[Arc<DurableGroup>]) -> Result<(), LogError> {
        let most = self.entry_bytes_max();
        let mut entry = EntryBuilder::new();
        for group in groups {
            let bytes = group.bytes();
            if !entry.is_empty() && entry.bytes() + bytes.len() as u64 > most {
                self.put(std::mem::take(&mut entry))?;
            }
            entry.push(bytes);
        }
        match entry.is_empty() {
            true => Ok(()),
            false => self.put(entry),
        }
    }
}

impl RemoteWriter {
    fn put(&mut self, entry: EntryBuilder) -> Result<(), LogError> {
        let appended = RemoteWriter::append(self, entry);
        appended.map(drop).map_err(|error| LogError::Poisoned {
            cause: error.to_string().into(),
        })
    }
}
