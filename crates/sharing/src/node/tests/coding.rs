//! Messages survive their way through words, and other words are refused.

use crate::node::coding::{decode, encode};
use crate::protocol::{LockMode, Message, NodeId, PageId, Probe, Psn, TransactionId};
use sardonyx_base::random::Random;

fn messages() -> Vec<Message> {
    let transaction = TransactionId::new(NodeId(1023 * 64 + 63), (1 << 48) - 1);
    let (page, psn) = (PageId(u64::MAX - 1), Psn(77));
    let mut probe = Probe::new(transaction);
    probe.waits([page, PageId(3)]);
    vec![
        Message::PageRequest { transaction, page },
        Message::PageInGem {
            transaction,
            page,
            psn,
        },
        Message::PageMissing { transaction, page },
        Message::Wake {
            transaction,
            page,
            psn,
            owner: None,
            mode: LockMode::Read,
        },
        Message::Wake {
            transaction,
            page,
            psn,
            owner: Some(NodeId(u16::MAX)),
            mode: LockMode::Write,
        },
        Message::WriteTurn { page },
        Message::Revoke {
            page,
            authorisation: 0,
        },
        Message::Probe(Box::new(probe)),
        Message::CancelWait { transaction, page },
    ]
}

#[test]
fn every_message_comes_back_as_it_was() {
    for (frame, message) in messages().into_iter().enumerate() {
        let words = encode(&message, frame).unwrap();
        let expected = match message {
            Message::PageInGem { .. } => frame,
            _ => 0,
        };
        assert_eq!(decode(&words), Some((message, expected)));
        assert_eq!(decode(&words[..words.len() - 1]), None, "{words:?} cut");
    }
    assert!(encode(&Message::Revoked { page: PageId(1) }, 0).is_none());
}

#[test]
fn what_another_node_wrote_may_be_anything() {
    let mut random = Random::new(8);
    let whole: Vec<Vec<u64>> = messages().iter().filter_map(|m| encode(m, 0)).collect();
    for _ in 0..20_000 {
        let mut words = whole[random.below(whole.len() as u64) as usize].clone();
        let place = random.below(words.len() as u64) as usize;
        words[place] ^= 1 << random.below(64);
        words.truncate(random.below(12) as usize);
        let _ = decode(&words);
    }
}
