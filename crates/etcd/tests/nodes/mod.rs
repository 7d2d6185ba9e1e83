//! Nodes that count on pages.

#![allow(dead_code, reason = "each test uses its part")]

use sardonyx_sharing::node::NodeError;
use sardonyx_sharing::node::loose::{LooseNode, LooseOptions, PageServer, Register, Serving};
use sardonyx_sharing::protocol::Division;
use sardonyx_storage::engine::StorageOptions;
use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

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
    let options = LooseOptions {
        division: Division::spread(16),
        patience: Duration::from_secs(20),
        lock_patience: Duration::from_secs(4),
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
