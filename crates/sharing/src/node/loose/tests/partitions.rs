//! Connections that break while nodes work: between nodes, and to the page server. Nothing comes twice or is lost.

use super::proxy::Proxy;
use super::together::serve;
use super::{LONG, register};
use crate::node::loose::{LooseNode, LooseOptions};
use crate::node::tests::bank::{self, value};
use crate::node::{NodeError, TableNode};
use crate::protocol::{Division, UpdateStrategy};
use sardonyx_base::random::Random;
use sardonyx_base::token::Token;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const NODES: usize = 3;
const TRANSACTIONS: u64 = 60;
const CUTS: u64 = 25;

/// A node that the others find through a proxy only, as it finds the page server.
fn join(server: &Proxy, members: &Path, update: UpdateStrategy) -> (LooseNode, Proxy) {
    let proxy = Proxy::start();
    let options = LooseOptions {
        update,
        buffer_pages: 8,
        division: Division::spread(16),
        lock_patience: LONG,
        called_at: Some(proxy.address()),
        ..LooseOptions::new(server.address())
    };
    let node = super::join(members, &options);
    proxy.lead_to(Some(node.address()));
    (node, proxy)
}

/// Ends the waiting of all if a worker fails.
struct Failed<'a>(&'a AtomicU64);

impl Drop for Failed<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(u64::MAX / 2, Ordering::SeqCst);
        }
    }
}

fn connections_break(update: UpdateStrategy) {
    let (database, members) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = serve(database.path(), None);
    let to_server = Proxy::start();
    to_server.lead_to(Some(server.address()));
    let nodes: Vec<_> = (0..NODES)
        .map(|_| join(&to_server, members.path(), update))
        .collect();
    let done = AtomicU64::new(0);
    let all = NODES as u64 * TRANSACTIONS;
    std::thread::scope(|scope| {
        for (worker, (node, _)) in nodes.iter().enumerate() {
            let done = &done;
            scope.spawn(move || {
                let mut random = Random::stream(5, worker as u64);
                let _failed = Failed(done);
                for count in 1..=TRANSACTIONS {
                    let counted = bank::transfer(node, worker as u64, &mut random).unwrap();
                    assert_eq!(counted, count, "a transaction is missing, or there twice");
                    done.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        let mut random = Random::new(6);
        for cut in 1..=CUTS {
            while done.load(Ordering::SeqCst) < all * cut / (CUTS + 2) {
                std::thread::yield_now();
            }
            let proxy = match random.below(NODES as u64 + 1) {
                0 => &to_server,
                node => &nodes[node as usize - 1].1,
            };
            proxy.cut();
        }
    });
    bank::check(&nodes[1].0, &[TRANSACTIONS; NODES]);
    // No node was shut out.
    assert_eq!(nodes[0].0.members().len(), NODES);
}

#[test]
fn connections_that_break_lose_nothing_and_repeat_nothing() {
    connections_break(UpdateStrategy::NoForce);
    connections_break(UpdateStrategy::Force);
}

#[test]
fn a_pair_that_cannot_speak_waits_and_goes_on_when_it_can() {
    let (database, members) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = serve(database.path(), None);
    let to_server = Proxy::start();
    to_server.lead_to(Some(server.address()));
    let update = UpdateStrategy::NoForce;
    let (one, to_one) = join(&to_server, members.path(), update);
    let (two, _to_two) = join(&to_server, members.path(), update);
    let of_one = (0..64).find(|page| two.authority(*page) == Some(one.number()));
    let of_two = (0..64).find(|page| two.authority(*page) == Some(two.number()));
    let (of_one, of_two) = (of_one.unwrap(), of_two.unwrap());
    to_one.lead_to(None);
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| {
            two.run(|tx| tx.write(of_one, 0, &7_i64.to_le_bytes()))
                .unwrap();
        });
        // Meanwhile, work that needs no other node continues.
        two.run(|tx| tx.write(of_two, 0, &8_i64.to_le_bytes()))
            .unwrap();
        assert!(!waits.is_finished());
        to_one.lead_to(Some(one.address()));
        waits.join().unwrap();
    });
    assert_eq!(value(&one.run(|tx| tx.read(of_one, 0..8)).unwrap()), 7);
}

/// Virtual time passes at a node: it looks after the others again and again, until it takes part no more or without them.
fn time_passes_at(node: &LooseNode) {
    while node.check_now().is_ok() && node.members().len() > 1 {
        node.long_look();
        std::thread::yield_now();
    }
}

/// Two nodes that cannot speak to each other. One of them finds that out: the register lets it go on.
fn one_of_a_pair_goes_on(finds_out: usize) {
    let (database, members) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = serve(database.path(), None);
    let join = || {
        let proxy = Proxy::start();
        let options = LooseOptions {
            patience: LONG,
            lock_patience: LONG,
            // No real time is so long: only the test's looks find that a node does not answer.
            unreachable_wait: LONG,
            called_at: Some(proxy.address()),
            ..LooseOptions::new(server.address())
        };
        let node = super::join(members.path(), &options);
        proxy.lead_to(Some(node.address()));
        (node, proxy)
    };
    let ((one, to_one), (two, to_two)) = (join(), join());
    // Each has changed a page for which the other has the authority.
    let page_of = |node: &LooseNode| {
        let own = |page: &u64| two.authority(*page) == Some(node.number());
        (0..64).find(own).unwrap()
    };
    let (of_one, of_two) = (page_of(&one), page_of(&two));
    let write =
        |node: &LooseNode, page, value: i64| node.run(|tx| tx.write(page, 0, &value.to_le_bytes()));
    write(&one, of_two, 1).unwrap();
    write(&two, of_one, 2).unwrap();
    to_one.lead_to(None);
    to_two.lead_to(None);
    let (goes_on, out) = match finds_out {
        0 => (&one, &two),
        _ => (&two, &one),
    };
    let written = std::thread::scope(|scope| {
        let by_one = scope.spawn(|| write(&one, of_two, 11));
        let by_two = scope.spawn(|| write(&two, of_one, 12));
        while !(one.is_asking() && two.is_asking()) {
            std::thread::yield_now();
        }
        time_passes_at(goes_on);
        (by_one.join().unwrap(), by_two.join().unwrap())
    });
    // The other one has been shut out and reports it; this one has its lock.
    let left = match (finds_out, &written) {
        (0, (Ok(()), Err(_))) => [(of_two, 11), (of_one, 2)],
        (1, (Err(_), Ok(()))) => [(of_two, 1), (of_one, 12)],
        _ => panic!("{finds_out}: {written:?}"),
    };
    let why = out.check();
    assert!(matches!(why, Err(NodeError::ShutOut { .. })), "{why:?}");
    goes_on.check().unwrap();
    assert_eq!(goes_on.members(), [goes_on.number()]);
    for proxy in [(&one, &to_one), (&two, &to_two)] {
        proxy.1.lead_to(Some(proxy.0.address()));
    }
    let (again, _proxy) = join();
    assert!(again.number() > one.number().max(two.number()));
    for (page, is) in left {
        assert_eq!(value(&again.run(|tx| tx.read(page, 0..8)).unwrap()), is);
        assert_eq!(value(&goes_on.run(|tx| tx.read(page, 0..8)).unwrap()), is);
    }
}

#[test]
fn of_a_pair_that_cannot_speak_for_long_one_goes_on_and_the_other_joins_again() {
    (0..2).for_each(one_of_a_pair_goes_on);
}

#[test]
fn what_waits_too_long_is_undone_with_a_reason() {
    let (database, members) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = serve(database.path(), None);
    let join = |lock_patience| {
        let options = LooseOptions {
            lock_patience,
            ..LooseOptions::new(server.address())
        };
        super::join(members.path(), &options)
    };
    let (one, two) = (join(LONG), join(Duration::from_millis(30)));
    one.run(|tx| {
        tx.write(3, 0, &[1])?;
        let waits = two.run(|tx| tx.read(3, 0..1));
        assert!(
            matches!(waits, Err(NodeError::TimedOut { .. })),
            "{waits:?}"
        );
        Ok::<(), NodeError>(())
    })
    .unwrap();
    // On a busy machine a lock that is free may come too late, too.
    let read = loop {
        match two.run(|tx| tx.read(3, 0..1)) {
            Err(NodeError::TimedOut { .. }) => {}
            read => break read,
        }
    };
    assert_eq!(read.unwrap(), [1]);
}

#[test]
fn a_node_whose_page_server_is_away_beyond_its_patience_stops() {
    let (database, members) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = serve(database.path(), None);
    let options = LooseOptions {
        patience: Duration::from_millis(100),
        ..LooseOptions::new(server.address())
    };
    let node = super::join(members.path(), &options);
    node.run(|tx| tx.write(3, 0, &[1])).unwrap();
    node.check().unwrap();
    node.check_runs().unwrap();
    drop(server);
    let unknown = node.run(|tx| tx.write(3, 0, &[2]));
    assert!(
        matches!(unknown, Err(NodeError::Unreachable { .. })),
        "{unknown:?}"
    );
    for stopped in [node.check(), node.check_runs()] {
        assert!(
            matches!(stopped, Err(NodeError::Stopped { .. })),
            "{stopped:?}"
        );
    }
    assert!(node.run(|tx| tx.read(3, 0..1)).is_err());
}

#[test]
fn who_has_another_token_is_refused() {
    let (database, members) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = serve(database.path(), Some("right"));
    for token in [None, Some("wrong"), Some("righ"), Some("right")] {
        let register = register(members.path()).unwrap();
        let options = LooseOptions {
            token: token.map(|token| Token::new(token).unwrap()),
            ..LooseOptions::new(server.address())
        };
        let joined = LooseNode::join(register, options);
        match token {
            Some("right") => assert!(joined.is_ok(), "{joined:?}"),
            _ => assert!(
                matches!(joined, Err(NodeError::Refused { .. })),
                "{joined:?}"
            ),
        }
    }
}
