//! A loosely coupled node that runs: its shell and the threads that use it.
//!
//! One hears those who connect, and one for each of them what it sends; two ask the page server for pages; one looks into
//! the register; one watches the time. The thread that commits first writes for all that wait ([`super::commit`]).

use super::commit::CommitLog;
use super::frame::Frame;
use super::remote::Remote;
use super::rows::RemoteRows;
use super::serve::CONNECTIONS_MAX;
use super::shell::{RegisterJob, Shell};
use super::store::Register;
use super::wire::{self, Hello, Trust, Welcome};
use super::{jobs, watching};
use crate::node::imposed::{self, ImposedTimes};
use crate::node::local::Local;
use crate::node::observer::Observer;
use crate::node::running::{self, AtLocal, Runs};
use crate::node::tables::{JournalSource, Known, POOLS, Seat, Seated};
use crate::node::transaction::Transaction;
#[cfg(test)]
use crate::node::work::Progress;
use crate::node::{NodeError, NodeStatistics};
use crate::protocol::{
    Division, LockMode, NodeId, Outcome, PageId, PrimaryCopyOptions, Protocol, TransactionId,
    UpdateStrategy, membership,
};
use sardonyx_base::process::Process;
use sardonyx_base::sync::futex::{Condvar, Mutex};
use sardonyx_base::sync::thread::{self, JoinHandle};
use sardonyx_base::token::Token;
use sardonyx_base::transport::{Plain, Transport};
use sardonyx_storage::journal::JournalPosition;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

/// Threads that ask the page server.
const ASKING: usize = 2;

/// The options of a loosely coupled node.
#[derive(Clone, Debug)]
pub struct LooseOptions {
    /// The address of the page server.
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
    /// For so long another node may leave unanswered what this one awaits of it; then the register is asked to decide
    /// which of the two goes on. It is to be longer than a node whose process is stopped counts as there.
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

/// The state that the threads of a node share.
#[derive(Debug)]
pub struct Member {
    pub options: LooseOptions,
    pub shell: Mutex<Shell>,
    /// A transaction may have what it waited for.
    pub changed: Condvar,
    pub log: CommitLog,
    /// The tables that it has read of.
    known: Known,
    /// The page server's database.
    database: u64,
    pub pages: u64,
    transaction_bytes_max: usize,
    pub stopping: Arc<AtomicBool>,
    /// The time until which no other node takes this one for failed, if that is known.
    pub lease: Mutex<Option<Instant>>,
    pub register: Sender<RegisterJob>,
    incoming: Mutex<Vec<TcpStream>>,
    trust: Trust,
    process: Process,
    committed: AtomicU64,
    rerun: AtomicU64,
}

/// A loosely coupled node. Dropped, it leaves: what it has committed is there, what runs on it is undone, and the
/// others take what it had the authority for.
#[derive(Debug)]
pub struct LooseNode {
    member: Arc<Member>,
    address: SocketAddr,
    threads: Vec<JoinHandle<()>>,
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
        let shell = Shell::new(
            local,
            protocol,
            (options.division.clone(), options.place),
            trust.clone(),
            jobs,
            register_jobs.clone(),
        )
        .unreachable_after(watching::long_looks(options.unreachable_wait));
        let asking: Vec<Remote> = (0..ASKING).map(|_| server()).collect();
        let member = Arc::new(Member {
            log: CommitLog::new(node, transaction_bytes_max, commits)
                .imposing(options.imposed.log_write),
            shell: Mutex::new(shell),
            changed: Condvar::new(),
            known: Known::default(),
            database: welcome.database,
            pages: welcome.pages,
            transaction_bytes_max,
            stopping,
            lease: Mutex::new(register.stay()?),
            register: register_jobs,
            incoming: Mutex::new(Vec::new()),
            trust: trust.clone(),
            process: Process::current(),
            committed: AtomicU64::new(0),
            rerun: AtomicU64::new(0),
            options,
        });
        let mut joining = LooseNode {
            member: member.clone(),
            address,
            threads: Vec::new(),
        };
        let asked = Arc::new(Mutex::new(asked));
        for server in asking {
            let (member, asked) = (member.clone(), asked.clone());
            joining.thread("asking", move || jobs::run(&member, &asked, server))?;
        }
        let hears = member.clone();
        joining.thread("listening", move || listen(&hears, &listener))?;
        let looks = member.clone();
        joining.thread("register", move || {
            watching::register(&looks, &at_register, register)
        })?;
        let ticks = member.clone();
        joining.thread("time", move || watching::time(&ticks))?;
        joining.wait_until_member()?;
        Ok(joining)
    }

    fn thread(
        &mut self,
        name: &str,
        body: impl FnOnce() + Send + 'static,
    ) -> Result<(), NodeError> {
        let started = thread::Builder::new().name(name.into()).spawn(body);
        self.threads
            .push(started.map_err(NodeError::system("start a thread"))?);
        Ok(())
    }

    fn wait_until_member(&self) -> Result<(), NodeError> {
        let member = &*self.member;
        let until = Instant::now() + member.options.patience;
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
        self.member.shell.lock().node()
    }

    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Pages that there are.
    pub fn pages(&self) -> u64 {
        self.member.pages
    }

    /// Nodes that take part, as far as this one knows.
    pub fn members(&self) -> Vec<NodeId> {
        let shell = self.member.shell.lock();
        shell.membership().view().members.keys().copied().collect()
    }

    /// The node with the lock authority for a page, as far as this one knows.
    pub fn authority(&self, page: u64) -> Option<NodeId> {
        let shell = self.member.shell.lock();
        let part = shell.membership().view().assignment.part(PageId(page));
        part.map(|part| part.authority)
    }

    /// True if it continues. If not it never does: it is to be dropped, and its process may join again.
    ///
    /// # Errors
    /// Why not: [`NodeError::Fenced`], [`NodeError::ShutOut`] or [`NodeError::Stopped`].
    pub fn check(&self) -> Result<(), NodeError> {
        let member = &*self.member;
        let until = Instant::now() + member.options.patience;
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
        running::run(&*self.member, work)
    }

    /// Its statistics.
    pub fn statistics(&self) -> NodeStatistics {
        let shell = self.member.shell.lock();
        NodeStatistics {
            committed: self.member.committed.load(Ordering::Relaxed),
            rerun: self.member.rerun.load(Ordering::Relaxed),
            hits: shell.local.buffer.hits,
            misses: shell.local.buffer.misses,
            protocol: *shell.machine().counters(),
        }
    }

    /// Time passes: so much that what was not acknowledged may be lost.
    #[cfg(test)]
    pub(super) fn long_look(&self) {
        let _ = self.member.shell.lock().tick(true);
    }

    /// True if it continues as far as it knows now.
    #[cfg(test)]
    pub(super) fn check_now(&self) -> Result<(), NodeError> {
        self.member.shell.lock().check()
    }

    /// True if a transaction waits for an answer.
    #[cfg(test)]
    pub(super) fn is_asking(&self) -> bool {
        let shell = self.member.shell.lock();
        let mut works = shell.local.transactions.values();
        works.any(|work| matches!(work.progress, Progress::Locking { .. }))
    }

    /// Leaves in order: the others go on at once.
    fn leave(&self) {
        let member = &*self.member;
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
        if !self.member.process.is_current() {
            self.threads.drain(..).for_each(std::mem::forget);
            std::mem::forget(self.member.clone());
            return;
        }
        self.leave();
        self.member.stop();
        // A call notifies the listening thread.
        let _ = TcpStream::connect(self.address);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Runs for Member {
    fn begin(&self) -> Result<TransactionId, NodeError> {
        self.process.check()?;
        let mut shell = self.shell.lock();
        shell.check()?;
        Ok(shell.local.begin())
    }

    fn commit(&self, number: TransactionId, ended: &mut bool) -> Result<(), NodeError> {
        let frame = self.shell.lock().local.frame(number);
        let Some(frame) = frame else {
            // The data that it has read is durable, since others keep their locks until then. It is the newest, unless
            // others continued without this node. Its locks are to be given back.
            return self.check_lease();
        };
        *ended = true;
        let pages = frame.pages.len() as u32;
        if let Err(error) = self.log.append(frame) {
            // It has happened, or never will: no transaction may continue from it here.
            self.shell.lock().stop(&error);
            self.changed.notify_all();
            return Err(error);
        }
        if self.options.update == UpdateStrategy::Force {
            imposed::sleep(self.options.imposed.page_write * pages);
        }
        self.shell.lock().end(number, Outcome::Committed)?;
        self.changed.notify_all();
        self.committed.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn undo(&self, number: TransactionId) {
        // If the node has stopped its locks are recovered by others.
        let _ = self.shell.lock().end(number, Outcome::Aborted);
        self.changed.notify_all();
    }

    fn runs_again(&self) {
        self.rerun.fetch_add(1, Ordering::Relaxed);
    }

    fn with_page(
        &self,
        transaction: TransactionId,
        page: PageId,
        mode: LockMode,
        then: AtLocal<'_>,
    ) -> Result<(), NodeError> {
        then(&mut self.lock_page(transaction, page, mode)?.local)
    }

    fn with_local(&self, then: AtLocal<'_>) -> Result<(), NodeError> {
        let mut shell = self.shell.lock();
        shell.check()?;
        then(&mut shell.local)
    }

    /// The number of members of the view with a lower number. So each member of the view has a pool of its own, and
    /// those of former nodes are others'. Two who know different views may have the same for a while; then they wait
    /// for each other's lock on its page, and nothing worse.
    fn slot(&self) -> usize {
        let shell = self.shell.lock();
        let members = &shell.membership().view().members;
        members.range(..shell.node()).count() % POOLS
    }

    fn pages(&self) -> u64 {
        self.pages
    }

    fn database(&self) -> u64 {
        self.database
    }

    fn transaction_bytes_max(&self) -> usize {
        self.transaction_bytes_max
    }

    fn known(&self) -> &Known {
        &self.known
    }

    fn observer(&self) -> Option<&dyn Observer> {
        self.options.observer.as_deref()
    }

    fn journal_rows(
        &self,
        journal: u16,
        range: Range<JournalPosition>,
    ) -> Result<Box<dyn JournalSource>, NodeError> {
        self.process.check()?;
        self.shell.lock().check()?;
        let rows = RemoteRows::open(self.page_server(), journal, range)?;
        Ok(Box::new(rows))
    }
}

impl Seat for LooseNode {
    fn member(&self) -> Seated<'_> {
        Seated(&*self.member)
    }
}

impl Member {
    /// A way to the page server that is not connected yet.
    fn page_server(&self) -> Remote {
        let (address, trust) = (self.options.page_server, self.trust.clone());
        Remote::new(address, trust, self.options.patience, self.stopping.clone())
    }

    /// Checks that the node may acknowledge data that it has only read.
    fn check_lease(&self) -> Result<(), NodeError> {
        let until = Instant::now() + self.options.lock_patience;
        loop {
            let lease = *self.lease.lock();
            if lease.is_none_or(|lease| Instant::now() < lease) {
                return self.shell.lock().check();
            }
            self.shell.lock().check()?;
            if Instant::now() >= until {
                let reason = "this node's lease has run out, and cannot be renewed".into();
                return Err(NodeError::Membership { reason });
            }
            running::check_interruption()?;
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub fn stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    /// All threads end.
    fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        let mut shell = self.shell.lock();
        let reason = "it has left".into();
        shell.stop(&NodeError::Stopped { reason });
        shell.stop_links();
        drop(shell);
        self.changed.notify_all();
        for stream in self.incoming.lock().iter() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn listen(member: &Arc<Member>, listener: &TcpListener) {
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
fn hear(member: &Member, socket: TcpStream) {
    let own = member.shell.lock().node();
    let accepted = wire::accept(socket, &member.trust, |hello| match hello {
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
    member.incoming.lock().push(again);
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
    let mut incoming = member.incoming.lock();
    incoming.retain(|other| other.peer_addr().ok() != place);
}
