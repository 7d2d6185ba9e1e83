//! The register as nodes use it, against a scripted etcd.

use crate::nodes::{LONG, add, join, join_with, read, serve, surely};
use crate::scripted::ScriptedEtcd;
use sardonyx_etcd::{Etcd, EtcdOptions};
use sardonyx_sharing::node::NodeError;
use sardonyx_sharing::node::loose::Register;
use sardonyx_sharing::protocol::membership::View;
use sardonyx_sharing::protocol::{Epoch, NodeId};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

fn options(etcd: &ScriptedEtcd) -> EtcdOptions {
    options_at(etcd, 0)
}

fn options_at(etcd: &ScriptedEtcd, number: usize) -> EtcdOptions {
    EtcdOptions {
        // No machine is so busy that it runs out by itself.
        lease: LONG,
        time_limit: LONG,
        look_every: Duration::from_millis(10),
        ..EtcdOptions::new([etcd.endpoint(number)], "bank")
    }
}

/// A register whose view cannot be read, and whose lease is over by its node's clock, when a test sets that.
#[derive(Debug)]
struct Aged {
    etcd: Etcd,
    is_unreadable: Arc<AtomicBool>,
    /// Counts the reads that failed by `is_unreadable`.
    failed_reads: Arc<AtomicU32>,
    is_over: Arc<AtomicBool>,
}

impl Register for Aged {
    fn enter(&mut self, address: SocketAddr) -> Result<NodeId, NodeError> {
        self.etcd.enter(address)
    }

    fn read(&mut self) -> Result<View, NodeError> {
        if self.is_unreadable.load(Ordering::SeqCst) {
            self.failed_reads.fetch_add(1, Ordering::SeqCst);
            let reason = "it cannot be read".into();
            return Err(NodeError::Membership { reason });
        }
        self.etcd.read()
    }

    fn swap(&mut self, expected: Epoch, view: &View) -> Result<bool, NodeError> {
        self.etcd.swap(expected, view)
    }

    fn present(&mut self) -> Result<BTreeMap<NodeId, SocketAddr>, NodeError> {
        self.etcd.present()
    }

    fn stay(&mut self) -> Result<Option<Instant>, NodeError> {
        match self.is_over.load(Ordering::SeqCst) {
            true => Ok(Some(Instant::now())),
            false => self.etcd.stay(),
        }
    }

    fn leave(&mut self) {
        self.etcd.leave();
    }

    fn look_every(&self) -> Duration {
        self.etcd.look_every()
    }
}

fn view(epoch: u32, node: NodeId) -> View {
    View {
        epoch: Epoch(epoch),
        members: [(node, Epoch(epoch))].into(),
        ..View::default()
    }
}

#[test]
fn a_view_is_replaced_by_one_of_two() {
    let etcd = ScriptedEtcd::start();
    let (mut one, mut two) = (Etcd::new(options(&etcd)), Etcd::new(options(&etcd)));
    let address = "127.0.0.1:1".parse().unwrap();
    let (a, b) = (one.enter(address).unwrap(), two.enter(address).unwrap());
    assert_ne!(a, b);
    assert_eq!(one.read().unwrap(), View::default());
    assert!(one.swap(Epoch(0), &view(1, a)).unwrap());
    assert!(!two.swap(Epoch(0), &view(1, b)).unwrap());
    assert_eq!(two.read().unwrap(), view(1, a));
    assert!(two.swap(Epoch(1), &view(2, b)).unwrap());
    assert_eq!(one.read().unwrap(), view(2, b));
    // A lost answer proves nothing; the next read does.
    etcd.lose_answers(1);
    assert!(one.swap(Epoch(2), &view(3, a)).is_err());
    assert_eq!(one.read().unwrap(), view(3, a));
    assert_eq!(one.present().unwrap().len(), 2);
    two.leave();
    assert_eq!(one.present().unwrap().into_keys().collect::<Vec<_>>(), [a]);
    etcd.be_silent([true; 2]);
    assert!(one.read().is_err() && one.stay().is_ok());
}

#[test]
fn a_number_is_never_given_twice() {
    let etcd = ScriptedEtcd::start();
    let address = "127.0.0.1:1".parse().unwrap();
    let mut seen = Vec::new();
    for lost in [0, 1, 0, 2, 0] {
        etcd.lose_answers(lost);
        let mut register = Etcd::new(options(&etcd));
        while let Err(error) = register.enter(address) {
            println!("{error}");
        }
        seen.extend(register.present().unwrap().into_keys());
        register.leave();
        assert!(register.present().unwrap().len() <= seen.len());
    }
    let fresh = Etcd::new(options(&etcd)).enter(address).unwrap();
    assert!(!seen.contains(&fresh), "{fresh:?} of {seen:?}");
    // Nor is it begun anew.
    etcd.damage("bank/next");
    let refused = Etcd::new(options(&etcd)).enter(address).unwrap_err();
    let said = refused.to_string();
    assert!(said.contains("the number of the next node"), "{said}");
}

#[test]
fn a_lease_is_counted_from_a_moment_before_it_was_asked_for() {
    let etcd = ScriptedEtcd::start();
    let mut register = Etcd::new(options(&etcd));
    assert_eq!(register.stay().unwrap(), None);
    let before = Instant::now();
    register.enter("127.0.0.1:1".parse().unwrap()).unwrap();
    let after = Instant::now();
    let until = register.stay().unwrap().unwrap();
    assert!((before + LONG..=after + LONG).contains(&until));
}

#[test]
fn a_node_whose_lease_runs_out_acknowledges_nothing_more_and_nothing_is_lost() {
    let (database, etcd) = (tempfile::tempdir().unwrap(), ScriptedEtcd::start());
    let server = serve(database.path());
    let [is_unreadable, is_over] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
    let failed_reads = Arc::new(AtomicU32::new(0));
    let register = Aged {
        etcd: Etcd::new(options_at(&etcd, 0)),
        is_unreadable: is_unreadable.clone(),
        failed_reads: failed_reads.clone(),
        is_over: is_over.clone(),
    };
    // It is to learn soon that its lease cannot be renewed; on a busy machine that is short for a lock.
    let one = join_with(&server, Box::new(register), Duration::from_millis(200));
    let two = join(&server, Box::new(Etcd::new(options_at(&etcd, 1))));
    for page in 0..16 {
        assert_eq!(surely(|| add(&one, page, 1)), 1);
        assert_eq!(add(&two, page, 1).unwrap(), 2);
        assert_eq!(surely(|| read(&one, page)), 2);
    }
    let of_one = (16..64).find(|page| one.authority(*page) == Some(one.number()));
    let of_one = of_one.unwrap();
    assert_eq!(surely(|| add(&one, of_one, 1)), 1);
    // The first one gets no answer of etcd, in the middle of reading the view, and so cannot report its view at the
    // end.
    is_unreadable.store(true, Ordering::SeqCst);
    while failed_reads.load(Ordering::SeqCst) == 0 {
        std::thread::yield_now();
    }
    etcd.be_silent([true, false]);
    assert_eq!(surely(|| read(&one, of_one)), 1, "its lease lives");
    is_over.store(true, Ordering::SeqCst);
    let until = Instant::now() + LONG;
    let refused = loop {
        match read(&one, of_one) {
            Ok(_) => assert!(Instant::now() < until, "it tells without a lease"),
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, NodeError::Membership { .. }), "{refused}");
    etcd.run_out(&format!("bank/node/{}", one.number().0));
    while two.members() != [two.number()] {
        std::thread::yield_now();
    }
    // The other one goes on, with all that the first had the authority for.
    for page in 0..16 {
        assert_eq!(add(&two, page, 1).unwrap(), 3);
    }
    // The first one's write has not happened, although it believes that it takes part.
    assert_eq!(one.members().len(), 2);
    let written = add(&one, of_one, 1);
    assert!(matches!(written, Err(NodeError::Fenced(_))), "{written:?}");
    for page in 0..16 {
        assert_eq!(read(&two, page).unwrap(), 3);
    }
    assert_eq!(read(&two, of_one).unwrap(), 1);
}

#[test]
fn a_node_whose_lease_ran_out_while_it_was_stopped_stops_though_nobody_shut_it_out() {
    let (database, etcd) = (tempfile::tempdir().unwrap(), ScriptedEtcd::start());
    let server = serve(database.path());
    let alone = join(&server, Box::new(Etcd::new(options(&etcd))));
    assert_eq!(add(&alone, 3, 1).unwrap(), 1);
    // etcd is not asked for so long that it ends the lease. The next node to join would not wait for this one.
    etcd.run_out(&format!("bank/node/{}", alone.number().0));
    while alone.check().is_ok() {
        std::thread::yield_now();
    }
    let (read, written) = (read(&alone, 3), add(&alone, 3, 1));
    assert!(matches!(read, Err(NodeError::ShutOut { .. })), "{read:?}");
    assert!(
        matches!(written, Err(NodeError::ShutOut { .. })),
        "{written:?}"
    );
    let next = join(&server, Box::new(Etcd::new(options(&etcd))));
    assert_eq!(add(&next, 3, 1).unwrap(), 2);
}

#[test]
fn without_etcd_nodes_go_on_as_long_as_their_leases_live() {
    let (database, etcd) = (tempfile::tempdir().unwrap(), ScriptedEtcd::start());
    let server = serve(database.path());
    let one = join(&server, Box::new(Etcd::new(options(&etcd))));
    let two = join(&server, Box::new(Etcd::new(options(&etcd))));
    // The first one learns from etcd that there is a second one, before etcd is silent.
    while one.members().len() < 2 {
        std::thread::yield_now();
    }
    assert_eq!(add(&one, 1, 2).unwrap(), 2);
    assert_eq!(add(&two, 1, 3).unwrap(), 5);
    etcd.be_silent([true; 2]);
    assert_eq!(add(&one, 1, 5).unwrap(), 10);
    // A write is not refused, as no node has closed its log; a read waits for the lease.
    etcd.be_silent([false; 2]);
    assert_eq!(add(&two, 1, 1).unwrap(), 11);
    assert_eq!(read(&one, 1).unwrap(), 11);
}
