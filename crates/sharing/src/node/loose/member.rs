//! A loosely coupled node that runs: its options, and its threads.
//!
//! One accepts connections, and one for each of them receives its frames; two ask the page server for pages; one reads
//! the register; one watches the time. The thread that commits first writes for all that wait ([`super::commit`]).

use super::commit::CommitLog;
use super::coupling::{Loose, RegisterJob};
use super::frame::Frame;
use super::remote::Remote;
use super::rows::RemoteRows;
use super::serve::CONNECTIONS_MAX;
use super::store::Register;
use super::wire::{self, Hello, Trust, Welcome};
use super::{jobs, watching};
use crate::node::imposed::{self, ImposedTimes};
use crate::node::local::Local;
use crate::node::member::{Facts, Member, Running};
use crate::node::observer::Observer;
use crate::node::ring;
use crate::node::running;
use crate::node::tables::{JournalSource, Seat, Seated};
use crate::node::transaction::Transaction;
#[cfg(test)]
use crate::node::work::Progress;
use crate::node::{NodeError, NodeStatistics};
use crate::protocol::{Division, NodeId, PageId, PrimaryCopyOptions, UpdateStrategy, membership};
use sardonyx_base::process::Process;
use sardonyx_base::sync::futex::Mutex;
use sardonyx_base::sync::thread::{self, JoinHandle};
use sardonyx_base::token::Token;
use sardonyx_base::transport::{Plain, Transport};
use sardonyx_storage::journal::JournalPosition;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

/// Threads that ask the page server.
const ASKING: usize = 2;

/// The options of a loosely coupled node.
#[derive(Clone, Debug)]
pub struct LooseOptions {
    /// Every page is read from there, and written there.
    pub page_server: SocketAddr,
    /// The address at which this node listens for the others. Port 0 chooses one.
    pub listen: SocketAddr,
    /// The address at which the others find it, if that is another one.
    pub called_at: Option<SocketAddr>,
    /// The secret of all processes.
    pub token: Option<Token>,
    /// The transport of connections, with the page server and all nodes alike.
    pub transport: Arc<dyn Transport>,
    /// With [`UpdateStrategy::NoForce`] pages come with the locks, from their authorities; else from the page server.
    pub update: UpdateStrategy,
    /// True if nodes are authorised to grant read locks themselves.
    pub read_authorisation: bool,
    /// Pages of the node's buffer.
    pub buffer_pages: usize,
    /// The node's division of the lock authority, if no other takes part when it joins; else theirs.
    pub division: Division,
    /// The place where it runs, life after life: the parts of the lock authority that are at home there are its.
    pub place: Option<u16>,
    /// For so long the page server may be away.
    pub patience: Duration,
    /// For so long a transaction waits for a page, or, if it has only read, for this node's lease; then it is undone.
    pub lock_patience: Duration,
    /// The time for which another node may leave a request of this one unanswered; then the register is asked to
    /// decide which of the two goes on. It must be longer than the time after which a stopped process counts as
    /// failed.
    pub unreachable_wait: Duration,
    /// Times of devices that are not there, to be slept.
    pub imposed: ImposedTimes,
    /// The observer of the pages that transactions refer to.
    pub observer: Option<Arc<dyn Observer>>,
}

impl LooseOptions {
    /// A node with this page server, over plain TCP, called on the loopback interface.
    pub fn new(page_server: SocketAddr) -> Self {
        LooseOptions {
            page_server,
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            called_at: None,
            token: None,
            transport: Arc::new(Plain),
            update: UpdateStrategy::NoForce,
            read_authorisation: true,
            buffer_pages: 1024,
            division: Division::spread(64),
            place: None,
            patience: Duration::from_secs(30),
            lock_patience: Duration::from_secs(60),
            unreachable_wait: Duration::from_secs(20),
            imposed: ImposedTimes::default(),
            observer: None,
        }
    }
}

/// A loosely coupled node's member.
pub type LooseMember = Member<Loose>;

/// The process' part for a loosely coupled node.
#[derive(Debug)]
pub(in crate::node) struct LooseHere {
    pub options: LooseOptions,
    log: CommitLog,
    /// The time until which no other node takes this one for failed, if that is known.
    pub lease: Mutex<Option<Instant>>,
    pub register: Sender<RegisterJob>,
    incoming: Mutex<Vec<TcpStream>>,
    trust: Trust,
}

/// A loosely coupled node. Dropped, it leaves: its commits stay, its running transactions are undone, and the others
/// take over its authority.
#[derive(Debug)]
pub struct LooseNode {
    running: Running<Loose>,
    address: SocketAddr,
}

impl LooseNode {
    /// Joins those whose register this is, and returns when the node takes part.
    ///
    /// # Errors
    /// [`NodeError::Network`], [`NodeError::Transport`], [`NodeError::Refused`], [`NodeError::Membership`],
    /// [`NodeError::Unreachable`].
    pub fn join(mut register: Box<dyn Register>, options: LooseOptions) -> Result<Self, NodeError> {
        let network = NodeError::network("listen for other nodes");
        let listener = TcpListener::bind(options.listen).map_err(&network)?;
        let address = listener.local_addr().map_err(&network)?;
        let stopping = Arc::new(AtomicBool::new(false));
        let trust = Trust {
            transport: options.transport.clone(),
            token: options.token.clone(),
        };
        let server = || {
            let (address, trust) = (options.page_server, trust.clone());
            Remote::new(address, trust, options.patience, stopping.clone())
        };
        let mut commits = server();
        let welcome = commits.connect()?;
        let transaction_bytes_max = welcome.transaction_bytes_max.min(1 << 20) as usize;
        let node = register.enter(options.called_at.unwrap_or(address))?;
        let (jobs, asked) = channel();
        let (register_jobs, at_register) = channel();
        let protocol = PrimaryCopyOptions {
            update: options.update,
            read_optimisation: options.read_authorisation,
            authorised_without_copy: true,
            acknowledge_release: false,
            stored_at_commit: true,
        };
        let local = Local::new(node, options.buffer_pages);
        let shell = Loose::shell(
            local,
            protocol,
            (options.division.clone(), options.place),
            trust.clone(),
            jobs,
            register_jobs.clone(),
        )
        .unreachable_after(watching::long_looks(options.unreachable_wait));
        let asking: Vec<Remote> = (0..ASKING).map(|_| server()).collect();
        let facts = Facts {
            pages: welcome.pages,
            database: welcome.database,
            transaction_bytes_max,
            imposed: options.imposed,
            observer: options.observer.clone(),
        };
        let here = LooseHere {
            log: CommitLog::new(node, transaction_bytes_max, commits)
                .imposing(options.imposed.log_write),
            lease: Mutex::new(register.stay()?),
            register: register_jobs,
            incoming: Mutex::new(Vec::new()),
            trust: trust.clone(),
            options,
        };
        let process = Process::current();
        let member = Arc::new(Member::new(here, facts, shell, stopping, process));
        let mut joining = LooseNode {
            running: Running::new(member.clone()),
            address,
        };
        let asked = Arc::new(Mutex::new(asked));
        for server in asking {
            let (member, asked) = (member.clone(), asked.clone());
            joining
                .running
                .start("asking", move || jobs::run(&member, &asked, server))?;
        }
        let hears = member.clone();
        joining
            .running
            .start("listening", move || listen(&hears, &listener))?;
        let looks = member.clone();
        joining.running.start("register", move || {
            watching::register(&looks, &at_register, register)
        })?;
        let ticks = member.clone();
        joining
            .running
            .start("time", move || watching::time(&ticks))?;
        joining.wait_until_member()?;
        Ok(joining)
    }

    fn wait_until_member(&self) -> Result<(), NodeError> {
        let member = &*self.running.member;
        let until = Instant::now() + member.here.options.patience;
        let mut shell = member.shell.lock();
        shell.tell_membership(membership::Input::Join)?;
        while !shell.membership().is_member() {
            shell.check()?;
            if Instant::now() >= until {
                return Err(NodeError::Unreachable {
                    what: "the register of who takes part",
                    reason: "the node was not taken".into(),
                });
            }
            member.changed.wait_until(&mut shell, until);
        }
        Ok(())
    }

    /// The node's number, in this life.
    pub fn number(&self) -> NodeId {
        self.running.number()
    }

    /// Other nodes connect to it.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The size of the database.
    pub fn pages(&self) -> u64 {
        self.running.member.facts.pages
    }

    /// Nodes that take part, as far as this one knows.
    pub fn members(&self) -> Vec<NodeId> {
        let shell = self.running.member.shell.lock();
        shell.membership().view().members.keys().copied().collect()
    }

    /// The node with the lock authority for a page, as far as this one knows.
    pub fn authority(&self, page: u64) -> Option<NodeId> {
        let shell = self.running.member.shell.lock();
        let part = shell.membership().view().assignment.part(PageId(page));
        part.map(|part| part.authority)
    }

    /// True if it continues. If not it never does: it is to be dropped, and its process may join again.
    ///
    /// # Errors
    /// Why not: [`NodeError::Fenced`], [`NodeError::ShutOut`] or [`NodeError::Stopped`].
    pub fn check(&self) -> Result<(), NodeError> {
        let member = &*self.running.member;
        let until = Instant::now() + member.here.options.patience;
        let mut shell = member.shell.lock();
        while shell.is_in_doubt() && Instant::now() < until {
            member.changed.wait_until(&mut shell, until);
        }
        shell.check()
    }

    /// Runs a transaction. When this returns without an error it has happened, and is on stable storage. A
    /// deadlock's victim is run again; so the closure must not have other effects.
    ///
    /// # Errors
    /// The closure's: the transaction is undone. [`NodeError::Fenced`]: others went on without this node, and it did
    /// not happen. [`NodeError::Unreachable`]: the outcome is unknown, and the node has stopped.
    pub fn run<R, E: From<NodeError>>(
        &self,
        work: impl FnMut(&mut Transaction<'_>) -> Result<R, E>,
    ) -> Result<R, E> {
        running::run(&*self.running.member, work)
    }

    /// Counts since the node joined.
    pub fn statistics(&self) -> NodeStatistics {
        self.running.statistics()
    }

    /// So much time passes that unacknowledged messages may be lost.
    #[cfg(test)]
    pub(super) fn long_look(&self) {
        let _ = self.running.member.shell.lock().tick(true);
    }

    /// True if it continues as far as it knows now.
    #[cfg(test)]
    pub(super) fn check_now(&self) -> Result<(), NodeError> {
        self.running.member.shell.lock().check()
    }

    /// True if a transaction waits for an answer.
    #[cfg(test)]
    pub(super) fn is_asking(&self) -> bool {
        let shell = self.running.member.shell.lock();
        let mut works = shell.local.transactions.values();
        works.any(|work| matches!(work.progress, Progress::Locking { .. }))
    }

    /// Leaves in order: the others go on at once.
    fn leave(&self) {
        let member = &*self.running.member;
        let until = Instant::now() + Duration::from_secs(2);
        let mut shell = member.shell.lock();
        if shell.tell_membership(membership::Input::Leave).is_ok() {
            while shell.check().is_ok() && Instant::now() < until {
                member.changed.wait_until(&mut shell, until);
            }
        }
    }
}

impl Drop for LooseNode {
    fn drop(&mut self) {
        if self.running.is_left_to_parent() {
            return;
        }
        self.leave();
        self.running.member.stop();
        // A call notifies the listening thread.
        let _ = TcpStream::connect(self.address);
        self.running.join();
    }
}

impl Seat for LooseNode {
    fn member(&self) -> Seated<'_> {
        Seated(&*self.running.member)
    }
}

impl LooseHere {
    /// See [`Coupling::journal_rows`](crate::node::coupling::Coupling::journal_rows).
    pub fn journal_rows(
        &self,
        stopping: &Arc<AtomicBool>,
        journal: u16,
        range: Range<JournalPosition>,
    ) -> Result<Box<dyn JournalSource>, NodeError> {
        let (address, trust) = (self.options.page_server, self.trust.clone());
        let server = Remote::new(address, trust, self.options.patience, stopping.clone());
        let rows = RemoteRows::open(server, journal, range)?;
        Ok(Box::new(rows))
    }

    /// See [`Coupling::make_durable`](crate::node::coupling::Coupling::make_durable).
    pub fn make_durable(
        member: &LooseMember,
        frame: ring::Frame,
        ended: &mut bool,
    ) -> Result<(), NodeError> {
        *ended = true;
        let pages = frame.pages.len() as u32;
        // It has happened, or never will.
        member.here.log.append(frame)?;
        if member.here.options.update == UpdateStrategy::Force {
            imposed::sleep(member.facts.imposed.page_write * pages);
        }
        Ok(())
    }

    /// Checks that the node may acknowledge data that it has only read. It is the newest, unless others continued without
    /// this node.
    pub fn check_lease(member: &LooseMember) -> Result<(), NodeError> {
        let until = Instant::now() + member.here.options.lock_patience;
        loop {
            let lease = *member.here.lease.lock();
            if lease.is_none_or(|lease| Instant::now() < lease) {
                return member.shell.lock().check();
            }
            member.shell.lock().check()?;
            if Instant::now() >= until {
                let reason = "this node's lease has run out, and cannot be renewed".into();
                return Err(NodeError::Membership { reason });
            }
            running::check_interruption()?;
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl LooseMember {
    /// All threads end.
    fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        let mut shell = self.shell.lock();
        let reason = "it has left".into();
        shell.stop(&NodeError::Stopped { reason });
        shell.stop_links();
        drop(shell);
        self.changed.notify_all();
        for stream in self.here.incoming.lock().iter() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn listen(member: &Arc<LooseMember>, listener: &TcpListener) {
    let mut threads: Vec<JoinHandle<()>> = Vec::new();
    for stream in listener.incoming() {
        if member.stopping() {
            break;
        }
        threads.retain(|thread| !thread.is_finished());
        let Ok(stream) = stream else { continue };
        if threads.len() >= CONNECTIONS_MAX {
            continue;
        }
        let hears = member.clone();
        let started = thread::Builder::new()
            .name("hearing".into())
            .spawn(move || hear(&hears, stream));
        threads.extend(started);
    }
    for thread in threads {
        let _ = thread.join();
    }
}

/// Hears a node that has connected, until that ends.
fn hear(member: &LooseMember, socket: TcpStream) {
    let own = member.shell.lock().node();
    let accepted = wire::accept(socket, &member.here.trust, |hello| match hello {
        Hello::Node { from, to } if to == own => {
            member.shell.lock().hears(from).map(|()| Welcome::default())
        }
        Hello::Node { to, .. } => Err(format!("this is node {}, and not {}", own.0, to.0)),
        Hello::PageServer => Err("this is a node, and no page server".into()),
    });
    let (stream, from) = match accepted {
        Ok((stream, Hello::Node { from, .. })) => (stream, from),
        Err(NodeError::Transport(error)) => {
            tracing::info!(%error, "a connection to a node was refused");
            return;
        }
        _ => return,
    };
    let Ok(again) = stream.socket().try_clone() else {
        return;
    };
    let place = again.peer_addr().ok();
    member.here.incoming.lock().push(again);
    let mut stream = std::io::BufReader::with_capacity(64 << 10, stream);
    while !member.stopping() {
        let heard = Frame::read(&mut stream).map_err(NodeError::from);
        let heard = heard.and_then(|frame| member.shell.lock().hear(from, frame));
        member.changed.notify_all();
        if let Err(error) = heard {
            tracing::debug!(%error, from = from.0, "a connection from a node has ended");
            break;
        }
    }
    let mut incoming = member.here.incoming.lock();
    incoming.retain(|other| other.peer_addr().ok() != place);
}
