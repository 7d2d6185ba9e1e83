//! Nodes: several processes on one database at once, each with a buffer of its own, pages locked over all of them. The
//! verbs on tables are those of [`Tables`](crate::Tables), with rows that are copied out. The trait [`TableNode`] has the
//! verbs of nodes on tables, for either coupling.
//!
//! *Closely coupled*: up to 64 processes of one host, which share memory.
//!
//! ```
//! use sardonyx::nodes::{NodeOptions, Nodes, TableNode};
//! use sardonyx::{Error, record};
//!
//! record! {
//!     #[table("accounts", key = id)]
//!     struct Account {
//!         id: u64,
//!         balance: i64,
//!     }
//! }
//!
//! fn main() -> Result<(), Error> {
//! #   let directory = tempfile::tempdir().map_err(Error::other)?;
//! #   let path = directory.path().join("bank.sdx");
//!     let nodes = Nodes::open(&path, NodeOptions::default())?; // other processes open it, too
//!     let node = nodes.join()?;
//!     let accounts = node.table::<Account>()?;
//!     node.run(|tx| {
//!         tx.insert(accounts, &Account { id: 1, balance: 100 })?;
//!         tx.insert(accounts, &Account { id: 2, balance: 0 })?;
//!         Ok::<(), Error>(())
//!     })?;
//!     node.run(|tx| {
//!         tx.update(accounts, 1, |account| account.balance -= 30)?;
//!         tx.update(accounts, 2, |account| account.balance += 30)
//!     })?; // on stable storage when this returns, and seen by every node
//!     let balances = node.run(|tx| {
//!         let range = tx.range(accounts, 1_u64..=2)?;
//!         range.map(|row| Ok(row?.balance)).collect::<Result<Vec<i64>, Error>>()
//!     })?;
//!     assert_eq!(balances, [70, 30]);
//!     Ok(())
//! }
//! ```
//!
//! *Loosely coupled*: processes of one host or of several, which share connections. One more process, the page server,
//! has the database. The same verbs, with the same handles:
//!
//! ```no_run
//! use sardonyx::nodes::{LooseNode, LooseOptions, OneHost, PageServer, Serving, StorageOptions, TableNode};
//! use sardonyx::{Error, record};
//! use std::net::TcpListener;
//!
//! record! {
//!     #[table("accounts", key = id)]
//!     struct Account {
//!         id: u64,
//!         balance: i64,
//!     }
//! }
//!
//! /// On nodes of either coupling.
//! fn transfer(node: &impl TableNode, from: u64, to: u64, amount: i64) -> Result<(), Error> {
//!     let accounts = node.table::<Account>()?; // read once, and known
//!     node.run(|tx| {
//!         tx.update(accounts, from, |account| account.balance -= amount)?;
//!         tx.update(accounts, to, |account| account.balance += amount)?;
//!         Ok(())
//!     })
//! }
//!
//! fn main() -> Result<(), Error> {
//!     // One process has the pages …
//!     let server = PageServer::open("bank.sdx", 4096, StorageOptions::default())?;
//!     let listener = TcpListener::bind("127.0.0.1:7410").map_err(Error::other)?;
//!     let serving = Serving::start(server, listener, None)?;
//!     // … and others are nodes; the crate `sardonyx-etcd` has a register for several hosts.
//!     let members = Box::new(OneHost::open("/run/bank")?);
//!     let node = LooseNode::join(members, LooseOptions::new(serving.address()))?;
//!     transfer(&node, 1, 2, 30) // on the page server's stable storage when this returns
//! }
//! ```
//!
//! A transaction that was chosen to end a deadlock is run again, so a closure must have no other effects. Read rows that
//! you will change by `update` or `get_to_change`, which lock their pages for writing at once.
//!
//! Indexes are declared in a schema ([`TableNode::create_table`]) and are always ordered. Constraints are those of all
//! tables, references among them; schemas change in transactions ([`Transaction::tables`], and the trait
//! [`DefineRows`](crate::rows::DefineRows)), which every node sees. A database of nodes' tables is opened by nodes alone.
//! A page that all nodes change allows one commit a sync: separate each node's rows from the others' by their keys.

/// The secret that all processes of loosely coupled nodes share.
pub use sardonyx_base::token::Token;
pub use sardonyx_sharing::node::loose::{
    LooseNode, LooseOptions, OneHost, PageServer, Register, Serving,
};
pub use sardonyx_sharing::node::{
    KEY_BYTES_MAX, Node, NodeEntries, NodeError, NodeIndex, NodeJournal, NodeJournalRows,
    NodeOptions, NodeRecords, NodeStatistics, NodeTables, Nodes, OwnedRow, PagesInUse, TableNode,
    Transaction,
};
/// The time at which modified pages are stored.
pub use sardonyx_sharing::protocol::UpdateStrategy;
/// Options of the database's storage.
pub use sardonyx_storage::engine::StorageOptions;
