//! Every message survives its way through a frame, and everything else is refused, with any byte damaged.

use crate::node::loose::call::Question;
use crate::node::loose::coding::{Letter, decode, encode};
use crate::node::loose::frame::{FRAME_BYTES_MAX, Frame, FrameError};
use crate::protocol::membership::View;
use crate::protocol::{
    Assignment, Declared, Division, Epoch, LockMode, Message, NodeId, Outcome, PageId, PageSource,
    Probe, Psn, TransactionId,
};
use sardonyx_base::random::Random;
use sardonyx_storage::page::PAGE_SIZE;
use std::collections::BTreeMap;

fn messages() -> Vec<Message> {
    let transaction = TransactionId::new(NodeId(u16::MAX), (1 << 48) - 1);
    let (page, psn) = (PageId(u64::MAX - 1), Psn(77));
    let mut probe = Probe::new(transaction);
    probe.waits([page, PageId(3)]);
    let mut all = vec![
        Message::PageRequest { transaction, page },
        Message::Page {
            transaction,
            page,
            psn,
        },
        Message::PageMissing { transaction, page },
        Message::Released { transaction },
        Message::Revoke {
            page,
            authorisation: 9,
        },
        Message::Revoked { page },
        Message::Registered { transaction, page },
        Message::Probe(Box::new(probe)),
        Message::CancelWait { transaction, page },
        Message::Victim { transaction, page },
    ];
    for (mode, cached, flags) in [
        (LockMode::Read, None, (true, false)),
        (LockMode::Write, Some(psn), (false, true)),
    ] {
        let (reads, gives_up) = flags;
        all.push(Message::Request {
            transaction,
            page,
            mode,
            cached,
            reads,
            gives_up,
        });
        let lock = Declared {
            transaction,
            page,
            mode,
            psn,
        };
        all.push(Message::Declare {
            part: 700,
            since: Epoch(8),
            locks: vec![lock; usize::from(reads) * 3],
        });
        all.push(Message::Release {
            transaction,
            outcome: if reads {
                Outcome::Committed
            } else {
                Outcome::Aborted
            },
            pages: (0..3 * u64::from(reads))
                .map(|n| (PageId(n), Psn(n + 1)))
                .collect(),
            pending: (0..2 * u64::from(gives_up))
                .map(|n| (PageId(n), mode))
                .collect(),
            acknowledge: gives_up,
        });
    }
    for source in [PageSource::Copy, PageSource::Storage, PageSource::Message] {
        all.push(Message::Grant {
            transaction,
            page,
            psn,
            source,
            stored: source == PageSource::Copy,
            authorisation: (source == PageSource::Storage).then_some(5),
        });
    }
    all
}

fn letters() -> Vec<Letter> {
    let members: BTreeMap<NodeId, Epoch> = [(NodeId(3), Epoch(1)), (NodeId(9), Epoch(2))].into();
    let placed = Division::by_place(90, &[(PageId(0), 1), (PageId(40), 0)]).unwrap();
    let [spread, placed] = [Division::spread(16), placed].map(|division| {
        let mut assignment = Assignment::new(division, NodeId(3), Epoch(1));
        assignment.runs_at(NodeId(9), 1);
        assignment.rebalance(&members, Epoch(2));
        View {
            epoch: Epoch(7),
            members: members.clone(),
            shut_out: [(NodeId(4), Epoch(7))].into(),
            assignment,
        }
    });
    let with_pages = |message: Message| {
        let pages = message.carried_pages().len();
        let pages = (0..pages).map(|n| Box::new([n as u8 + 1; PAGE_SIZE]));
        Letter::Protocol(message, pages.collect())
    };
    let messages = messages().into_iter().map(with_pages);
    let rest = [
        Letter::Announced(View::default()),
        Letter::Announced(spread),
        Letter::Announced(placed),
        Letter::Acknowledged(Epoch(12)),
    ];
    messages.chain(rest).collect()
}

fn frame(letter: &Letter) -> Frame {
    let (kind, content) = encode(letter).unwrap();
    Frame {
        kind,
        epoch: Epoch(3),
        number: 4,
        received: 5,
        content,
    }
}

#[test]
fn every_letter_comes_back_as_it_was() {
    for letter in letters() {
        let mut bytes = Vec::new();
        frame(&letter).encode(&mut bytes);
        frame(&letter).encode(&mut bytes);
        let mut stream = &bytes[..];
        for _ in 0..2 {
            let read = Frame::read(&mut stream).unwrap();
            assert_eq!(read, frame(&letter));
            assert_eq!(decode(&read).unwrap(), letter);
        }
        assert!(matches!(Frame::read(&mut stream), Err(FrameError::Closed)));
    }
    let gem = Message::WriteTurn { page: PageId(1) };
    assert!(encode(&Letter::Protocol(gem, Vec::new())).is_none());
}

#[test]
fn a_part_is_asked_for_in_either_division() {
    let placed = Division::by_place(90, &[(PageId(0), 1), (PageId(40), 0)]).unwrap();
    for pages in [Division::spread(16).pages_of(3), placed.pages_of(9)] {
        let question = Question::Versions(pages);
        assert_eq!(Question::decode(&question.encode()).unwrap(), question);
    }
}

#[test]
fn a_frame_with_any_damaged_byte_is_refused() {
    for letter in letters() {
        let mut bytes = Vec::new();
        frame(&letter).encode(&mut bytes);
        // Not every place of a page.
        let step = 1 + bytes.len() / 400;
        for place in (4..bytes.len()).step_by(step) {
            for damage in [1, 0x80, 0xff] {
                bytes[place] ^= damage;
                let read = Frame::read(&mut &bytes[..]);
                assert!(
                    matches!(read, Err(FrameError::Checksum { .. })),
                    "{place}: {read:?}"
                );
                bytes[place] ^= damage;
            }
        }
        for length in 0..bytes.len().min(300) {
            let read = Frame::read(&mut &bytes[..length]);
            assert!(
                matches!(read, Err(FrameError::Closed)),
                "{length}: {read:?}"
            );
        }
    }
    let long = (FRAME_BYTES_MAX as u32 + 5).to_be_bytes();
    let long = Frame::read(&mut &long[..]);
    assert!(matches!(long, Err(FrameError::Length { .. })), "{long:?}");
}

#[test]
fn a_content_that_no_encoder_made_is_refused() {
    let mut random = Random::new(4);
    for letter in letters() {
        let whole = frame(&letter);
        for length in 0..whole.content.len().min(200) {
            let mut cut = whole.clone();
            cut.content.truncate(length);
            assert!(decode(&cut).is_err(), "{letter:?} cut to {length}");
        }
        let mut longer = whole.clone();
        longer.content.push(0);
        assert!(decode(&longer).is_err(), "{letter:?} with a byte more");
        for _ in 0..300 {
            // With any kind: it is a letter or an error, and encodes to the same bytes.
            let mut other = whole.clone();
            other.kind = random.below(40) as u8;
            if !other.content.is_empty() {
                let place = random.below(other.content.len().min(64) as u64) as usize;
                other.content[place] ^= 1 << random.below(8);
            }
            if let Ok(letter) = decode(&other) {
                let again = encode(&letter).unwrap();
                assert_eq!(
                    decode(&Frame {
                        content: again.1,
                        ..other
                    })
                    .unwrap(),
                    letter
                );
            }
        }
    }
}

/// A socket whose time limit is over.
struct Silent;

impl std::io::Read for Silent {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        // The kernel's error then: EAGAIN.
        Err(std::io::Error::from_raw_os_error(11))
    }
}

#[test]
fn a_time_limit_is_told_in_words() {
    let error = Frame::read(&mut Silent).unwrap_err();
    assert_eq!(error.to_string(), "the other end sent nothing in time");
}
