//! The frames that nodes send each other, and their decoding: the messages of primary copy locking with their pages,
//! and those of membership.
//!
//! Another node may have sent anything: frames that an encoder did not make are refused. The messages of GEM locking
//! are none here.

use super::frame::{Frame, FrameError, Reader};
use crate::node::coding::transaction_word;
use crate::node::gem::PageBytes;
use crate::protocol::assignment::{Assignment, Part};
use crate::protocol::membership::View;
use crate::protocol::{
    Declared, Division, Epoch, LockMode, Message, NodeId, Outcome, PageId, PageSource, Probe, Psn,
    TransactionId,
};
use sardonyx_storage::page::PAGE_SIZE;
use std::collections::BTreeMap;

/// A letter of one node to another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Letter {
    /// A message of the protocol, with the pages that it carries, in that order.
    Protocol(Message, Vec<Box<PageBytes>>),
    /// The register's view, or it was that.
    Announced(View),
    /// The sender knows the view of this epoch.
    Acknowledged(Epoch),
}

const PAGE_REQUEST: u8 = 1;
const PAGE: u8 = 2;
const PAGE_MISSING: u8 = 3;
const REQUEST: u8 = 4;
const GRANT: u8 = 5;
const RELEASE: u8 = 6;
const RELEASED: u8 = 7;
const REVOKE: u8 = 8;
const REVOKED: u8 = 9;
const REGISTERED: u8 = 10;
const DECLARE: u8 = 11;
const PROBE: u8 = 12;
const CANCEL_WAIT: u8 = 13;
const VICTIM: u8 = 14;
const ANNOUNCED: u8 = 20;
const ACKNOWLEDGED: u8 = 21;

/// A frame that only acknowledges received ones.
pub const RECEIPT: u8 = 30;

fn transaction(word: u64) -> TransactionId {
    TransactionId::new(NodeId((word >> 48) as u16), word & ((1 << 48) - 1))
}

fn put_mode(mode: LockMode, into: &mut Vec<u8>) {
    into.push(u8::from(mode == LockMode::Write));
}

fn mode(reader: &mut Reader<'_>) -> Option<LockMode> {
    Some(match reader.flag()? {
        false => LockMode::Read,
        true => LockMode::Write,
    })
}

fn put_option(value: Option<u64>, into: &mut Vec<u8>) {
    into.push(u8::from(value.is_some()));
    into.extend(value.into_iter().flat_map(u64::to_le_bytes));
}

fn put_u64s(values: impl IntoIterator<Item = u64>, into: &mut Vec<u8>) {
    into.extend(values.into_iter().flat_map(u64::to_le_bytes));
}

fn put_length(length: usize, into: &mut Vec<u8>) {
    into.extend_from_slice(&(length as u32).to_le_bytes());
}

/// The kind of a letter and its content; `None`: it is a message of another protocol.
pub fn encode(letter: &Letter) -> Option<(u8, Vec<u8>)> {
    let mut into = Vec::new();
    let kind = match letter {
        Letter::Protocol(message, pages) => {
            let kind = encode_message(message, &mut into)?;
            pages
                .iter()
                .for_each(|page| into.extend_from_slice(&**page));
            kind
        }
        Letter::Announced(view) => {
            encode_view(view, &mut into);
            ANNOUNCED
        }
        Letter::Acknowledged(epoch) => {
            into.extend_from_slice(&epoch.0.to_le_bytes());
            ACKNOWLEDGED
        }
    };
    Some((kind, into))
}

fn encode_message(message: &Message, into: &mut Vec<u8>) -> Option<u8> {
    let mut of = |kind, by: TransactionId, page: PageId| {
        put_u64s([transaction_word(by), page.0], into);
        Some(kind)
    };
    match message {
        Message::PageRequest { transaction, page } => of(PAGE_REQUEST, *transaction, *page),
        Message::PageMissing { transaction, page } => of(PAGE_MISSING, *transaction, *page),
        Message::Registered { transaction, page } => of(REGISTERED, *transaction, *page),
        Message::CancelWait { transaction, page } => of(CANCEL_WAIT, *transaction, *page),
        Message::Victim { transaction, page } => of(VICTIM, *transaction, *page),
        Message::Page {
            transaction,
            page,
            psn,
        } => {
            of(PAGE, *transaction, *page);
            put_u64s([psn.0], into);
            Some(PAGE)
        }
        Message::Request {
            transaction,
            page,
            mode,
            cached,
            reads,
            gives_up,
        } => {
            of(REQUEST, *transaction, *page);
            put_mode(*mode, into);
            put_option(cached.map(|psn| psn.0), into);
            into.extend([u8::from(*reads), u8::from(*gives_up)]);
            Some(REQUEST)
        }
        Message::Grant {
            transaction,
            page,
            psn,
            source,
            stored,
            authorisation,
        } => {
            of(GRANT, *transaction, *page);
            put_u64s([psn.0], into);
            into.push(match source {
                PageSource::Copy => 0,
                PageSource::Storage => 1,
                PageSource::Message => 2,
                PageSource::Gem(_) => return None,
            });
            into.push(u8::from(*stored));
            put_option(*authorisation, into);
            Some(GRANT)
        }
        Message::Release {
            transaction,
            outcome,
            pages,
            pending,
            acknowledge,
        } => {
            put_u64s([transaction_word(*transaction)], into);
            into.push(u8::from(*outcome == Outcome::Committed));
            into.push(u8::from(*acknowledge));
            put_length(pending.len(), into);
            for (page, mode) in pending {
                put_u64s([page.0], into);
                put_mode(*mode, into);
            }
            put_length(pages.len(), into);
            for (page, psn) in pages {
                put_u64s([page.0, psn.0], into);
            }
            Some(RELEASE)
        }
        Message::Released { transaction } => {
            put_u64s([transaction_word(*transaction)], into);
            Some(RELEASED)
        }
        Message::Revoke {
            page,
            authorisation,
        } => {
            put_u64s([page.0, *authorisation], into);
            Some(REVOKE)
        }
        Message::Revoked { page } => {
            put_u64s([page.0], into);
            Some(REVOKED)
        }
        Message::Declare { part, since, locks } => {
            into.extend_from_slice(&part.to_le_bytes());
            into.extend_from_slice(&since.0.to_le_bytes());
            put_length(locks.len(), into);
            for lock in locks {
                let of = transaction_word(lock.transaction);
                put_u64s([of, lock.page.0, lock.psn.0], into);
                put_mode(lock.mode, into);
            }
            Some(DECLARE)
        }
        Message::Probe(probe) => {
            let mut words = Vec::new();
            probe.write_words(transaction_word, &mut words);
            put_u64s(words, into);
            Some(PROBE)
        }
        Message::PageInGem { .. } | Message::Wake { .. } | Message::WriteTurn { .. } => None,
    }
}

/// The letter of a frame.
///
/// # Errors
/// [`FrameError::Kind`] and [`FrameError::Content`].
pub fn decode(frame: &Frame) -> Result<Letter, FrameError> {
    let mut reader = Reader(&frame.content);
    let letter = match frame.kind {
        ANNOUNCED => decode_view(&mut reader).map(Letter::Announced),
        ACKNOWLEDGED => reader.u32().map(|epoch| Letter::Acknowledged(Epoch(epoch))),
        PAGE_REQUEST..=VICTIM => decode_message(frame.kind, &mut reader).and_then(|message| {
            let pages = message.carried_pages().len();
            let page = |_| reader.bytes(PAGE_SIZE)?.try_into().ok().map(Box::new);
            let pages = (0..pages).map(page).collect::<Option<Vec<_>>>()?;
            Some(Letter::Protocol(message, pages))
        }),
        kind => return Err(FrameError::Kind { kind }),
    };
    let whole = letter.filter(|_| reader.end().is_some());
    whole.ok_or_else(|| frame.error())
}

fn decode_message(kind: u8, reader: &mut Reader<'_>) -> Option<Message> {
    if kind == REVOKE {
        return Some(Message::Revoke {
            page: PageId(reader.u64()?),
            authorisation: reader.u64()?,
        });
    }
    if kind == REVOKED {
        let page = PageId(reader.u64()?);
        return Some(Message::Revoked { page });
    }
    if kind == DECLARE {
        return decode_declaration(reader);
    }
    if kind == PROBE {
        let (words, rest) = reader.0.as_chunks::<8>();
        let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        reader.0 = rest;
        let probe = Probe::read_words(transaction, &words)?;
        return Some(Message::Probe(Box::new(probe)));
    }
    let transaction = transaction(reader.u64()?);
    if kind == RELEASED {
        return Some(Message::Released { transaction });
    }
    if kind == RELEASE {
        return decode_release(transaction, reader);
    }
    let page = PageId(reader.u64()?);
    Some(match kind {
        PAGE_REQUEST => Message::PageRequest { transaction, page },
        PAGE_MISSING => Message::PageMissing { transaction, page },
        REGISTERED => Message::Registered { transaction, page },
        CANCEL_WAIT => Message::CancelWait { transaction, page },
        VICTIM => Message::Victim { transaction, page },
        PAGE => Message::Page {
            transaction,
            page,
            psn: Psn(reader.u64()?),
        },
        REQUEST => Message::Request {
            transaction,
            page,
            mode: mode(reader)?,
            cached: reader.option(|reader| reader.u64().map(Psn))?,
            reads: reader.flag()?,
            gives_up: reader.flag()?,
        },
        GRANT => Message::Grant {
            transaction,
            page,
            psn: Psn(reader.u64()?),
            source: match reader.u8()? {
                0 => PageSource::Copy,
                1 => PageSource::Storage,
                2 => PageSource::Message,
                _ => return None,
            },
            stored: reader.flag()?,
            authorisation: reader.option(Reader::u64)?,
        },
        _ => return None,
    })
}

fn decode_release(transaction: TransactionId, reader: &mut Reader<'_>) -> Option<Message> {
    let outcome = match reader.flag()? {
        true => Outcome::Committed,
        false => Outcome::Aborted,
    };
    let acknowledge = reader.flag()?;
    let pending = reader.list(|reader| Some((PageId(reader.u64()?), mode(reader)?)))?;
    let pages = reader.list(|reader| Some((PageId(reader.u64()?), Psn(reader.u64()?))))?;
    Some(Message::Release {
        transaction,
        outcome,
        pages: pages.into(),
        pending: pending.into(),
        acknowledge,
    })
}

fn decode_declaration(reader: &mut Reader<'_>) -> Option<Message> {
    let part = reader.u16()?;
    let since = Epoch(reader.u32()?);
    let lock = |reader: &mut Reader<'_>| {
        let (by, page, psn) = (reader.u64()?, reader.u64()?, reader.u64()?);
        Some(Declared {
            transaction: transaction(by),
            page: PageId(page),
            psn: Psn(psn),
            mode: mode(reader)?,
        })
    };
    let locks = reader.list(lock)?;
    Some(Message::Declare { part, since, locks })
}

/// Appends a view's bytes, as a register has them, too.
pub fn encode_view(view: &View, into: &mut Vec<u8>) {
    into.extend_from_slice(&view.epoch.0.to_le_bytes());
    for nodes in [&view.members, &view.shut_out] {
        put_length(nodes.len(), into);
        for (node, epoch) in nodes {
            into.extend_from_slice(&node.0.to_le_bytes());
            into.extend_from_slice(&epoch.0.to_le_bytes());
        }
    }
    let assignment = &view.assignment;
    put_length(assignment.parts().len(), into);
    for part in assignment.parts() {
        into.extend_from_slice(&part.authority.0.to_le_bytes());
        into.extend_from_slice(&part.since.0.to_le_bytes());
    }
    put_length(assignment.division().runs().len(), into);
    for (first, part) in assignment.division().runs() {
        into.extend_from_slice(&first.0.to_le_bytes());
        into.extend_from_slice(&part.to_le_bytes());
    }
    put_length(assignment.places().len(), into);
    for (node, place) in assignment.places() {
        into.extend_from_slice(&node.0.to_le_bytes());
        into.extend_from_slice(&place.to_le_bytes());
    }
}

/// The view of these bytes; `None`: they are none.
pub fn decode_view_bytes(bytes: &[u8]) -> Option<View> {
    let mut reader = Reader(bytes);
    let view = decode_view(&mut reader)?;
    reader.end().map(|()| view)
}

fn decode_view(reader: &mut Reader<'_>) -> Option<View> {
    let pair = |reader: &mut Reader<'_>| Some((NodeId(reader.u16()?), Epoch(reader.u32()?)));
    let epoch = Epoch(reader.u32()?);
    let members: BTreeMap<NodeId, Epoch> = reader.list(pair)?.into_iter().collect();
    let shut_out = reader.list(pair)?.into_iter().collect();
    let parts = reader.list(pair)?;
    let runs = reader.list(|reader| Some((PageId(reader.u64()?), reader.u16()?)))?;
    let places = reader.list(|reader| Some((NodeId(reader.u16()?), reader.u16()?)))?;
    let division = Division::of_runs(u16::try_from(parts.len()).ok()?, runs).ok()?;
    let part = |(authority, since)| Part { authority, since };
    let parts = parts.into_iter().map(part).collect();
    Some(View {
        epoch,
        members,
        shut_out,
        assignment: Assignment::of_parts(division, parts, places.into_iter().collect())?,
    })
}
