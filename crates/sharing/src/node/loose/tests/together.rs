//! Nodes and a page server in one process: pages and locks over real connections.

use crate::node::NodeError;
use crate::node::loose::{LooseNode, LooseOptions, PageServer, Serving};
use crate::node::tests::bank::value;
use crate::protocol::{Division, UpdateStrategy};
use sardonyx_base::token::Token;
use sardonyx_storage::engine::StorageOptions;
use std::net::TcpListener;
use std::path::Path;

pub const PAGES: u64 = 64;

pub fn storage() -> StorageOptions {
    StorageOptions {
        identity: Some(78),
        memory_bytes_max: 1 << 25,
        workers: 1,
        ..StorageOptions::default()
    }
}

pub fn serve(directory: &Path, token: Option<&str>) -> Serving {
    let server = PageServer::open(directory, PAGES, storage()).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    Serving::start(
        server,
        listener,
        token.map(|token| Token::new(token).unwrap()),
    )
    .unwrap()
}

pub fn join(server: &Serving, members: &Path, update: UpdateStrategy) -> LooseNode {
    let register = super::register(members).unwrap();
    let options = LooseOptions {
        update,
        buffer_pages: 8,
        division: Division::spread(16),
        ..LooseOptions::new(server.address())
    };
    LooseNode::join(register, options).unwrap()
}

fn add(node: &LooseNode, page: u64, amount: i64) -> i64 {
    let added = node.run(|tx| {
        let before = value(&tx.read_to_change(page, 0..8)?);
        tx.write(page, 0, &(before + amount).to_le_bytes())?;
        Ok::<i64, NodeError>(before + amount)
    });
    added.unwrap()
}

fn read(node: &LooseNode, page: u64) -> i64 {
    value(&node.run(|tx| tx.read(page, 0..8)).unwrap())
}

fn nodes_see_each_others_pages(update: UpdateStrategy) {
    let (database, members) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = serve(database.path(), None);
    let one = join(&server, members.path(), update);
    for page in 0..PAGES {
        assert_eq!(add(&one, page, page as i64), page as i64);
    }
    let two = join(&server, members.path(), update);
    let three = join(&server, members.path(), update);
    for page in 0..PAGES {
        assert_eq!(read(&two, page), page as i64);
        assert_eq!(add(&three, page, 1), page as i64 + 1);
        assert_eq!(read(&one, page), page as i64 + 1);
        assert_eq!(add(&two, page, 1), page as i64 + 2);
    }
    // Each has a share of the authority.
    let mut authorities: Vec<_> = (0..PAGES).filter_map(|page| two.authority(page)).collect();
    authorities.sort_unstable();
    authorities.dedup();
    assert_eq!(authorities.len(), 3);
    assert_eq!(two.members(), authorities);
    drop(one);
    for page in 0..PAGES {
        assert_eq!(add(&three, page, 1), page as i64 + 3);
        assert_eq!(read(&two, page), page as i64 + 3);
    }
    drop((two, three));
    drop(server);
    let server = serve(database.path(), None);
    let again = join(&server, members.path(), update);
    for page in 0..PAGES {
        assert_eq!(read(&again, page), page as i64 + 3);
    }
}

#[test]
fn nodes_see_each_others_pages_noforce() {
    nodes_see_each_others_pages(UpdateStrategy::NoForce);
}

#[test]
fn nodes_see_each_others_pages_force() {
    nodes_see_each_others_pages(UpdateStrategy::Force);
}

#[test]
fn the_largest_transaction_commits_and_a_larger_one_is_refused() {
    let (database, members) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = PageServer::open(database.path(), PAGES, storage()).unwrap();
    let most = server.transaction_bytes_max().min(1 << 20);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = Serving::start(server, listener, None).unwrap();
    let node = join(&server, members.path(), UpdateStrategy::NoForce);
    let fill = |bytes: usize| {
        node.run(|tx| {
            // A record is a word beside its bytes.
            for n in 0..bytes / 4104 {
                tx.write(n as u64 % 8, 0, &[(n % 250) as u8 + 1; 4096])?;
            }
            Ok::<(), NodeError>(())
        })
    };
    let before = fill(most + 8208);
    assert!(
        matches!(before, Err(NodeError::TransactionTooLarge { .. })) || most > 1 << 30,
        "{before:?}"
    );
    assert_eq!(read(&node, 0), 0);
    fill(most - 4104).unwrap();
    assert_ne!(read(&node, 0), 0);
}
