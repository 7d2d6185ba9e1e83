//! A node of a cluster, closely or loosely coupled: the interface for the bank and the load, and the claim of a slot.
//!
//! Invariant: a slot has one living process, since each of its clients has an end of HISTORY of its own. Closely
//! coupled nodes have slots themselves; a loosely coupled one locks a file of its slot, which its process releases when
//! it dies.

use crate::authority::division;
use crate::error::ClusterError;
use crate::figures::Counts;
use crate::page_server::Called;
use crate::places::Places;
use crate::setting::{Coupling, Setting, update_strategy};
use sardonyx_sharing::node::loose::{LooseNode, LooseOptions};
use sardonyx_sharing::node::{Node, NodeError, Nodes, Observer, Transaction};
use std::fs::{File, TryLockError};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The time to wait for a slot whose last node is not recovered yet, or whose last process has not ended.
const JOIN_WAIT: Duration = Duration::from_secs(10);

/// The interval of checks meanwhile.
const LOOK: Duration = Duration::from_millis(5);

/// A node of either coupling, in a slot of a cluster. Dropped, it leaves.
#[derive(Debug)]
pub enum CoupledNode {
    /// Closely coupled; the node goes first.
    Close(Node, Nodes),
    /// Loosely coupled, and the locked file of its slot.
    Loose(LooseNode, File),
}

impl CoupledNode {
    /// Joins the nodes of a place in a slot; waits while the slot's last node is recovered. The observer is notified of
    /// its transactions.
    ///
    /// # Errors
    /// As [`Nodes::join_slot`] and [`LooseNode::join`]; [`ClusterError::NoPageServer`], [`ClusterError::System`],
    /// [`ClusterError::Tls`].
    pub fn join(
        setting: &Setting,
        places: &Places,
        slot: usize,
        observer: Option<Arc<dyn Observer>>,
    ) -> Result<Self, ClusterError> {
        match setting.coupling {
            Coupling::Close => {
                let mut options = setting.node_options();
                options.observer = observer;
                let nodes = Nodes::open(places.database(), options)?;
                let node = join(&nodes, slot)?;
                Ok(CoupledNode::Close(node, nodes))
            }
            Coupling::Loose => {
                let locked = lock_slot(places, slot)?;
                let server = Called::read(setting, places)?;
                let options = LooseOptions {
                    token: Some(server.token),
                    transport: setting.connecting.transport()?,
                    update: update_strategy(setting.update),
                    read_authorisation: false,
                    buffer_pages: setting.buffer_pages as usize,
                    division: division(setting)?,
                    // A process that only reads the database for a while gets no transactions.
                    place: (slot < setting.nodes.into()).then_some(slot as u16),
                    // By then a node whose process is stopped has been shut out.
                    unreachable_wait: 2 * setting.stopped_process_wait(),
                    imposed: setting.devices.imposed(),
                    observer,
                    ..LooseOptions::new(server.address)
                };
                let members = setting.register(places)?;
                Ok(CoupledNode::Loose(
                    LooseNode::join(members, options)?,
                    locked,
                ))
            }
        }
    }

    /// Runs a transaction of a type: when this returns without an error it is committed and durable. A deadlock's
    /// victim is run again; so the closure must not have other effects.
    ///
    /// # Errors
    /// As [`Node::run`] and [`LooseNode::run`].
    pub fn transact<R>(
        &self,
        kind: u16,
        mut work: impl FnMut(&mut Transaction<'_>) -> Result<R, NodeError>,
    ) -> Result<R, NodeError> {
        let work = |tx: &mut Transaction<'_>| {
            tx.set_type(kind);
            work(tx)
        };
        match self {
            CoupledNode::Close(node, _) => node.run(work),
            CoupledNode::Loose(node, _) => node.run(work),
        }
    }

    /// Its counts since it joined.
    pub fn counts(&self) -> Counts {
        Counts::of(&match self {
            CoupledNode::Close(node, _) => node.statistics(),
            CoupledNode::Loose(node, _) => node.statistics(),
        })
    }

    /// Its name: closely coupled, slot and life; loosely coupled, a number that no node before it had.
    pub fn name(&self) -> u16 {
        match self {
            CoupledNode::Close(node, _) => node.id().0,
            CoupledNode::Loose(node, _) => node.number().0,
        }
    }

    /// Succeeds if it continues. Otherwise it never does: its process must end, so that its slot is free.
    ///
    /// # Errors
    /// As [`Node::check`] and [`LooseNode::check`].
    pub fn check(&self) -> Result<(), NodeError> {
        match self {
            CoupledNode::Close(node, _) => node.check(),
            CoupledNode::Loose(node, _) => node.check(),
        }
    }

    /// The living nodes, as far as it knows: slots of closely coupled ones, names of loosely coupled ones.
    pub fn living(&self) -> Vec<usize> {
        match self {
            CoupledNode::Close(_, nodes) => nodes.living(),
            CoupledNode::Loose(node, _) => {
                let members = node.members().into_iter();
                members.map(|node| node.0.into()).collect()
            }
        }
    }

    /// Brings the backup up to date.
    ///
    /// # Errors
    /// As [`Nodes::checkpoint`]; [`ClusterError::Loose`]: the page server does so itself.
    pub fn checkpoint(&self) -> Result<(), ClusterError> {
        match self {
            CoupledNode::Close(_, nodes) => Ok(nodes.checkpoint()?),
            CoupledNode::Loose(..) => Err(ClusterError::Loose {
                what: "cannot be asked for a checkpoint: their page server takes them by itself",
            }),
        }
    }
}

/// Joins closely coupled nodes in a slot; waits while the slot's last node is recovered.
///
/// # Errors
/// As [`Nodes::join_slot`].
pub fn join(nodes: &Nodes, slot: usize) -> Result<Node, NodeError> {
    let began = Instant::now();
    loop {
        match nodes.join_slot(slot) {
            Err(NodeError::Table(_)) if began.elapsed() < JOIN_WAIT => std::thread::sleep(LOOK),
            joined => return joined,
        }
    }
}

/// True if a loosely coupled node of this place has a process.
pub(crate) fn any_slot_is_locked(setting: &Setting, places: &Places) -> bool {
    // The one more is a program that is a node for a while ([`Cluster::as_node`](crate::nodes::Cluster::as_node)).
    let mut slots = 0..=usize::from(setting.nodes);
    slots.any(|slot| {
        let file = File::open(places.lock(slot));
        file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    })
}

fn lock_slot(places: &Places, slot: usize) -> Result<File, ClusterError> {
    let place = places.lock(slot);
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&place);
    let file = file.map_err(ClusterError::system("make", &place))?;
    let began = Instant::now();
    loop {
        let error = match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if began.elapsed() < JOIN_WAIT => {
                std::thread::sleep(LOOK);
                continue;
            }
            Err(TryLockError::WouldBlock) => io::Error::other("another process is this node"),
            Err(TryLockError::Error(error)) => error,
        };
        return Err(ClusterError::system("lock", &place)(error));
    }
}
