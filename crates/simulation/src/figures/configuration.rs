//! A point of the GEM paper's study: its differences from the parameters that the study starts from.
//!
//! The figures and the statements of the GEM paper, section 4, concern a few switches: nodes,
//! coupling, update strategy, routing, buffer size, where files are, debit-credit or trace. A
//! [`Configuration`] is one setting of them; [`Configuration::parameters`] lays it over any
//! parameters, so that the study can be repeated on other hardware than the GEM paper's.

use crate::parameters::{
    Coupling, MessageMedium, PageTransfer, Parameters, Routing, Storage, Update, WorkloadKind,
    limits,
};

/// The size of each node's database buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Buffer {
    /// The study's parameters; the GEM paper's have 200 pages.
    Small,
    /// Five times as many; 1000 in the GEM paper.
    Large,
}

/// The large buffer as a multiple of the small one.
const LARGE_BUFFER: u32 = 5;

pub use crate::load::SYNTHETIC_TRACE;

/// Instructions of the transactions of the trace: the GEM paper gives none. Together with the overhead of I/O they
/// make about 360,000 per transaction of 57 accesses. That is the GEM paper's 45% CPU utilisation at 50 TPS.
const TRACE_INSTRUCTIONS: [f64; 3] = [20_000.0, 5_000.0, 25_000.0];

/// Arrivals of the trace's transactions per second and node.
const TRACE_RATE: f64 = 50.0;

/// A point of the GEM paper's study.
///
/// ```
/// use sardonyx_simulation::figures::Configuration;
/// use sardonyx_simulation::parameters::{Coupling, Parameters};
///
/// let point = Configuration::debit_credit(5).loose().force().random().large();
/// let parameters = point.parameters(&Parameters::paper());
/// assert_eq!((parameters.nodes, parameters.coupling), (5, Coupling::Loose));
/// assert_eq!(parameters.node.buffer_pages, 1000);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Configuration {
    /// Debit-credit or the trace.
    pub workload: WorkloadKind,
    /// From 1 to 10 in the paper's figures.
    pub nodes: u32,
    /// GEM locking, or primary copy locking.
    pub coupling: Coupling,
    /// The time when modified pages are written.
    pub update: Update,
    /// To which node a transaction goes.
    pub routing: Routing,
    /// Size of each node's buffer.
    pub buffer: Buffer,
    /// The storage of BRANCH and TELLER.
    pub branch_teller: Storage,
    /// The storage of ACCOUNT and HISTORY.
    pub other_files: Storage,
    /// The way of a page from its owner to another node; of the base's parameters unless in GEM.
    pub page_transfer: PageTransfer,
    /// The medium of messages; of the base's parameters unless GEM.
    pub medium: MessageMedium,
    /// For the trace with primary copy locking: true if read locks may be granted without authority.
    pub read_optimisation: bool,
}

impl Configuration {
    /// Debit-credit: closely coupled, NOFORCE, affinity routing, small buffer, all files on disks.
    pub const fn debit_credit(nodes: u32) -> Self {
        Configuration {
            workload: WorkloadKind::DebitCredit,
            nodes,
            coupling: Coupling::Close,
            update: Update::Noforce,
            routing: Routing::Affinity,
            buffer: Buffer::Small,
            branch_teller: Storage::Disk,
            other_files: Storage::Disk,
            page_transfer: PageTransfer::Message,
            medium: MessageMedium::Network,
            read_optimisation: true,
        }
    }

    /// The trace: the same, but with the large buffer.
    pub const fn trace(nodes: u32) -> Self {
        Configuration {
            workload: WorkloadKind::Trace,
            buffer: Buffer::Large,
            ..Configuration::debit_credit(nodes)
        }
    }

    /// The same with primary copy locking.
    pub const fn loose(self) -> Self {
        self.coupled(Coupling::Loose)
    }

    /// The same with `coupling`.
    pub const fn coupled(self, coupling: Coupling) -> Self {
        Configuration { coupling, ..self }
    }

    /// The same with FORCE.
    pub const fn force(self) -> Self {
        self.updating(Update::Force)
    }

    /// The same with `update`.
    pub const fn updating(self, update: Update) -> Self {
        Configuration { update, ..self }
    }

    /// The same with random routing.
    pub const fn random(self) -> Self {
        self.routed(Routing::Random)
    }

    /// The same with `routing`.
    pub const fn routed(self, routing: Routing) -> Self {
        Configuration { routing, ..self }
    }

    /// The same with the large buffer.
    pub const fn large(self) -> Self {
        self.buffered(Buffer::Large)
    }

    /// The same with `buffer`.
    pub const fn buffered(self, buffer: Buffer) -> Self {
        Configuration { buffer, ..self }
    }

    /// The same with BRANCH and TELLER on `storage`.
    pub const fn branch_teller_on(self, storage: Storage) -> Self {
        Configuration {
            branch_teller: storage,
            ..self
        }
    }

    /// The same with ACCOUNT and HISTORY on `storage`.
    pub const fn other_files_on(self, storage: Storage) -> Self {
        Configuration {
            other_files: storage,
            ..self
        }
    }

    /// The same with pages that go from node to node across GEM.
    pub const fn across_gem(self) -> Self {
        Configuration {
            page_transfer: PageTransfer::Gem,
            ..self
        }
    }

    /// The same with all messages through GEM.
    pub const fn messages_through_gem(self) -> Self {
        Configuration {
            medium: MessageMedium::Gem,
            ..self
        }
    }

    /// The same with read locks granted by the authority only.
    pub const fn without_read_optimisation(self) -> Self {
        Configuration {
            read_optimisation: false,
            ..self
        }
    }

    /// This point on the hardware of `base`.
    ///
    /// With one node there is nothing to route: both routings give the same parameters. The trace
    /// is that of `base` with its rate and path lengths, or the synthetic one with the GEM paper's
    /// if
    /// `base` has none.
    pub fn parameters(&self, base: &Parameters) -> Parameters {
        let mut parameters = base.clone();
        parameters.nodes = self.nodes;
        parameters.coupling = self.coupling;
        parameters.update = self.update;
        parameters.routing = match self.nodes {
            1 => Routing::Affinity,
            _ => self.routing,
        };
        parameters.node.buffer_pages = self.buffer.pages(base);
        if self.page_transfer == PageTransfer::Gem {
            parameters.locking.page_transfer = PageTransfer::Gem;
        }
        if self.medium == MessageMedium::Gem {
            parameters.messages.medium = MessageMedium::Gem;
        }
        match self.workload {
            WorkloadKind::DebitCredit => self.allocate_files(&mut parameters),
            WorkloadKind::Trace => self.take_trace(&mut parameters),
        }
        parameters
    }

    fn allocate_files(&self, parameters: &mut Parameters) {
        parameters.workload.kind = WorkloadKind::DebitCredit;
        let branch_teller: &[&str] = match parameters.workload.clustered {
            true => &["branch_teller"],
            false => &["branch", "teller"],
        };
        let rest = ["account", "history"].map(|name| (name, self.other_files));
        let hot = branch_teller.iter().map(|name| (*name, self.branch_teller));
        for (name, storage) in hot.chain(rest) {
            if parameters.partition(name).storage != storage {
                let entry = parameters.partition.entry(name.to_string());
                entry.or_default().storage = Some(storage);
            }
        }
    }

    fn take_trace(&self, parameters: &mut Parameters) {
        parameters.locking.read_optimisation = self.read_optimisation;
        if parameters.workload.kind == WorkloadKind::Trace {
            return;
        }
        parameters.workload.kind = WorkloadKind::Trace;
        parameters.workload.trace = SYNTHETIC_TRACE.to_string();
        parameters.arrival.rate_per_node = TRACE_RATE;
        let node = &mut parameters.node;
        [
            node.begin_instructions,
            node.access_instructions,
            node.end_instructions,
        ] = TRACE_INSTRUCTIONS;
    }
}

impl Buffer {
    /// Its size in pages, in a study of `base`.
    pub fn pages(self, base: &Parameters) -> u32 {
        let small = base.node.buffer_pages;
        let most = limits::of("node.buffer_pages").map_or(u32::MAX, |limit| limit.most as u32);
        match self {
            Buffer::Small => small,
            Buffer::Large => small.saturating_mul(LARGE_BUFFER).min(most.max(small)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plain_point_changes_nothing_in_the_papers_parameters() {
        let paper = Parameters::paper();
        assert_eq!(Configuration::debit_credit(1).parameters(&paper), paper);
        let one_node_random = Configuration::debit_credit(1).random();
        assert_eq!(one_node_random.parameters(&paper), paper);
    }

    #[test]
    fn a_point_changes_exactly_what_it_names() {
        let paper = Parameters::paper();
        let point = Configuration::debit_credit(4)
            .random()
            .branch_teller_on(Storage::Gem);
        let got = point.parameters(&paper);
        assert_eq!(got.partition("branch_teller").storage, Storage::Gem);
        assert_eq!(got.partition("account").storage, Storage::Disk);
        let mut wanted = Parameters {
            nodes: 4,
            routing: Routing::Random,
            ..paper.clone()
        };
        wanted.partition.insert(
            "branch_teller".into(),
            got.partition["branch_teller"].clone(),
        );
        assert_eq!(got, wanted);
    }

    #[test]
    fn without_clustering_both_files_move() {
        let mut base = Parameters::paper();
        base.workload.clustered = false;
        let point = Configuration::debit_credit(1).branch_teller_on(Storage::Gem);
        let got = point.parameters(&base);
        let storage = |name| got.partition(name).storage;
        assert_eq!(
            (storage("branch"), storage("teller")),
            (Storage::Gem, Storage::Gem)
        );
    }

    #[test]
    fn the_trace_of_the_user_is_kept() {
        let paper = Parameters::paper();
        let synthetic = Configuration::trace(8).loose().without_read_optimisation();
        let got = synthetic.parameters(&paper);
        assert_eq!(got.workload.trace, SYNTHETIC_TRACE);
        assert_eq!(
            (got.arrival.rate_per_node, got.node.buffer_pages),
            (50.0, 1000)
        );
        assert!(!got.locking.read_optimisation);

        let mut own = paper;
        own.workload.kind = WorkloadKind::Trace;
        own.workload.trace = "mine.trace".into();
        let got = Configuration::trace(2).parameters(&own);
        assert_eq!(
            (got.workload.trace.as_str(), got.arrival.rate_per_node),
            ("mine.trace", 100.0)
        );
        assert_eq!(got.node.access_instructions, own.node.access_instructions);
    }
}
