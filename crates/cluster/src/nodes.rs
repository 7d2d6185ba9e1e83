//! The nodes of a database as processes: started, asked, drained, killed.

use crate::bank::Bank;
use crate::conversation::Conversation;
use crate::coupled::CoupledNode;
use crate::error::ClusterError;
use crate::places::Places;
use crate::process::ATTACHED;
use crate::recording;
use crate::request::{Line, NodeStatus, Reply, Request};
use crate::setting::{Devices, Setting};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::fs::File;
use std::io::Write;
use std::ops::Range;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The time in which a process must join: the first one recovers the database, and all of the shared memory is
/// allocated.
const START_WAIT: Duration = Duration::from_secs(300);

/// The time in which a process must leave.
const LEAVE_WAIT: Duration = Duration::from_secs(60);

/// The time in which processes that end with this one must end; then they are killed.
const END_WAIT: Duration = Duration::from_secs(20);

/// The time in which a process must report its status. One that is stopped never does.
const STATUS_WAIT: Duration = Duration::from_secs(5);

/// A program that runs [`run`](crate::process::run) when it is called with these arguments, a directory and `--slot N`.
#[derive(Clone, Debug)]
pub struct Program {
    /// The executable.
    pub path: PathBuf,
    /// Its arguments before the directory.
    pub arguments: Vec<String>,
}

impl Program {
    /// This program, called with these arguments.
    ///
    /// # Errors
    /// [`ClusterError::System`].
    pub fn this(arguments: &[&str]) -> Result<Self, ClusterError> {
        let path =
            std::env::current_exe().map_err(ClusterError::system("find", "this program's file"))?;
        let arguments = arguments.iter().map(|&one| one.into()).collect();
        Ok(Program { path, arguments })
    }
}

/// The nodes of a database.
#[derive(Debug)]
pub struct Cluster {
    places: Places,
    setting: Setting,
    /// Processes that end with this one.
    attached: Vec<(usize, Child)>,
}

impl Cluster {
    /// The nodes of a directory, running or not.
    ///
    /// # Errors
    /// As [`Setting::read`].
    pub fn at(directory: impl Into<PathBuf>) -> Result<Self, ClusterError> {
        let places = Places::new(directory);
        let setting = Setting::read(&places)?;
        Ok(Cluster {
            places,
            setting,
            attached: Vec::new(),
        })
    }

    /// Creates a directory for nodes with this setting. An existing one is used if only settings differ that may change
    /// between starts.
    ///
    /// # Errors
    /// [`ClusterError::Setting`]: it has another bank or another number of nodes; [`ClusterError::Up`]; those of
    /// [`Setting::read`], except that there are no nodes.
    pub fn make(directory: impl Into<PathBuf>, setting: &Setting) -> Result<Self, ClusterError> {
        setting.check()?;
        let places = Places::new(directory);
        // A setting that cannot be read is not replaced: nodes may run with it.
        let before = match Setting::read(&places) {
            Ok(before) => Some(before),
            Err(ClusterError::NotThere { .. }) => None,
            Err(error) => return Err(error),
        };
        places.make()?;
        let mut setting = setting.clone();
        if let Some(before) = &before {
            setting.connecting.go_on_from(&before.connecting);
        }
        if let Some(before) = before
            && before != setting
        {
            let bank = |setting: &Setting| {
                let Setting {
                    nodes,
                    coupling,
                    clients_max,
                    history_pages,
                    ..
                } = *setting;
                let numbers = (nodes, clients_max, history_pages);
                let register = setting.connecting.register_name(&places);
                (numbers, coupling, register, setting.scale.clone())
            };
            if bank(&before) != bank(&setting) {
                return Err(ClusterError::Setting {
                    what: "a bank",
                    found: format!(
                        "another size, coupling, register or number of nodes than {} has",
                        places.directory().display()
                    ),
                    allowed: "the same, or another directory".into(),
                });
            }
            let runs = (0..=usize::from(before.nodes)).any(|slot| places.connect(slot).is_some());
            if runs {
                let place = places.directory().to_path_buf();
                return Err(ClusterError::Up { place });
            }
        }
        setting.write(&places)?;
        Ok(Cluster {
            places,
            setting,
            attached: Vec::new(),
        })
    }

    /// Written in the directory of the cluster.
    pub fn setting(&self) -> &Setting {
        &self.setting
    }

    /// Paths of files and sockets.
    pub fn places(&self) -> &Places {
        &self.places
    }

    /// Starts the nodes that do not run. Before them it starts the page server, if they need one and it does not run.
    /// With `attached` they end with this process.
    ///
    /// # Errors
    /// [`ClusterError::Ended`], [`ClusterError::System`]; [`ClusterError::Tls`] and [`ClusterError::Node`], if the
    /// nodes' means of connection are missing.
    pub fn up(&mut self, program: &Program, attached: bool) -> Result<(), ClusterError> {
        self.setting.connecting.look()?;
        if let Some(server) = self.setting.page_server_slot() {
            self.up_slots(server..server + 1, program, attached)?;
        }
        self.up_slots(0..self.setting.nodes.into(), program, attached)
    }

    fn up_slots(
        &mut self,
        slots: Range<usize>,
        program: &Program,
        attached: bool,
    ) -> Result<(), ClusterError> {
        let mut started = Vec::new();
        for slot in slots {
            if self.places.connect(slot).is_none() {
                started.push((slot, self.start(program, slot, attached)?));
            }
        }
        let began = Instant::now();
        for (slot, child) in &mut started {
            loop {
                if let Ok(Some(status)) = child.try_wait() {
                    return Err(self.ended(*slot, format!("ended by itself: {status}")));
                }
                if self.ask(*slot, &Request::Status).is_ok() {
                    break;
                }
                if began.elapsed() > START_WAIT {
                    return Err(self.ended(*slot, "does not answer".into()));
                }
                std::thread::sleep(Duration::from_millis(2));
            }
        }
        if attached {
            self.attached.extend(started);
        }
        Ok(())
    }

    fn start(&self, program: &Program, slot: usize, attached: bool) -> Result<Child, ClusterError> {
        let place = self.places.log(slot);
        let log = File::options().create(true).append(true).open(&place);
        let log = log.map_err(ClusterError::system("write", &place))?;
        let again = log
            .try_clone()
            .map_err(ClusterError::system("write", &place))?;
        let _ = std::fs::remove_file(self.places.socket(slot));
        let mut command = Command::new(&program.path);
        command
            .args(&program.arguments)
            .arg(self.places.directory())
            .args(["--slot", &slot.to_string()])
            .stdout(log)
            .stderr(again)
            .process_group(0);
        match attached {
            true => command.env(ATTACHED, "").stdin(Stdio::piped()),
            false => command.env_remove(ATTACHED).stdin(Stdio::null()),
        };
        command
            .spawn()
            .map_err(ClusterError::system("start", &program.path))
    }

    fn ended(&self, slot: usize, what: String) -> ClusterError {
        ClusterError::ended(slot, what, self.places.log(slot))
    }

    fn ask(&self, slot: usize, request: &Request) -> Result<Reply, ClusterError> {
        self.conversation(slot)?.ask(request)
    }

    pub(crate) fn conversation(&self, slot: usize) -> Result<Conversation, ClusterError> {
        let stream = self
            .places
            .connect(slot)
            .ok_or(ClusterError::NoNode { slot })?;
        let log = self.places.log(slot);
        let line =
            Line::new(stream).map_err(ClusterError::system("talk to", self.places.socket(slot)))?;
        Ok(Conversation { slot, line, log })
    }

    fn status_asked(&self, slot: usize) -> Result<Reply, ClusterError> {
        let mut conversation = self.conversation(slot)?;
        let limited = conversation.line.wait_at_most(STATUS_WAIT);
        limited.map_err(ClusterError::system("talk to", self.places.socket(slot)))?;
        conversation.ask(&Request::Status)
    }

    /// The status of each node; `None`: it does not run, or does not answer because its process is stopped.
    pub fn status(&self) -> Vec<Option<NodeStatus>> {
        let slots = 0..usize::from(self.setting.nodes);
        slots.map(|slot| self.status_of(slot)).collect()
    }

    /// The status of the page server of loosely coupled nodes; `None`: it does not run or answer, or the nodes have
    /// none.
    pub fn page_server(&self) -> Option<NodeStatus> {
        let slot = self.setting.page_server_slot();
        slot.and_then(|slot| self.status_of(slot))
    }

    fn status_of(&self, slot: usize) -> Option<NodeStatus> {
        match self.status_asked(slot) {
            Ok(Reply::Status(status)) => Some(status),
            _ => None,
        }
    }

    /// True if every running node knows that another is dead. A node reports so even while it recovers that one.
    pub(crate) fn all_know_dead(&self, name: usize) -> bool {
        let slots = 0..usize::from(self.setting.nodes);
        let mut answers = slots.filter_map(|slot| self.ask(slot, &Request::Living).ok());
        answers.all(|reply| matches!(reply, Reply::Living(living) if !living.contains(&name)))
    }

    /// The slots of the nodes that run.
    pub fn running(&self) -> Vec<usize> {
        let slots = 0..usize::from(self.setting.nodes);
        slots
            .filter(|&slot| self.places.connect(slot).is_some())
            .collect()
    }

    /// Makes a node, or the page server, leave in order; returns when its process has released everything.
    ///
    /// # Errors
    /// [`ClusterError::NoNode`], [`ClusterError::Ended`].
    pub fn drain(&mut self, slot: usize) -> Result<(), ClusterError> {
        let process = self.process_of(slot)?;
        let handle = self.handle(slot, process)?;
        self.ask(slot, &Request::Leave)?;
        self.reap(slot, &handle)
    }

    /// Kills a node's process (SIGKILL); the others recover its locks and pages. Or the page server's, for which nodes
    /// then wait until it is started again ([`Cluster::up`]).
    ///
    /// # Errors
    /// [`ClusterError::NoNode`].
    pub fn kill(&mut self, slot: usize) -> Result<u32, ClusterError> {
        let process = self.process_of(slot)?;
        let handle = self.handle(slot, process)?;
        pidfd_send_signal(&handle, Signal::KILL).map_err(|error| {
            ClusterError::system("kill", format!("process {process}"))(error.into())
        })?;
        self.reap(slot, &handle)?;
        Ok(process)
    }

    fn process_of(&self, slot: usize) -> Result<u32, ClusterError> {
        match self.status_asked(slot)? {
            Reply::Status(status) => Ok(status.process),
            _ => Err(ClusterError::NoNode { slot }),
        }
    }

    fn handle(&self, slot: usize, process: u32) -> Result<std::os::fd::OwnedFd, ClusterError> {
        let pid = Pid::from_raw(process as i32).ok_or(ClusterError::NoNode { slot })?;
        pidfd_open(pid, PidfdFlags::empty()).map_err(|error| {
            ClusterError::system("find", format!("process {process}"))(error.into())
        })
    }

    /// Waits until a process has ended.
    fn reap(&mut self, slot: usize, handle: &std::os::fd::OwnedFd) -> Result<(), ClusterError> {
        let began = Instant::now();
        loop {
            self.attached.retain_mut(|(other, child)| {
                *other != slot || !matches!(child.try_wait(), Ok(Some(_)))
            });
            // Signal 0 would do, except for processes that are not waited for yet.
            let mut files = [rustix::event::PollFd::new(
                handle,
                rustix::event::PollFlags::IN,
            )];
            let none = rustix::event::Timespec {
                tv_sec: 0,
                tv_nsec: 1_000_000,
            };
            if rustix::event::poll(&mut files, Some(&none)).is_ok_and(|ready| ready > 0) {
                self.attached
                    .retain_mut(|(other, child)| *other != slot || child.wait().is_err());
                return Ok(());
            }
            if began.elapsed() > LEAVE_WAIT {
                return Err(self.ended(slot, "does not end".into()));
            }
        }
    }

    /// Makes all nodes leave, and then the page server, if there is one; returns the number of nodes.
    ///
    /// # Errors
    /// As [`Cluster::drain`].
    pub fn down(&mut self) -> Result<usize, ClusterError> {
        let running = self.running();
        for &slot in &running {
            self.drain(slot)?;
        }
        if let Some(server) = self.page_server() {
            self.drain(server.slot.into())?;
        }
        Ok(running.len())
    }

    /// Makes a node change a page, and so wait until that is possible.
    ///
    /// # Errors
    /// [`ClusterError::NoNode`], [`ClusterError::Refused`].
    pub fn touch(&self, slot: usize, page: u64) -> Result<(), ClusterError> {
        self.ask(slot, &Request::Touch { page }).map(drop)
    }

    /// Merges the nodes' recordings of the last run into one trace; returns its number of transactions.
    ///
    /// # Errors
    /// [`ClusterError::System`], [`ClusterError::Trace`].
    pub fn trace(&self, whole: impl Write, name: &str) -> Result<u64, ClusterError> {
        recording::merge(&self.setting, &self.places, &self.running(), whole, name)
    }

    /// Runs `body` as one more node, in this process. A database of loosely coupled nodes allows 65,535 nodes in all;
    /// each call is one.
    ///
    /// # Errors
    /// As [`CoupledNode::join`], and those of the body.
    pub fn as_node<R>(
        &self,
        work: impl FnOnce(&Bank, &CoupledNode) -> Result<R, ClusterError>,
    ) -> Result<R, ClusterError> {
        let mut setting = self.setting.clone();
        setting.devices = Devices::default();
        // One slot more than there are nodes.
        let node = CoupledNode::join(&setting, &self.places, setting.nodes.into(), None)?;
        work(&Bank::new(&setting), &node)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for (_, child) in &mut self.attached {
            // It leaves when its input ends.
            drop(child.stdin.take());
        }
        let began = Instant::now();
        for (_, child) in &mut self.attached {
            while matches!(child.try_wait(), Ok(None)) {
                if began.elapsed() > END_WAIT {
                    // It is stopped, or hangs.
                    let _ = child.kill();
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }
}
