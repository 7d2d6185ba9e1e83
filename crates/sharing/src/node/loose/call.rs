//! The requests of nodes to the page server, and its answers, as frames.

use super::frame::{Frame, FrameError, Reader};
use super::rows::Wanted;
use crate::node::gem::PageBytes;
use crate::node::ring::Frame as Redo;
use crate::protocol::division::PartPages;
use crate::protocol::fence::Occupied;
use crate::protocol::{Epoch, NodeId, PageId, Psn};
use sardonyx_storage::journal::JournalPosition;
use sardonyx_storage::page::PAGE_SIZE;

const PAGE: u8 = 40;
const VERSIONS: u8 = 41;
const APPEND: u8 = 42;
const CLOSE: u8 = 43;
const VERSIONS_OF_RUNS: u8 = 44;
const ROWS: u8 = 45;
const PAGE_IS: u8 = 50;
const VERSIONS_ARE: u8 = 51;
const APPENDED: u8 = 52;
const CLOSED: u8 = 53;
const OCCUPIED: u8 = 54;
const REFUSED: u8 = 55;
const ROWS_ARE: u8 = 56;

/// A request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::node) enum Question {
    /// A page and its version; with `settled`, when all that was appended before is durable.
    Page {
        page: PageId,
        /// See above.
        settled: bool,
    },
    /// The versions of the pages of a part of the lock authority, when all that was appended before is durable.
    Versions(PartPages),
    /// Append a group to a node's log.
    Append {
        node: NodeId,
        /// The place: the next one.
        place: u64,
        /// The redo of its transactions.
        frames: Vec<Redo>,
    },
    /// Close a node's log.
    Close { node: NodeId, epoch: Epoch },
    /// A piece of a journal's rows.
    Rows(Wanted),
}

/// A piece of a journal's rows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rows {
    /// The first commit group of which none are given.
    pub before_group: u64,
    /// The place at which to continue; `None`: no rows are left.
    pub next: Option<JournalPosition>,
    pub rows: Vec<(JournalPosition, Vec<u8>)>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// The page's version, and the page.
    Page(Psn, Box<PageBytes>),
    /// The versions, of those that were ever changed.
    Versions(Vec<(PageId, Psn)>),
    /// The group is in the log, and durable.
    Appended,
    /// The log is closed.
    Closed,
    /// Something else is at that place, and durable.
    Occupied(Occupied),
    /// It cannot be done, and never will be.
    Refused(String),
    /// A piece of a journal's rows.
    Rows(Rows),
}

fn put(values: impl IntoIterator<Item = u64>, into: &mut Vec<u8>) {
    into.extend(values.into_iter().flat_map(u64::to_le_bytes));
}

fn put_list<T>(values: &[T], into: &mut Vec<u8>, mut one: impl FnMut(&T, &mut Vec<u8>)) {
    into.extend_from_slice(&(values.len() as u32).to_le_bytes());
    values.iter().for_each(|value| one(value, into));
}

fn put_versions(versions: &[(PageId, Psn)], into: &mut Vec<u8>) {
    put_list(versions, into, |(page, psn), into| {
        put([page.0, psn.0], into)
    });
}

fn versions(reader: &mut Reader<'_>) -> Option<Vec<(PageId, Psn)>> {
    reader.list(|reader| Some((PageId(reader.u64()?), Psn(reader.u64()?))))
}

fn put_position(position: JournalPosition, into: &mut Vec<u8>) {
    put([position.group], into);
    into.extend_from_slice(&position.row.to_le_bytes());
}

fn position(reader: &mut Reader<'_>) -> Option<JournalPosition> {
    let (group, row) = (reader.u64()?, reader.u32()?);
    Some(JournalPosition { group, row })
}

fn row(reader: &mut Reader<'_>) -> Option<(JournalPosition, Vec<u8>)> {
    let position = position(reader)?;
    let length = reader.u32()? as usize;
    Some((position, reader.bytes(length)?.to_vec()))
}

impl Question {
    pub fn encode(&self) -> Frame {
        let mut content = Vec::new();
        let into = &mut content;
        let kind = match self {
            Question::Page { page, settled } => {
                put([page.0], into);
                into.push(u8::from(*settled));
                PAGE
            }
            Question::Versions(PartPages::Spread { parts, part }) => {
                into.extend_from_slice(&parts.to_le_bytes());
                into.extend_from_slice(&part.to_le_bytes());
                VERSIONS
            }
            Question::Versions(PartPages::Runs(runs)) => {
                put_list(runs, into, |run, into| put([run.start, run.end], into));
                VERSIONS_OF_RUNS
            }
            Question::Append {
                node,
                place,
                frames,
            } => {
                into.extend_from_slice(&node.0.to_le_bytes());
                put([*place], into);
                put_list(frames, into, |redo, into| {
                    put_versions(&redo.pages, into);
                    put_list(&redo.records, into, |byte, into| into.push(*byte));
                });
                APPEND
            }
            Question::Close { node, epoch } => {
                into.extend_from_slice(&node.0.to_le_bytes());
                into.extend_from_slice(&epoch.0.to_le_bytes());
                CLOSE
            }
            Question::Rows(wanted) => {
                into.extend_from_slice(&wanted.journal.to_le_bytes());
                put_position(wanted.from, into);
                put_position(wanted.to, into);
                put([wanted.before_group], into);
                ROWS
            }
        };
        Frame {
            kind,
            content,
            ..Frame::default()
        }
    }

    /// The request in a frame.
    ///
    /// # Errors
    /// [`FrameError::Kind`] and [`FrameError::Content`].
    pub fn decode(frame: &Frame) -> Result<Question, FrameError> {
        let mut reader = Reader(&frame.content);
        let reader = &mut reader;
        let mut question = || {
            Some(match frame.kind {
                PAGE => Question::Page {
                    page: PageId(reader.u64()?),
                    settled: reader.flag()?,
                },
                VERSIONS => Question::Versions(PartPages::Spread {
                    parts: reader.u16()?,
                    part: reader.u16()?,
                }),
                VERSIONS_OF_RUNS => {
                    let runs = reader.list(|reader| Some(reader.u64()?..reader.u64()?))?;
                    Question::Versions(PartPages::Runs(runs))
                }
                APPEND => Question::Append {
                    node: NodeId(reader.u16()?),
                    place: reader.u64()?,
                    frames: reader.list(redo)?,
                },
                CLOSE => Question::Close {
                    node: NodeId(reader.u16()?),
                    epoch: Epoch(reader.u32()?),
                },
                ROWS => Question::Rows(Wanted {
                    journal: reader.u16()?,
                    from: position(reader)?,
                    to: position(reader)?,
                    before_group: reader.u64()?,
                }),
                _ => return None,
            })
        };
        if !(PAGE..=ROWS).contains(&frame.kind) {
            return Err(FrameError::Kind { kind: frame.kind });
        }
        let question = question().filter(|_| reader.end().is_some());
        question.ok_or_else(|| frame.error())
    }
}

fn redo(reader: &mut Reader<'_>) -> Option<Redo> {
    let pages = versions(reader)?;
    let length = reader.u32()? as usize;
    Some(Redo {
        client: 0,
        pages,
        records: reader.bytes(length)?.to_vec(),
    })
}

impl Answer {
    pub fn encode(&self) -> Frame {
        let mut content = Vec::new();
        let into = &mut content;
        let kind = match self {
            Answer::Page(psn, page) => {
                put([psn.0], into);
                into.extend_from_slice(&**page);
                PAGE_IS
            }
            Answer::Versions(versions) => {
                put_versions(versions, into);
                VERSIONS_ARE
            }
            Answer::Appended => APPENDED,
            Answer::Closed => CLOSED,
            Answer::Occupied(occupied) => {
                let epoch = match occupied {
                    Occupied::Redo => 0,
                    Occupied::Closing(epoch) => epoch.0,
                };
                into.extend_from_slice(&epoch.to_le_bytes());
                OCCUPIED
            }
            Answer::Refused(reason) => {
                into.extend_from_slice(reason.as_bytes());
                REFUSED
            }
            Answer::Rows(piece) => {
                put([piece.before_group], into);
                into.push(u8::from(piece.next.is_some()));
                if let Some(next) = piece.next {
                    put_position(next, into);
                }
                put_list(&piece.rows, into, |(position, row), into| {
                    put_position(*position, into);
                    put_list(row, into, |byte, into| into.push(*byte));
                });
                ROWS_ARE
            }
        };
        Frame {
            kind,
            content,
            ..Frame::default()
        }
    }

    /// The answer in a frame.
    ///
    /// # Errors
    /// [`FrameError::Kind`] and [`FrameError::Content`].
    pub fn decode(frame: &Frame) -> Result<Answer, FrameError> {
        let mut reader = Reader(&frame.content);
        let reader = &mut reader;
        let mut answer = || {
            Some(match frame.kind {
                PAGE_IS => {
                    let psn = Psn(reader.u64()?);
                    let page = reader.bytes(PAGE_SIZE)?.try_into().ok()?;
                    Answer::Page(psn, Box::new(page))
                }
                VERSIONS_ARE => Answer::Versions(versions(reader)?),
                APPENDED => Answer::Appended,
                CLOSED => Answer::Closed,
                OCCUPIED => Answer::Occupied(match reader.u32()? {
                    0 => Occupied::Redo,
                    epoch => Occupied::Closing(Epoch(epoch)),
                }),
                ROWS_ARE => Answer::Rows(Rows {
                    before_group: reader.u64()?,
                    next: reader.option(position)?,
                    rows: reader.list(row)?,
                }),
                _ => {
                    let text = reader.bytes(frame.content.len())?;
                    Answer::Refused(String::from_utf8_lossy(text).into_owned())
                }
            })
        };
        if !(PAGE_IS..=ROWS_ARE).contains(&frame.kind) {
            return Err(FrameError::Kind { kind: frame.kind });
        }
        let answer = answer().filter(|_| reader.end().is_some());
        answer.ok_or_else(|| frame.error())
    }
}
