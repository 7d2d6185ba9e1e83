//! The simulated system: nodes, devices, the global lock table in GEM, and their costs.

use super::buffer::Buffer;
use super::devices::{Disks, DisksPlan, Gem};
use super::gem_cache::GemCache;
use super::machine::Machine;
use super::pages::PageMap;
use super::tally::Tally;
use super::waiting::Waiting;
use crate::kernel::Kernel;
use crate::load::Load;
use crate::parameters::{Log, MessageMedium, Parameters, Storage};
use crate::server::Server;
use crate::signal::Signal;
use crate::time::{Span, Time};
use sardonyx_sharing::protocol::{
    Input, MemoryEntries, Message, NodeId, Output, Psn, TransactionId,
};
use sardonyx_workload::debit_credit_pages::HistoryEnd;
use sardonyx_workload::random::Random;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

/// Everything that a run consists of, shared by its processes.
pub struct System {
    /// Virtual time.
    pub kernel: Kernel,
    /// The simulated system.
    pub parameters: Parameters,
    /// The work of transactions.
    pub load: Arc<Load>,
    pub nodes: Vec<Node>,
    /// Global Extended Memory.
    pub gem: Gem,
    /// The entries of the global lock table that is in it.
    pub entries: RefCell<MemoryEntries>,
    /// The database's files.
    pub partitions: Vec<Partition>,
    /// The results of lock requests at another node that has the authority.
    pub elsewhere: RefCell<PageMap<Elsewhere>>,
    /// Empty queues for the next feeder of a protocol machine.
    pub work: RefCell<Vec<Work>>,
    /// The measurements beside the servers' own statistics.
    pub tally: RefCell<Tally>,
}

/// The inputs for a protocol machine, and its requests.
#[derive(Default)]
pub struct Work {
    /// The inputs, in order.
    pub inputs: VecDeque<Input>,
    /// Asked for and not yet done.
    pub outputs: Vec<Output>,
}

/// A lock request at another node.
#[derive(Clone, Copy)]
pub enum Elsewhere {
    /// It came there at that time and is not granted yet.
    Since(Time),
    /// It was granted, after waiting there for so long.
    Blocked(Span),
}

/// A processing node (GEM paper, section 3.2).
pub struct Node {
    pub id: NodeId,
    /// Its processors.
    pub cpu: Server,
    /// Its processing slots: the multiprogramming level.
    pub slots: Server,
    /// Its database buffer.
    pub buffer: RefCell<Buffer>,
    /// Pages that are being read from storage, and the other waiters for them.
    pub fetching: RefCell<PageMap<Vec<Signal<()>>>>,
    /// The waiting ones, by page, until a modified page that was replaced is written.
    pub leaving: RefCell<PageMap<Signal<()>>>,
    /// Its side of the protocol.
    pub machine: RefCell<Machine>,
    /// Its transactions that have asked for a lock.
    pub waiting: RefCell<Waiting>,
    /// The place of its log.
    pub log: Medium,
    /// Pages written to the log.
    pub log_pages: Cell<u64>,
    next_transaction: Cell<u64>,
    history: RefCell<HistoryEnd>,
    /// The ends of HISTORY without a transaction, if HISTORY is locked.
    own_ends: RefCell<VecDeque<HistoryEnd>>,
}

/// A file of the database.
pub struct Partition {
    pub name: String,
    /// True if its pages are locked.
    pub locks: bool,
    /// Its place.
    pub medium: Medium,
}

/// The allocation of a file.
#[derive(Clone)]
pub enum Medium {
    /// Global Extended Memory, accessed while the processor is kept busy.
    Gem,
    /// Disks, perhaps with a cache.
    Disks(Rc<Disks>),
    /// Disks behind a page cache in GEM.
    GemCache(Rc<GemCache>),
}

impl Medium {
    pub fn disks(&self) -> Option<&Disks> {
        match self {
            Medium::Gem => None,
            Medium::Disks(disks) => Some(disks),
            Medium::GemCache(cache) => Some(&cache.disks),
        }
    }

    /// Starts measuring.
    pub fn reset(&self) {
        match self {
            Medium::Gem => {}
            Medium::Disks(disks) => disks.reset(),
            Medium::GemCache(cache) => cache.reset(),
        }
    }
}

/// Streams of random numbers, one for each use. Changing one part of a system leaves the other parts' numbers
/// alone: curves of a figure differ by the compared parameter. The draws for a transaction come from a stream of
/// its own. So the transaction that arrives as the n-th has the same path lengths and disk times in every
/// configuration, beside any others (common random numbers).
pub struct Streams {
    seed: u64,
}

/// The use of a stream of random numbers.
#[derive(Clone, Copy)]
pub enum Stream {
    /// Arrival times.
    Arrivals,
    /// The references of transactions.
    Load,
    /// The node of a transaction.
    Routing,
    /// GEM's access times.
    Gem,
    /// A seed for each transaction, for its path lengths and the disk accesses that it waits for.
    Transactions,
    /// Access times of a node's log disks.
    Log(u32),
    /// Access times of a partition's disks.
    Partition(u32),
}

impl Streams {
    pub fn new(seed: u64, replication: u32) -> Self {
        let mut random = Random::new(seed ^ u64::from(replication).rotate_right(24));
        Streams {
            seed: random.next_u64(),
        }
    }

    /// Streams for a type of transactions that arrives by itself.
    pub fn of_type(&self, number: u64) -> Streams {
        let mut random = Random::new(self.seed ^ (number + 1) << 48);
        Streams {
            seed: random.next_u64(),
        }
    }

    pub fn of(&self, stream: Stream) -> Random {
        let (kind, number) = match stream {
            Stream::Arrivals => (1, 0),
            Stream::Load => (2, 0),
            Stream::Routing => (3, 0),
            Stream::Gem => (4, 0),
            Stream::Transactions => (5, 0),
            Stream::Log(node) => (6, node),
            Stream::Partition(partition) => (7, partition),
        };
        Random::new(self.seed ^ (u64::from(number) << 8 | kind))
    }
}

impl System {
    /// The system of `parameters`, at time zero, with nothing running.
    pub fn new(parameters: &Parameters, load: &Arc<Load>, streams: &Streams) -> Rc<Self> {
        let kernel = Kernel::new();
        let names = load.partitions();
        let partitions = names.iter().enumerate().map(|(number, name)| {
            let random = streams.of(Stream::Partition(number as u32));
            partition(&kernel, parameters, name, random)
        });
        let partitions = partitions.collect();
        let nodes = (0..parameters.nodes).map(|number| {
            let log = streams.of(Stream::Log(number));
            Node::new(&kernel, parameters, load, NodeId(number as u16), log)
        });
        let nodes = nodes.collect();
        let gem = Gem::new(&kernel, &parameters.gem, streams.of(Stream::Gem));
        let tally = Tally::new(load.partitions().len());
        Rc::new(System {
            kernel,
            parameters: parameters.clone(),
            load: Arc::clone(load),
            nodes,
            gem,
            entries: RefCell::default(),
            elsewhere: RefCell::default(),
            work: RefCell::default(),
            partitions,
            tally: RefCell::new(tally),
        })
    }

    /// The time a processor takes for so many instructions.
    pub fn instructions(&self, count: f64) -> Span {
        Span::from_microseconds(count / self.parameters.node.mips)
    }

    /// The costs of `message`: instructions at each end, and bytes on the network. Each page beyond the first adds its
    /// bytes and the difference in cost between a long message and a short one. Through GEM it costs the accesses in
    /// addition, and no byte on the network.
    pub fn message_cost(&self, message: &Message) -> (f64, u64) {
        let messages = &self.parameters.messages;
        if messages.medium == MessageMedium::Gem {
            return (messages.gem_instructions, 0);
        }
        match message.carried_pages().len() as u64 {
            0 => (messages.short_instructions, u64::from(messages.short_bytes)),
            pages => {
                let more = messages.long_instructions - messages.short_instructions;
                let instructions = messages.long_instructions + (pages - 1) as f64 * more.max(0.0);
                (instructions, pages * u64::from(messages.long_bytes))
            }
        }
    }

    /// The time of so many bytes on the network.
    pub fn network_delay(&self, bytes: u64) -> Span {
        let messages = &self.parameters.messages;
        // 10^6 bytes a second are bytes a microsecond.
        let transmission = bytes as f64 / messages.megabytes_per_second;
        Span::from_microseconds(messages.latency_microseconds + transmission)
    }
}

impl Node {
    fn new(
        kernel: &Kernel,
        parameters: &Parameters,
        load: &Arc<Load>,
        id: NodeId,
        log: Random,
    ) -> Self {
        Node {
            id,
            cpu: Server::new(kernel, parameters.node.processors),
            slots: Server::new(kernel, parameters.node.multiprogramming_level),
            buffer: RefCell::new(
                Buffer::new(parameters.node.buffer_pages)
                    .writing_back(parameters.node.write_back_pages),
            ),
            fetching: RefCell::default(),
            leaving: RefCell::default(),
            machine: RefCell::new(Machine::new(parameters, load, id)),
            waiting: RefCell::default(),
            log: log_medium(kernel, parameters, log),
            log_pages: Cell::new(0),
            next_transaction: Cell::new(0),
            history: RefCell::new(load.history_end(id.0)),
            own_ends: RefCell::new(load.history_ends(id.0, parameters).collect()),
        }
    }

    /// A number for a transaction that begins here.
    pub fn begin(&self) -> TransactionId {
        let number = self.next_transaction.get();
        self.next_transaction.set(number + 1);
        TransactionId::new(self.id, number)
    }

    /// Appends a record to HISTORY: its page, and whether the record is the first one in it.
    pub fn append(&self) -> (u64, bool) {
        let (page, begins) = self.history.borrow_mut().append();
        (page.to_u64(), begins)
    }

    /// An end of HISTORY for a transaction alone: where the file is locked, and not latched, no two append to one
    /// page. There are as many as processing slots, used in turn.
    pub fn take_end(&self) -> Option<HistoryEnd> {
        self.own_ends.borrow_mut().pop_front()
    }

    /// A transaction with an end of its own has ended.
    pub fn give_end(&self, end: HistoryEnd) {
        self.own_ends.borrow_mut().push_back(end);
    }

    /// The version of the node's copy of `page`, if it has one that is complete.
    pub fn version(&self, page: u64) -> Option<Psn> {
        let version = self.buffer.borrow().version(page)?;
        (!self.fetching.borrow().contains_key(&page)).then_some(version)
    }

    /// Starts measuring.
    pub fn reset(&self) {
        self.cpu.reset();
        self.slots.reset();
        self.log_pages.set(0);
        self.log.reset();
    }
}

fn partition(kernel: &Kernel, parameters: &Parameters, name: &str, random: Random) -> Partition {
    let plan = parameters.partition(name);
    let medium = match plan.storage {
        Storage::Gem => Medium::Gem,
        storage => {
            let plan = DisksPlan {
                storage,
                disks: plan.disks_per_node * parameters.nodes,
                controllers: plan.controllers_per_node * parameters.nodes,
                cache_pages: plan.cache_pages_per_node as usize * parameters.nodes as usize,
                access_milliseconds: parameters.disk.access_milliseconds,
            };
            on_disks(kernel, parameters, &plan, random)
        }
    };
    Partition {
        name: name.to_string(),
        locks: plan.locks,
        medium,
    }
}

fn log_medium(kernel: &Kernel, parameters: &Parameters, random: Random) -> Medium {
    let Log {
        storage,
        access_milliseconds,
        disks_per_node,
        ..
    } = parameters.log;
    if storage == Storage::Gem {
        return Medium::Gem;
    }
    let plan = DisksPlan {
        storage,
        disks: disks_per_node,
        controllers: parameters.log.controllers_per_node,
        cache_pages: parameters.log.cache_pages_per_node as usize,
        access_milliseconds,
    };
    on_disks(kernel, parameters, &plan, random)
}

fn on_disks(kernel: &Kernel, parameters: &Parameters, plan: &DisksPlan, random: Random) -> Medium {
    let disks = Disks::new(kernel, plan, &parameters.disk, random);
    match plan.storage {
        Storage::GemCache => Medium::GemCache(GemCache::new(plan.cache_pages, disks)),
        _ => Medium::Disks(disks),
    }
}
