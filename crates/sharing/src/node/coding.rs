//! Messages of GEM locking as words, and back.
//!
//! The first word is the kind, with small fields above it. Another node may have written anything: words
//! that are no message are refused. Pages do not travel in messages here: they are in transfer frames, and
//! [`Message::PageInGem`] has the frame's number beside it.

use super::mailbox::Letter;
use crate::protocol::{LockMode, Message, NodeId, PageId, Probe, Psn, TransactionId};

const PAGE_REQUEST: u64 = 1;
const PAGE_IN_GEM: u64 = 2;
const PAGE_MISSING: u64 = 3;
const WAKE: u64 = 4;
const WRITE_TURN: u64 = 5;
const REVOKE: u64 = 6;
const PROBE: u64 = 7;
const CANCEL_WAIT: u64 = 8;

pub(super) fn transaction_word(transaction: TransactionId) -> u64 {
    u64::from(transaction.node().0) << 48 | transaction.number()
}

fn transaction(word: u64) -> TransactionId {
    TransactionId::new(NodeId((word >> 48) as u16), word & ((1 << 48) - 1))
}

/// The words of a message; `None`: it is none of GEM locking across GEM. `frame`: where its page is.
pub(super) fn encode(message: &Message, frame: usize) -> Option<Letter> {
    let words = match message {
        Message::PageRequest { transaction, page } => {
            vec![PAGE_REQUEST, transaction_word(*transaction), page.0]
        }
        Message::PageInGem {
            transaction,
            page,
            psn,
        } => vec![
            PAGE_IN_GEM | (frame as u64) << 8,
            transaction_word(*transaction),
            page.0,
            psn.0,
        ],
        Message::PageMissing { transaction, page } => {
            vec![PAGE_MISSING, transaction_word(*transaction), page.0]
        }
        Message::Wake {
            transaction,
            page,
            psn,
            owner,
            mode,
        } => {
            let owner = owner.map_or(0, |owner| u64::from(owner.0) + 1);
            let small = owner << 16 | u64::from(*mode == LockMode::Write) << 8;
            vec![WAKE | small, transaction_word(*transaction), page.0, psn.0]
        }
        Message::WriteTurn { page } => vec![WRITE_TURN, page.0],
        Message::Revoke { page, .. } => vec![REVOKE, page.0],
        Message::Probe(probe) => {
            let mut words = vec![PROBE];
            probe.write_words(transaction_word, &mut words);
            words
        }
        Message::CancelWait { transaction, page } => {
            vec![CANCEL_WAIT, transaction_word(*transaction), page.0]
        }
        _ => return None,
    };
    Some(words)
}

/// The message, and the frame in which its page is.
pub(super) fn decode(words: &[u64]) -> Option<(Message, usize)> {
    let (&first, rest) = words.split_first()?;
    let mut frame = 0;
    let message = match (first & 0xff, rest) {
        (PAGE_REQUEST, &[by, page]) => Message::PageRequest {
            transaction: transaction(by),
            page: PageId(page),
        },
        (PAGE_IN_GEM, &[by, page, psn]) => {
            frame = (first >> 8) as usize;
            Message::PageInGem {
                transaction: transaction(by),
                page: PageId(page),
                psn: Psn(psn),
            }
        }
        (PAGE_MISSING, &[by, page]) => Message::PageMissing {
            transaction: transaction(by),
            page: PageId(page),
        },
        (WAKE, &[by, page, psn]) => Message::Wake {
            transaction: transaction(by),
            page: PageId(page),
            psn: Psn(psn),
            owner: (first >> 16).checked_sub(1).map(|node| NodeId(node as u16)),
            mode: match first >> 8 & 1 {
                0 => LockMode::Read,
                _ => LockMode::Write,
            },
        },
        (WRITE_TURN, &[page]) => Message::WriteTurn { page: PageId(page) },
        (REVOKE, &[page]) => Message::Revoke {
            page: PageId(page),
            authorisation: 0,
        },
        (PROBE, rest) => Message::Probe(Box::new(Probe::read_words(transaction, rest)?)),
        (CANCEL_WAIT, &[by, page]) => Message::CancelWait {
            transaction: transaction(by),
            page: PageId(page),
        },
        _ => return None,
    };
    Some((message, frame))
}
