//! The list of targets; each in the file of what it belongs to.

mod conditions;
mod directory;
mod log;
mod pages;
mod storage;
mod streams;

use crate::Target;

pub(crate) const ALL: &[Target] = &[
    log::RECORD,
    log::GROUP,
    log::SEGMENT,
    storage::MANIFEST,
    storage::SLOT,
    storage::CHUNK,
    pages::CATALOGUE,
    pages::UNDO,
    pages::SCHEMA,
    conditions::CONDITION,
    streams::STANDBY,
    streams::TRACE,
    streams::TERMINAL,
    directory::TABLES,
    directory::OPERATIONS,
];
