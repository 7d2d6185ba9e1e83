//! The process of a node, or of the page server of loosely coupled nodes. It joins, accepts requests at its socket, and
//! leaves in order on request or on a signal to end. If the others continued without its node, the process joins them
//! again as a new node. If its node has stopped for another reason, the process ends with that error, and its slot is
//! free. A long absence of its page server is an example.

use crate::bank::Bank;
use crate::coupled::{CoupledNode, any_slot_is_locked};
use crate::error::ClusterError;
use crate::load::Prepared;
use crate::page_server;
use crate::places::Places;
use crate::recording::Recorder;
use crate::request::{Line, NodeStatus, Reply, Request};
use crate::setting::Setting;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use sardonyx_base::signals::Ending;
use sardonyx_sharing::node::NodeError;
use sardonyx_sharing::node::loose::Serving;
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// The time that a page server waits for nodes, if all end with the process that started them.
const NODES_WAIT: Duration = Duration::from_secs(10);

/// The time that the stopped process of a node waits until callers have their answers.
const TELL_MAX: Duration = Duration::from_secs(2);

/// The interval of checks for an end of the process without a connection: its directory may be removed.
const LOOK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 50_000_000,
};

/// The time of attempts to join again.
const AGAIN_MAX: Duration = Duration::from_secs(60);

/// The first pause before a node joins again, and the longest: each is twice the one before.
const PAUSES: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(10)];

/// A node that was a member for so long begins with the first pause.
const LONG_THERE: Duration = Duration::from_secs(60);

/// The interval of watching a load.
const WATCH: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 20_000_000,
};

/// Set for a process that is to end with the one that started it.
pub const ATTACHED: &str = "SARDONYX_NODE_ATTACHED";

/// The kind of a process.
#[derive(Debug)]
enum Role {
    Node(CoupledNode),
    /// It answers by itself.
    PageServer {
        _serving: Serving,
    },
}

/// The state that the threads of a node's process share.
#[derive(Debug)]
struct Served {
    /// Taken when it leaves.
    role: RwLock<Option<Role>>,
    setting: Setting,
    places: Places,
    slot: u16,
    recorder: Arc<Recorder>,
    prepared: Mutex<Option<Prepared>>,
    /// A load is under way.
    runs: AtomicBool,
    /// Loads are to end.
    stop: AtomicBool,
    /// The process is to end.
    leaving: AtomicBool,
    /// Shared by each thread from a request to the end of its answer.
    answering: RwLock<()>,
}

/// Runs a node's process in the place of a cluster until [`Request::Leave`] or a signal that ends a program (SIGTERM)
/// asks it to leave. `main` must call it before it starts threads.
///
/// # Errors
/// [`ClusterError::NotThere`], the reason why a node cannot join, or why it stopped later.
pub fn run(directory: &Path, slot: usize) -> Result<(), ClusterError> {
    let ending = Ending::block();
    let places = Places::new(directory);
    let setting = Setting::read(&places)?;
    let recorder = Arc::new(Recorder::new(Bank::new(&setting)));
    let nodes = usize::from(setting.nodes);
    let role = match setting.page_server_slot() {
        Some(server) if slot == server => Role::PageServer {
            _serving: page_server::start(&setting, &places)?,
        },
        _ if slot < nodes => Role::Node(CoupledNode::join(
            &setting,
            &places,
            slot,
            recorder.observer(),
        )?),
        server => {
            return Err(ClusterError::Setting {
                what: "a slot",
                found: slot.to_string(),
                allowed: format!("from 0 to {}", server.unwrap_or(nodes - 1)),
            });
        }
    };
    let served = Arc::new(Served {
        role: RwLock::new(Some(role)),
        setting,
        places,
        slot: slot as u16,
        recorder,
        prepared: Mutex::new(None),
        runs: AtomicBool::new(false),
        stop: AtomicBool::new(false),
        leaving: AtomicBool::new(false),
        answering: RwLock::new(()),
    });
    let listener = served.places.listen(slot)?;
    let told = served.clone();
    spawn(move || {
        ending.wait();
        told.leave();
    })?;
    if std::env::var_os(ATTACHED).is_some() {
        let told = served.clone();
        spawn(move || {
            // The process that started it holds the other end.
            let _ = std::io::stdin().read(&mut [0]);
            told.wait_for_nodes();
            told.leave();
        })?;
    }
    let mut again = Again::default();
    while !served.leaving.load(Ordering::SeqCst) {
        if let Err(error) = served.goes_on() {
            if served.joins_again(&error, &mut again) {
                continue;
            }
            let _ = std::fs::remove_file(served.places.socket(slot));
            served.stop_clients();
            // There is nothing to leave in order: others recover it, and the system closes its files.
            return Err(error.into());
        }
        let mut files = [PollFd::new(&listener, PollFlags::IN)];
        if !poll(&mut files, Some(&LOOK)).is_ok_and(|ready| ready > 0) {
            continue;
        }
        let Ok((stream, _)) = listener.accept() else {
            continue;
        };
        let conversation = served.clone();
        spawn(move || conversation.converse(stream))?;
    }
    let _ = std::fs::remove_file(served.places.socket(slot));
    // Waits for its users: loads have been asked to stop.
    let role = served
        .role
        .write()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    drop(role);
    // Callers get their answers before the process ends.
    drop(served.answering.write());
    Ok(())
}

/// When the node joined, and the pause before it joins again.
#[derive(Debug)]
struct Again {
    joined: Instant,
    pause: Duration,
}

impl Default for Again {
    fn default() -> Self {
        Again {
            joined: Instant::now(),
            pause: PAUSES[0],
        }
    }
}

impl Again {
    /// The pause that is due now.
    fn pause(&mut self) -> Duration {
        if self.joined.elapsed() > LONG_THERE {
            self.pause = PAUSES[0];
        }
        let pause = self.pause;
        self.pause = (2 * pause).min(PAUSES[1]);
        pause
    }
}

fn spawn(body: impl FnOnce() + Send + 'static) -> Result<(), ClusterError> {
    let started = std::thread::Builder::new().spawn(body);
    started.map(drop).map_err(ClusterError::system(
        "start a thread of",
        "the node's process",
    ))
}

impl Served {
    /// True if the node has not stopped.
    fn goes_on(&self) -> Result<(), NodeError> {
        let role = self.role.read().unwrap_or_else(PoisonError::into_inner);
        match &*role {
            Some(Role::Node(node)) => node.check(),
            _ => Ok(()),
        }
    }

    /// Joins again as a new node, if the others have continued without the earlier one. Returns true if it did.
    fn joins_again(&self, why: &NodeError, again: &mut Again) -> bool {
        if !matches!(why, NodeError::ShutOut { .. } | NodeError::Fenced(_)) {
            return false;
        }
        self.stop_clients();
        let role = self
            .role
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let before = match &role {
            Some(Role::Node(node)) => node.name(),
            _ => return false,
        };
        drop(role);
        let began = Instant::now();
        while !self.leaving.load(Ordering::SeqCst) && began.elapsed() < AGAIN_MAX {
            self.pause(again.pause());
            let (slot, observer) = (self.slot.into(), self.recorder.observer());
            match CoupledNode::join(&self.setting, &self.places, slot, observer) {
                Ok(node) => {
                    let now = node.name();
                    eprintln!("node {before}: {why}; it has joined again as node {now}");
                    again.joined = Instant::now();
                    let mut role = self.role.write().unwrap_or_else(PoisonError::into_inner);
                    *role = Some(Role::Node(node));
                    self.stop.store(false, Ordering::SeqCst);
                    return true;
                }
                Err(error) => eprintln!("node {before}: {why}; it cannot join again yet: {error}"),
            }
        }
        false
    }

    /// Sleeps, unless the process is to end.
    fn pause(&self, time: Duration) {
        let until = Instant::now() + time;
        while Instant::now() < until && !self.leaving.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Returns when all callers have their answer, or a little later.
    fn stop_clients(&self) {
        self.stop.store(true, Ordering::SeqCst);
        let began = Instant::now();
        while self.answering.try_write().is_err() && began.elapsed() < TELL_MAX {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Ends the loads and the process.
    fn leave(&self) {
        self.stop.store(true, Ordering::SeqCst);
        self.leaving.store(true, Ordering::SeqCst);
        // Wakes the listening threads.
        drop(self.places.connect(self.slot.into()));
    }

    /// A page server ends after the nodes, which may be about to commit.
    fn wait_for_nodes(&self) {
        if self.setting.page_server_slot() != Some(self.slot.into()) {
            return;
        }
        let began = Instant::now();
        while any_slot_is_locked(&self.setting, &self.places)
            && began.elapsed() < NODES_WAIT
            && !self.leaving.load(Ordering::SeqCst)
        {
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn converse(&self, stream: UnixStream) {
        let Ok(mut line) = Line::new(stream) else {
            return;
        };
        while let Ok(Some(request)) = line.hear::<Request>() {
            let _answering = self.answering.read();
            let reply = self
                .answer(request, &line)
                .unwrap_or_else(|error| Reply::Refused(error.to_string()));
            if line.say(&reply).is_err() {
                return;
            }
        }
    }

    fn answer(&self, request: Request, line: &Line) -> Result<Reply, ClusterError> {
        let role = self.role.read().unwrap_or_else(PoisonError::into_inner);
        let node = match &*role {
            None if !matches!(request, Request::Status | Request::Leave) => {
                return Ok(Reply::Refused("it is leaving, or joining again".into()));
            }
            None => None,
            Some(Role::Node(node)) => Some(node),
            Some(Role::PageServer { .. }) => None,
        };
        match (request, node) {
            (Request::Status, _) => Ok(Reply::Status(NodeStatus {
                slot: self.slot,
                node: node.map_or(0, CoupledNode::name),
                process: std::process::id(),
                living: node.map(CoupledNode::living).unwrap_or_default(),
                runs: self.runs.load(Ordering::SeqCst),
                counts: node.map(CoupledNode::counts).unwrap_or_default(),
            })),
            (Request::Living, _) => Ok(Reply::Living(
                node.map(CoupledNode::living).unwrap_or_default(),
            )),
            (Request::Leave, _) => {
                self.leave();
                Ok(Reply::Done)
            }
            (_, None) => Ok(Reply::Refused("it is the page server, and no node".into())),
            (Request::Prepare(load), Some(node)) => {
                Recorder::check(load.record)?;
                let prepared = Prepared::new(&self.setting, *load, node, self.slot)?;
                *self.prepared.lock().unwrap_or_else(PoisonError::into_inner) = Some(prepared);
                Ok(Reply::Done)
            }
            (Request::Run { at }, Some(node)) => self.run(node, at, line),
            (Request::Checkpoint, Some(node)) => {
                node.checkpoint()?;
                Ok(Reply::Done)
            }
            (Request::Touch { page }, Some(node)) => {
                node.transact(0, |tx| {
                    let bytes = tx.read_to_change(page, 0..8)?;
                    tx.write(page, 0, &bytes)
                })?;
                Ok(Reply::Done)
            }
        }
    }

    fn run(&self, node: &CoupledNode, at: u64, line: &Line) -> Result<Reply, ClusterError> {
        let prepared = self
            .prepared
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let Some(prepared) = prepared else {
            return Ok(Reply::Refused("nothing was prepared".into()));
        };
        if self.runs.swap(true, Ordering::SeqCst) {
            return Ok(Reply::Refused("it runs a load already".into()));
        }
        self.recorder.record(prepared.records());
        let ended = AtomicBool::new(false);
        let ran = std::thread::scope(|scope| {
            scope.spawn(|| self.watch(&prepared, &ended, line));
            let ran = prepared.run(node, at);
            ended.store(true, Ordering::SeqCst);
            ran
        });
        self.recorder.record(false);
        self.runs.store(false, Ordering::SeqCst);
        let ran = ran?;
        if prepared.records() {
            let place = self.places.trace(self.slot.into());
            self.recorder.write(&self.setting, &place)?;
        }
        Ok(Reply::Ran(Box::new(ran)))
    }

    /// Reports the progress of a load until it has ended. Ends the load when this process is to end, or when the
    /// process that requested it has closed the connection.
    fn watch(&self, prepared: &Prepared, ended: &AtomicBool, line: &Line) {
        let mut reported = 0;
        while !ended.load(Ordering::SeqCst) {
            let closed = line.is_closed_within(&WATCH);
            let acknowledged = prepared.acknowledged.load(Ordering::SeqCst);
            let mut heard = !closed;
            if heard && acknowledged > reported {
                heard = line.say(&Reply::Progress(acknowledged)).is_ok();
                reported = acknowledged;
            }
            if !heard || self.stop.load(Ordering::SeqCst) {
                prepared.stop.store(true, Ordering::SeqCst);
                if !heard {
                    return;
                }
            }
        }
    }
}
