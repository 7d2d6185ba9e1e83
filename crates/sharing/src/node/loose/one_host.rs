//! The membership on one host: a directory with the views and a file for each node.
//!
//! ```text
//! view-E      the view of epoch E, behind its CRC-32C; whole when it has its name, never changed; the highest counts
//! node-N      where node N is, after how many milliseconds it counts as failed, and a count that it raises
//!             ([`sardonyx_base::lease`]); locked (flock) by its process; never removed
//! made-by-N   a view on its way
//! ```
//!
//! A process that dies gives the lock of its file back at once, so the others suspect it when they look next. One that
//! is *stopped* (SIGSTOP, a debugger, a frozen container) keeps that lock. It is not killed, as a closely coupled
//! node's is ([`crate::node::fencing`]). Nodes share no memory, so a view and the fence of its log shut it out, as on
//! several hosts, whatever stopped it. A debugger that looks into it keeps it. When it wakes up, its lease has run out:
//! it stops, having acknowledged nothing, neither written nor read.
//!
//! Invariants: no thread waits here for anything that another process holds, since that may be stopped at any
//! instruction. A view replaces the one before by getting its name, which only one can (`link`). A name becomes free
//! again only when the view is [`KEPT`] behind. A process that takes such a name detects that, and has replaced
//! nothing.

use super::coding;
use super::store::Register;
use crate::node::NodeError;
use crate::protocol::membership::View;
use crate::protocol::{Epoch, NodeId};
use sardonyx_base::crc32c;
use sardonyx_base::lease::{Lease, Renewal, Sign, Watch};
use sardonyx_base::process::Process;
use sardonyx_base::sync::futex::{Condvar, Mutex};
use sardonyx_base::sync::thread::{self, JoinHandle};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Views that are kept behind the newest.
const KEPT: u32 = 64;

/// The least time after which a stopped node counts as failed: below it, a busy host would do so with nodes that run.
pub const STOPPED_PROCESS_WAIT_MIN: Duration = Duration::from_millis(500);

/// The register in a directory of this host.
#[derive(Debug)]
pub struct OneHost {
    directory: PathBuf,
    stopped_process_wait: Duration,
    own: Option<Own>,
    others: Watch<NodeId>,
    /// The nodes whose processes have ended.
    ended: BTreeSet<NodeId>,
}

/// The process's own node.
#[derive(Debug)]
struct Own {
    process: Process,
    node: NodeId,
    shown: Arc<Shown>,
    renewing: Option<JoinHandle<()>>,
}

/// The view of this node for others, and the thread that keeps it fresh. A disk that is slow to make a view durable
/// delays reading the register, and no lease.
#[derive(Debug)]
struct Shown {
    address: SocketAddr,
    /// Locked.
    file: File,
    /// And whether the thread is to end.
    lease: Mutex<(Lease, bool)>,
    changed: Condvar,
}

fn failed(error: &io::Error) -> NodeError {
    NodeError::Membership {
        reason: error.to_string(),
    }
}

impl OneHost {
    /// The register in this directory, which is made. A node whose process is stopped counts as failed after 10 s.
    ///
    /// # Errors
    /// [`NodeError::Membership`].
    pub fn open(directory: impl AsRef<Path>) -> Result<Self, NodeError> {
        let directory = directory.as_ref().to_path_buf();
        fs::create_dir_all(&directory).map_err(|error| failed(&error))?;
        Ok(OneHost {
            directory,
            stopped_process_wait: Duration::from_secs(10),
            own: None,
            others: Watch::default(),
            ended: BTreeSet::new(),
        })
    }

    /// The same; this node counts as failed when its process has been stopped for so long, and at least
    /// [`STOPPED_PROCESS_WAIT_MIN`]. After half of that it stops itself when it goes on, as it cannot know the others'
    /// actions.
    #[must_use]
    pub fn with_stopped_process_wait(self, wait: Duration) -> Self {
        OneHost {
            stopped_process_wait: wait.max(STOPPED_PROCESS_WAIT_MIN),
            ..self
        }
    }

    /// Numbers of the files whose names begin so, in their order.
    fn numbers<N: std::str::FromStr + Ord>(&self, prefix: &str) -> io::Result<Vec<N>> {
        let mut all = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            let name = entry?.file_name();
            let number = name.to_str().and_then(|name| name.strip_prefix(prefix));
            all.extend(number.and_then(|number| number.parse().ok()));
        }
        all.sort_unstable();
        Ok(all)
    }

    /// The nodes that ever were.
    fn nodes(&self) -> io::Result<Vec<NodeId>> {
        let numbers = self.numbers("node-")?;
        Ok(numbers.into_iter().map(NodeId).collect())
    }

    fn file_of(&self, node: NodeId) -> PathBuf {
        self.directory.join(format!("node-{}", node.0))
    }

    fn file_of_view(&self, epoch: u32) -> PathBuf {
        self.directory.join(format!("view-{epoch}"))
    }

    fn newest(&self) -> io::Result<View> {
        loop {
            let Some(newest) = self.numbers("view-")?.pop() else {
                return Ok(View::default());
            };
            let bytes = match fs::read(self.file_of_view(newest)) {
                // This process was very slow: it is behind by now.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                read => read?,
            };
            let (checksum, rest) = bytes.split_first_chunk::<4>().unwrap_or((&[0; 4], &[]));
            let view = coding::decode_view_bytes(rest)
                .filter(|view| view.epoch == Epoch(newest))
                .filter(|_| crc32c::crc32c(rest).to_le_bytes() == *checksum);
            let damaged = || io::Error::other(format!("the view of epoch {newest} is damaged"));
            return view.ok_or_else(damaged);
        }
    }

    /// Gives a view its name. Returns whether it is the first that has it, and so the one behind the view before.
    fn publish(&self, node: NodeId, view: &View) -> io::Result<bool> {
        let mut rest = Vec::new();
        coding::encode_view(view, &mut rest);
        let mut bytes = crc32c::crc32c(&rest).to_le_bytes().to_vec();
        bytes.extend_from_slice(&rest);
        let made = self.directory.join(format!("made-by-{}", node.0));
        fs::write(&made, bytes)?;
        File::open(&made)?.sync_all()?;
        let epoch = view.epoch.0;
        let linked = fs::hard_link(&made, self.file_of_view(epoch));
        fs::remove_file(&made)?;
        match linked {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
            linked => linked?,
        }
        File::open(&self.directory)?.sync_all()?;
        let views: Vec<u32> = self.numbers("view-")?;
        let newest = views.last().map_or(epoch, |last| epoch.max(*last));
        for old in views.iter().filter(|old| newest - **old >= KEPT) {
            // Another one may do so at the same time.
            let _ = fs::remove_file(self.file_of_view(*old));
        }
        // So far behind, the name may have been another's before, and free again.
        Ok(newest - epoch < KEPT)
    }

    /// Takes a number, if no other node was faster.
    fn try_enter(&self, node: NodeId, address: SocketAddr) -> io::Result<Option<Own>> {
        let place = self.file_of(node);
        let created = OpenOptions::new().create_new(true).write(true).open(place);
        let file = match created {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
            created => created?,
        };
        match file.try_lock() {
            Ok(()) => {}
            // Another process checks the lock, and may be stopped meanwhile.
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        let lease = Lease::new(self.stopped_process_wait, Instant::now());
        let sign = lease.sign();
        let shown = Arc::new(Shown {
            address,
            file,
            lease: Mutex::new((lease, false)),
            changed: Condvar::new(),
        });
        shown.show(sign)?;
        let renews = shown.clone();
        let renewing = thread::Builder::new()
            .name("lease".into())
            .spawn(move || renews.renew())?;
        Ok(Some(Own {
            process: Process::current(),
            node,
            shown,
            renewing: Some(renewing),
        }))
    }

    /// True if the process of a node has its file locked, and the address in it.
    fn look_at(&self, node: NodeId) -> Option<(bool, SocketAddr, Sign)> {
        let place = self.file_of(node);
        let file = File::open(&place).ok()?;
        let locked = matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
        let said = fs::read_to_string(&place).ok()?;
        let mut words = said.split_whitespace();
        let address = words.next()?.parse().ok()?;
        let mut number = || words.next()?.parse().ok();
        let wait = Duration::from_millis(number()?);
        let count = number()?;
        Some((locked, address, Sign { count, wait }))
    }
}

impl Shown {
    /// The body of the thread.
    fn renew(&self) {
        let mut lease = self.lease.lock();
        while !lease.1 {
            let now = Instant::now();
            match lease.0.renewal(now) {
                Renewal::NotDue => {}
                Renewal::Lost => return,
                Renewal::Show(sign) => match self.show(sign) {
                    Ok(()) => lease.0.renewed(now),
                    Err(error) => tracing::warn!(%error, "a lease cannot be renewed"),
                },
            }
            let until = now + lease.0.sign().wait / 32;
            self.changed.wait_until(&mut lease, until);
        }
    }

    /// Lets the others see the node. The text has always the same length.
    fn show(&self, sign: Sign) -> io::Result<()> {
        let (address, wait, count) = (self.address, sign.wait.as_millis(), sign.count);
        let text = format!("{address} {wait} {count:020}\n");
        self.file.write_all_at(text.as_bytes(), 0)
    }
}

impl Drop for Own {
    /// Unlocks the file, and does not leave that to its closing: a process that another thread is just starting has a
    /// copy of the descriptor until it runs its own program. Until then the node would seem to be there. The lock is
    /// not a forked child's.
    fn drop(&mut self) {
        self.shown.lease.lock().1 = true;
        self.shown.changed.notify_all();
        if let Some(renewing) = self.renewing.take() {
            let _ = renewing.join();
        }
        if self.process.is_current()
            && let Err(error) = self.shown.file.unlock()
        {
            tracing::warn!(%error, "a node that leaves is there until its file is closed");
        }
    }
}

impl Register for OneHost {
    fn enter(&mut self, address: SocketAddr) -> Result<NodeId, NodeError> {
        let last = self.nodes().map_err(|error| failed(&error))?.pop();
        let mut node = last.map_or(NodeId(0), |last| NodeId(last.0.saturating_add(1)));
        while node.0 < u16::MAX {
            let entered = self.try_enter(node, address);
            if let Some(own) = entered.map_err(|error| failed(&error))? {
                self.own = Some(own);
                return Ok(node);
            }
            node.0 += 1;
        }
        Err(NodeError::Membership {
            reason: "65535 nodes were here: begin a new directory".into(),
        })
    }

    fn read(&mut self) -> Result<View, NodeError> {
        self.newest().map_err(|error| failed(&error))
    }

    fn swap(&mut self, expected: Epoch, view: &View) -> Result<bool, NodeError> {
        let Some(own) = &self.own else {
            let reason = "only a node that is there replaces a view".into();
            return Err(NodeError::Membership { reason });
        };
        if view.epoch != expected.next() {
            let reason = "a view is replaced by that of the next epoch".into();
            return Err(NodeError::Membership { reason });
        }
        let newest = self.newest().map_err(|error| failed(&error))?;
        if newest.epoch != expected {
            return Ok(false);
        }
        self.publish(own.node, view).map_err(|error| failed(&error))
    }

    fn present(&mut self) -> Result<BTreeMap<NodeId, SocketAddr>, NodeError> {
        let mut present = BTreeMap::new();
        for node in self.nodes().map_err(|error| failed(&error))? {
            if self.ended.contains(&node) {
                continue;
            }
            let before = Instant::now();
            // One that has not said anything yet is just entering.
            let Some((locked, address, sign)) = self.look_at(node) else {
                continue;
            };
            let times = [before, Instant::now()];
            let is_there = match &self.own {
                Some(own) if own.node == node => before < own.shown.lease.lock().0.until(),
                _ => locked && self.others.is_there(node, sign, times),
            };
            if is_there {
                present.insert(node, address);
            }
            if !locked {
                self.others.forget(node);
                self.ended.insert(node);
            }
        }
        Ok(present)
    }

    fn stay(&mut self) -> Result<Option<Instant>, NodeError> {
        let own = self.own.as_ref();
        Ok(own.map(|own| own.shown.lease.lock().0.until()))
    }

    fn leave(&mut self) {
        self.own = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address() -> SocketAddr {
        "127.0.0.1:1".parse().unwrap()
    }

    fn view(epoch: u32, node: NodeId) -> View {
        View {
            epoch: Epoch(epoch),
            members: [(node, Epoch(epoch))].into(),
            ..View::default()
        }
    }

    #[test]
    fn a_view_is_replaced_by_one_of_two_and_by_nobody_who_is_late() {
        let place = tempfile::tempdir().unwrap();
        let open = || OneHost::open(place.path()).unwrap();
        let (mut one, mut two) = (open(), open());
        assert!(one.swap(Epoch(0), &View::default()).is_err());
        let (a, b) = (one.enter(address()).unwrap(), two.enter(address()).unwrap());
        assert_ne!(a, b);
        assert_eq!(one.read().unwrap(), View::default());
        assert!(one.swap(Epoch(0), &view(1, a)).unwrap());
        assert!(!two.swap(Epoch(0), &view(1, b)).unwrap());
        assert_eq!(two.read().unwrap(), view(1, a));
        // Both have seen that it was not replaced; only one replaces it.
        assert!(two.publish(b, &view(2, b)).unwrap());
        assert!(!one.publish(a, &view(2, a)).unwrap());
        for epoch in 3..=2 + KEPT {
            assert!(one.swap(Epoch(epoch - 1), &view(epoch, a)).unwrap());
        }
        // Stopped for so long that the name is free again.
        assert!(!place.path().join("view-1").exists());
        assert!(!two.publish(b, &view(1, b)).unwrap());
        assert_eq!(two.read().unwrap(), view(2 + KEPT, a));
        assert!(!two.swap(Epoch(1), &view(2, b)).unwrap());
        let left = fs::read_dir(place.path()).unwrap().count();
        assert!(left <= KEPT as usize + 3, "{left} files");
    }

    #[test]
    fn who_leaves_is_there_no_more_although_a_process_that_starts_has_its_file() {
        let place = tempfile::tempdir().unwrap();
        let open = || OneHost::open(place.path()).unwrap();
        let (mut one, mut two) = (open(), open());
        let a = one.enter(address()).unwrap();
        two.enter(address()).unwrap();
        // As between `fork` and `exec`.
        let inherited = two.own.as_ref().unwrap().shown.file.try_clone().unwrap();
        two.leave();
        assert_eq!(one.present().unwrap(), [(a, address())].into());
        drop(inherited);
    }

    #[test]
    fn who_leaves_is_there_no_more_and_its_number_is_never_given_again() {
        let place = tempfile::tempdir().unwrap();
        let open = || OneHost::open(place.path()).unwrap();
        let (mut one, mut two) = (open(), open());
        let a = one.enter(address()).unwrap();
        let b = two.enter(address()).unwrap();
        assert_eq!(
            one.present().unwrap(),
            [(a, address()), (b, address())].into()
        );
        let until = two.stay().unwrap().unwrap();
        assert!(until <= Instant::now() + two.stopped_process_wait / 2);
        two.leave();
        assert_eq!(one.present().unwrap(), [(a, address())].into());
        assert_eq!(two.stay().unwrap(), None);
        let mut three = open();
        let c = three.enter(address()).unwrap();
        assert!(c > b);
        assert_eq!(
            one.present().unwrap(),
            [(a, address()), (c, address())].into()
        );
    }

    #[test]
    fn a_damaged_view_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let mut one = OneHost::open(place.path()).unwrap();
        let node = one.enter(address()).unwrap();
        assert!(one.swap(Epoch(0), &view(1, node)).unwrap());
        let file = one.file_of_view(1);
        let mut bytes = fs::read(&file).unwrap();
        for at in 0..bytes.len() {
            bytes[at] ^= 1;
            fs::write(&file, &bytes).unwrap();
            let said = one.read().unwrap_err().to_string();
            assert!(said.contains("epoch 1 is damaged"), "{said}");
            bytes[at] ^= 1;
        }
        // Nor may one replace another.
        fs::rename(&file, one.file_of_view(2)).unwrap();
        assert!(one.read().is_err());
    }
}
