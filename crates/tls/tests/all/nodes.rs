//! Loosely coupled nodes over TLS; and foreign processes, which the nodes do not notice.

use crate::common::{self, Authority};
use sardonyx_base::token::Token;
use sardonyx_base::transport::{Plain, Transport, TransportError};
use sardonyx_sharing::node::NodeError;
use sardonyx_sharing::node::loose::{LooseNode, LooseOptions, OneHost, PageServer, Serving};
use sardonyx_sharing::protocol::{Division, UpdateStrategy};
use sardonyx_storage::engine::StorageOptions;
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;

const PAGES: u64 = 32;

struct World {
    _directory: tempfile::TempDir,
    members: tempfile::TempDir,
    server: Serving,
}

fn token() -> Option<Token> {
    Some(Token::new("what all of them know").unwrap())
}

fn serve(transport: Arc<dyn Transport>) -> World {
    let directory = tempfile::tempdir().unwrap();
    let storage = StorageOptions {
        identity: Some(80),
        memory_bytes_max: 1 << 25,
        workers: 1,
        ..StorageOptions::default()
    };
    let server = PageServer::open(directory.path(), PAGES, storage).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    World {
        server: Serving::start_over(transport, server, listener, token()).unwrap(),
        _directory: directory,
        members: tempfile::tempdir().unwrap(),
    }
}

fn options(world: &World, transport: Arc<dyn Transport>) -> LooseOptions {
    LooseOptions {
        transport,
        token: token(),
        buffer_pages: 8,
        division: Division::spread(16),
        ..LooseOptions::new(world.server.address())
    }
}

fn register(members: &Path) -> Box<OneHost> {
    // However busy the machine is, no node is taken for stopped.
    let register = OneHost::open(members).unwrap();
    Box::new(register.with_stopped_process_wait(10 * common::LONG))
}

fn join(
    world: &World,
    transport: impl Transport + 'static,
    update: UpdateStrategy,
) -> Result<LooseNode, NodeError> {
    let options = LooseOptions {
        update,
        ..options(world, Arc::new(transport))
    };
    LooseNode::join(register(world.members.path()), options)
}

fn value(bytes: &[u8]) -> i64 {
    i64::from_le_bytes(bytes.try_into().unwrap())
}

fn transfer(node: &LooseNode, from: u64, to: u64) {
    let moved = node.run(|tx| {
        for (page, amount) in [(from, -1), (to, 1)] {
            let before = value(&tx.read_to_change(page, 0..8)?);
            tx.write(page, 0, &(before + amount).to_le_bytes())?;
            // A page that was changed whole travels whole.
            tx.write(page, 8, &[before as u8; 4000])?;
        }
        Ok::<(), NodeError>(())
    });
    moved.unwrap();
}

fn sum(node: &LooseNode) -> i64 {
    let added = node.run(|tx| {
        let mut sum = 0;
        for page in 0..PAGES {
            sum += value(&tx.read(page, 0..8)?);
        }
        Ok::<i64, NodeError>(sum)
    });
    added.unwrap()
}

fn transfers(node: &LooseNode, count: u64) {
    for at in 0..count {
        transfer(node, at * 7 % PAGES, (at * 11 + 3) % PAGES);
    }
}

#[test]
fn nodes_over_tls_see_each_others_pages_and_others_are_refused_meanwhile() {
    let bank = Authority::new("bank");
    let world = serve(Arc::new(bank.process()));
    for update in [UpdateStrategy::NoForce, UpdateStrategy::Force] {
        let nodes: Vec<LooseNode> = (0..3)
            .map(|_| join(&world, bank.process(), update).unwrap())
            .collect();
        std::thread::scope(|scope| {
            for node in &nodes {
                scope.spawn(|| transfers(node, 100));
            }
            // Of another CA, and without TLS; again and again, while the others work.
            let shop = Authority::new("bank").process();
            for _ in 0..5 {
                let error = join(&world, shop.clone(), update).unwrap_err();
                let why = matches!(
                    error,
                    NodeError::Transport(TransportError::NotTrusted { .. })
                );
                assert!(why, "{error}");
                let error = join(&world, Plain, update).unwrap_err();
                let why = matches!(
                    error,
                    NodeError::Transport(TransportError::OtherProtocol { .. })
                );
                assert!(why && error.to_string().contains("TLS"), "{error}");
            }
        });
        for node in &nodes {
            assert_eq!(sum(node), 0);
            assert_eq!(node.members().len(), 3);
        }
        let statistics: Vec<_> = nodes.iter().map(LooseNode::statistics).collect();
        assert!(statistics.iter().all(|one| one.committed == 100));
    }
}

#[test]
fn a_node_over_tls_is_told_that_the_page_server_uses_plain_tcp() {
    let world = serve(Arc::new(Plain));
    let node = join(&world, Plain, UpdateStrategy::NoForce).unwrap();
    let process = Authority::new("bank").process();
    let error = join(&world, process, UpdateStrategy::NoForce).unwrap_err();
    let why = matches!(
        error,
        NodeError::Transport(TransportError::OtherProtocol { .. })
    );
    assert!(why && error.to_string().contains("plain TCP"), "{error}");
    transfers(&node, 5);
    assert_eq!(sum(&node), 0);
}

/// A node that the page server trusts and another node does not: a CA was exchanged on one side only. It is not heard,
/// and its waits end with an error. The other one, which may wait for parts of the authority that it has, goes on when
/// it has left.
#[test]
fn a_node_that_another_does_not_trust_waits_and_does_no_harm() {
    let (bank, other) = (Authority::new("bank"), Authority::new("bank again"));
    let directory = tempfile::tempdir().unwrap();
    let both = |of: &Authority| {
        let files = of.files(directory.path(), &common::Wish::default());
        std::fs::write(&files.authority, [&bank.pem[..], &other.pem].concat()).unwrap();
        sardonyx_tls::Tls::new(&files).unwrap()
    };
    let world = serve(Arc::new(both(&bank)));
    let one = join(&world, bank.process(), UpdateStrategy::NoForce).unwrap();
    transfers(&one, 5);
    let options = LooseOptions {
        patience: std::time::Duration::from_millis(300),
        lock_patience: std::time::Duration::from_millis(300),
        ..options(&world, Arc::new(both(&other)))
    };
    // It may take part, but the first node, which has the authority for all pages, hears nothing of it.
    let joined = LooseNode::join(register(world.members.path()), options);
    if let Ok(two) = &joined {
        let error = two.run(|tx| tx.write(3, 0, &[1])).unwrap_err();
        let waited = matches!(
            error,
            NodeError::TimedOut { .. } | NodeError::Stopped { .. }
        );
        assert!(waited, "{error}");
    }
    drop(joined);
    transfers(&one, 5);
    assert_eq!(sum(&one), 0);
}
