//! Questions to the page server and its answers: each survives its way through a frame, and other bytes are refused.

use crate::node::loose::call::{Answer, Question, Rows};
use crate::node::loose::frame::{Frame, FrameError};
use crate::node::loose::rows::Wanted;
use crate::node::ring::Frame as Redo;
use crate::protocol::division::PartPages;
use crate::protocol::fence::Occupied;
use crate::protocol::{Epoch, NodeId, PageId, Psn};
use sardonyx_base::random::Random;
use sardonyx_storage::journal::JournalPosition;
use sardonyx_storage::page::PAGE_SIZE;
use std::fmt::Debug;

fn position(group: u64, row: u32) -> JournalPosition {
    JournalPosition { group, row }
}

fn questions() -> Vec<Question> {
    let redo = |pages: u64| Redo {
        client: 0,
        pages: (0..pages).map(|n| (PageId(n << 40), Psn(n + 1))).collect(),
        records: vec![7; pages as usize * 3],
    };
    vec![
        Question::Page {
            page: PageId(u64::MAX),
            settled: true,
        },
        Question::Versions(PartPages::Spread {
            parts: 64,
            part: 63,
        }),
        Question::Versions(PartPages::Runs(vec![3..9, 12..u64::MAX])),
        Question::Append {
            node: NodeId(9),
            place: 1 << 50,
            frames: vec![redo(0), redo(3)],
        },
        Question::Close {
            node: NodeId(u16::MAX),
            epoch: Epoch(5),
        },
        Question::Rows(Wanted {
            journal: 3,
            from: position(17, 4),
            to: JournalPosition::END,
            before_group: 99,
        }),
    ]
}

fn answers() -> Vec<Answer> {
    let rows = |next| {
        Answer::Rows(Rows {
            before_group: 99,
            next,
            rows: vec![(position(17, 4), vec![1, 2, 3]), (position(17, 9), vec![])],
        })
    };
    vec![
        Answer::Page(Psn(3), Box::new([5; PAGE_SIZE])),
        Answer::Versions(vec![(PageId(1), Psn(2)), (PageId(3), Psn(4))]),
        Answer::Appended,
        Answer::Closed,
        Answer::Occupied(Occupied::Redo),
        Answer::Occupied(Occupied::Closing(Epoch(8))),
        rows(None),
        rows(Some(position(18, 0))),
    ]
}

fn come_back<T: PartialEq + Debug>(
    all: Vec<T>,
    encode: impl Fn(&T) -> Frame,
    decode: impl Fn(&Frame) -> Result<T, FrameError>,
) {
    let mut random = Random::new(5);
    for one in all {
        let whole = encode(&one);
        assert_eq!(decode(&whole).unwrap(), one);
        for length in 0..whole.content.len() {
            let mut cut = whole.clone();
            cut.content.truncate(length);
            assert!(decode(&cut).is_err(), "{one:?} cut to {length}");
        }
        let mut longer = whole.clone();
        longer.content.push(0);
        assert!(decode(&longer).is_err(), "{one:?} with a byte more");
        for _ in 0..300 {
            let mut other = whole.clone();
            other.kind = 38 + random.below(22) as u8;
            if !other.content.is_empty() {
                let place = random.below(other.content.len().min(64) as u64) as usize;
                other.content[place] ^= 1 << random.below(8);
            }
            if let Ok(read) = decode(&other) {
                assert_eq!(decode(&encode(&read)).unwrap(), read);
            }
        }
    }
}

#[test]
fn every_question_comes_back_and_nothing_else_is_one() {
    come_back(questions(), Question::encode, Question::decode);
}

#[test]
fn every_answer_comes_back_and_nothing_else_is_one() {
    come_back(answers(), Answer::encode, Answer::decode);
    let refused = Answer::Refused("no".into());
    assert_eq!(Answer::decode(&refused.encode()).unwrap(), refused);
}
