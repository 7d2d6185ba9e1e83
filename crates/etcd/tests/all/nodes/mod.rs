//! Nodes that count on pages.

use sardonyx_sharing::node::NodeError;
use sardonyx_sharing::node::loose::{LooseNode, LooseOptions, PageServer, Register, Serving};
use sardonyx_sharing::protocol::Division;
use sardonyx_storage::engine::StorageOptions;
use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

/// Longer than a busy machine keeps anybody waiting.
pub const LONG: Duration = Duration::from_secs(60);

pub fn serve(directory: &Path) -> Serving {
    let storage = StorageOptions {
        identity: Some(79),
        memory_bytes_max: 1 << 25,
        workers: 1,
        ..StorageOptions::default()
    };
    let server = PageServer::open(directory, 64, storage).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    Serving::start(server, listener, None).unwrap()
}

pub fn join(server: &Serving, register: Box<dyn Register>) -> LooseNode {
    join_with(server, register, LONG)
}

/// A node that waits for so long for a lock, and for a lease that may be renewed.
pub fn join_with(
    server: &Serving,
    register: Box<dyn Register>,
    lock_patience: Duration,
) -> LooseNode {
    let options = LooseOptions {
        division: Division::spread(16),
        patience: LONG,
        lock_patience,
        ..LooseOptions::new(server.address())
    };
    LooseNode::join(register, options).unwrap()
}

fn value(bytes: &[u8]) -> i64 {
    i64::from_le_bytes(bytes.try_into().unwrap())
}

pub fn add(node: &LooseNode, page: u64, amount: i64) -> Result<i64, NodeError> {
    node.run(|tx| {
        let before = value(&tx.read_to_change(page, 0..8)?);
        tx.write(page, 0, &(before + amount).to_le_bytes())?;
        Ok(before + amount)
    })
}

pub fn read(node: &LooseNode, page: u64) -> Result<i64, NodeError> {
    node.run(|tx| tx.read(page, 0..8))
        .map(|bytes| value(&bytes))
}

/// Does it again while a lock is waited for too long.
pub fn surely<T>(mut act: impl FnMut() -> Result<T, NodeError>) -> T {
    loop {
        match act() {
            Err(NodeError::TimedOut { .. }) => {}
            done => return done.unwrap(),
        }
    }
}
