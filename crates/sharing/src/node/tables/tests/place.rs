//! A database that nodes of one process share, of either coupling: so tests of nodes' tables run on both.

use crate::node::loose::tests::register;
use crate::node::loose::{LooseNode, LooseOptions, PageServer, Serving};
use crate::node::{Node, NodeError, NodeOptions, Nodes, TableNode};
use crate::protocol::{Division, UpdateStrategy};
use sardonyx_storage::engine::StorageOptions;
use std::net::TcpListener;
use std::path::Path;
use tempfile::TempDir;

/// Pages of the database.
pub const PAGES: u64 = 2048;
/// Pages of a node's buffer.
pub const BUFFER_PAGES: usize = 64;

/// A database, and nodes that join.
pub trait Place: Sized {
    type Node: TableNode + Send + Sync;

    fn new() -> Self {
        Self::with(storage(), BUFFER_PAGES)
    }

    /// Stored so, with so many pages in each node's buffer.
    fn with(storage: StorageOptions, buffer_pages: usize) -> Self;

    fn join(&self) -> Result<Self::Node, NodeError>;

    /// All nodes have left: the database is closed, and opened again.
    fn reopen(&mut self);
}

pub fn storage() -> StorageOptions {
    StorageOptions {
        memory_bytes_max: 1 << 26,
        workers: 1,
        ..StorageOptions::default()
    }
}

pub fn options(memory: &Path) -> NodeOptions {
    NodeOptions {
        pages: PAGES,
        slots: 4,
        shared_memory: memory.into(),
        update: UpdateStrategy::NoForce,
        buffer_pages: BUFFER_PAGES,
        storage: storage(),
        ..NodeOptions::default()
    }
}

/// A place with closely coupled nodes.
pub struct Close {
    pub nodes: Option<Nodes>,
    options: NodeOptions,
    pub directory: TempDir,
    _memory: TempDir,
}

impl Place for Close {
    type Node = Node;

    fn with(storage: StorageOptions, buffer_pages: usize) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let memory = tempfile::tempdir_in("/dev/shm").unwrap();
        let options = NodeOptions {
            storage,
            buffer_pages,
            ..options(memory.path())
        };
        let nodes = Nodes::open(directory.path(), options.clone()).unwrap();
        Close {
            nodes: Some(nodes),
            options,
            directory,
            _memory: memory,
        }
    }

    fn join(&self) -> Result<Node, NodeError> {
        self.nodes.as_ref().unwrap().join()
    }

    fn reopen(&mut self) {
        self.nodes = None;
        let nodes = Nodes::open(self.directory.path(), self.options.clone());
        self.nodes = Some(nodes.unwrap());
    }
}

/// A page server that listens on this host.
pub fn serve(directory: &Path, pages: u64, storage: StorageOptions) -> Serving {
    let server = PageServer::open(directory, pages, storage).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    Serving::start(server, listener, None).unwrap()
}

/// A place with loosely coupled nodes.
pub struct Loose {
    pub server: Option<Serving>,
    storage: StorageOptions,
    buffer_pages: usize,
    directory: TempDir,
    members: TempDir,
}

impl Loose {
    pub fn join_as(&self, options: LooseOptions) -> Result<LooseNode, NodeError> {
        LooseNode::join(register(self.members.path())?, options)
    }

    pub fn options(&self) -> LooseOptions {
        LooseOptions {
            buffer_pages: self.buffer_pages,
            division: Division::spread(16),
            ..LooseOptions::new(self.server.as_ref().unwrap().address())
        }
    }
}

impl Place for Loose {
    type Node = LooseNode;

    fn with(storage: StorageOptions, buffer_pages: usize) -> Self {
        let directory = tempfile::tempdir().unwrap();
        Loose {
            server: Some(serve(directory.path(), PAGES, storage.clone())),
            storage,
            buffer_pages,
            directory,
            members: tempfile::tempdir().unwrap(),
        }
    }

    fn join(&self) -> Result<LooseNode, NodeError> {
        self.join_as(self.options())
    }

    fn reopen(&mut self) {
        self.server = None;
        let server = serve(self.directory.path(), PAGES, self.storage.clone());
        self.server = Some(server);
    }
}

/// Makes a test for each coupling of functions that test a [`Place`].
macro_rules! on_both {
    ($($name:ident),+ $(,)?) => {
        mod close {
            $(#[test]
            fn $name() -> Result<(), $crate::node::NodeError> {
                super::$name::<$crate::node::tables::tests::place::Close>()
            })+
        }

        mod loose {
            $(#[test]
            fn $name() -> Result<(), $crate::node::NodeError> {
                super::$name::<$crate::node::tables::tests::place::Loose>()
            })+
        }
    };
}
pub(super) use on_both;
