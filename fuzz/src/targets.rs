//! The list of targets; each is in the file of its subject.

mod conditions;
mod directory;
mod log;
mod pages;
mod payloads;
mod postgres;
mod redis;
mod rows;
mod storage;
mod streams;

use crate::Target;

pub(crate) const ALL: &[Target] = &[
    log::RECORD,
    log::GROUP,
    log::SEGMENT,
    log::ENTRY,
    log::BOUNDARY,
    log::PRIMARY,
    storage::MANIFEST,
    storage::SLOT,
    storage::CHUNK,
    pages::CATALOGUE,
    pages::UNDO,
    pages::SCHEMA,
    conditions::CONDITION,
    rows::ROW,
    rows::RANGE,
    streams::STORE,
    streams::TRACE,
    streams::TERMINAL,
    redis::COMMANDS,
    payloads::PAYLOADS,
    payloads::FILE,
    postgres::MESSAGES,
    postgres::STATEMENTS,
    postgres::COPY,
    directory::TABLES,
    directory::OPERATIONS,
];
