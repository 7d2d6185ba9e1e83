//! The register that all nodes share: the members, their presence, and their addresses.
//!
//! Nothing here finds an agreement: a [`Register`] has one value and changes it by Compare&Swap, as a store does that
//! others keep replicated, or a file of one host. The presence of a node is a guess, from a lease or a lock, and only
//! raises suspicions ([`crate::protocol::membership`]).

use crate::node::NodeError;
use crate::protocol::membership::View;
use crate::protocol::{Epoch, NodeId};
use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// A register with the view, and the nodes that are there. Used by one thread of a node, which may wait for it.
pub trait Register: fmt::Debug + Send {
    /// Takes a number that no node ever had, and says where its node is. The node is there as long as this is
    /// kept.
    ///
    /// # Errors
    /// [`NodeError::Membership`].
    fn enter(&mut self, address: SocketAddr) -> Result<NodeId, NodeError>;

    /// The view; the default one if there never was any.
    ///
    /// # Errors
    /// [`NodeError::Membership`].
    fn read(&mut self) -> Result<View, NodeError>;

    /// Replaces the view if its epoch is still this. Returns whether it did.
    ///
    /// # Errors
    /// [`NodeError::Membership`]: it may have been replaced or not.
    fn swap(&mut self, expected: Epoch, view: &View) -> Result<bool, NodeError>;

    /// The present nodes, and their addresses. A node that does not find itself present stops: so a node that is
    /// absent once never returns.
    ///
    /// # Errors
    /// [`NodeError::Membership`].
    fn present(&mut self) -> Result<BTreeMap<NodeId, SocketAddr>, NodeError>;

    /// Renews this node's presence, and returns the time until which no other node takes it for failed, by this
    /// process's clock. `None`: as long as its process lives and runs.
    ///
    /// # Errors
    /// [`NodeError::Membership`]: the time returned before stays.
    fn stay(&mut self) -> Result<Option<Instant>, NodeError>;

    /// The node is there no more.
    fn leave(&mut self);

    /// The interval at which a node looks.
    fn look_every(&self) -> Duration {
        Duration::from_millis(20)
    }
}
