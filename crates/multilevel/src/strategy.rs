//! The strategies: when locks on pages are given back, and when what was done reaches the log.
//!
//! ```text
//!                          page locks until    in the log            forced
//!   SingleLevel (S1)       EOT                 a unit at EOT         at EOT
//!   ForcedSubtransactions  EOS                 a unit at each EOS    at each EOS, and at EOT
//!   (S2)
//!   PersistenceSpheres     EOS                 a unit for the        at EOT
//!   (S2/PS)                                    spheres at EOT
//!   OrderedLog             EOS                 a unit at each EOS    the log up to here, at EOT
//! ```
//!
//! EOS is the end of a subtransaction, EOT that of a transaction. A *unit* is what the log keeps whole
//! or not at all: redo records, undo entries and the ends of transactions together.
//!
//! Source: paper 003, section 3.1 (Figure 5), and section 4: the prefix flush of one ordered log is
//! the paper's "emulation of ARIES".

/// How transactions lock pages and write the log. It is chosen at each opening; the format on disk is
/// the same for all.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Strategy {
    /// S1: page-oriented single-level transactions, strict two-phase locking on pages. Locks on
    /// objects are not taken, nor are inverses kept: a transaction is undone by its before-images.
    SingleLevel,
    /// S2: two-level transactions, the log forced at the end of every subtransaction that changed
    /// something.
    ForcedSubtransactions,
    /// S2/PS: two-level transactions, writing deferred to the end of the transaction by means of
    /// persistence spheres.
    PersistenceSpheres {
        /// A sphere that grows beyond so many pages is written at once, without anybody waiting for
        /// it. So are all spheres when they are a quarter of the largest unit together, so that
        /// whatever spheres a transaction ends with fit into one unit.
        pages_max: usize,
    },
    /// Two-level transactions on one ordered log: a subtransaction is appended when it ends and
    /// becomes durable when somebody's end of transaction, or a full group, takes the log so far to
    /// the disk. The default: it writes more bytes than spheres do where transactions change the
    /// same pages, but byte ranges are small, and nothing has to be kept track of.
    #[default]
    OrderedLog,
}

impl Strategy {
    /// [`Strategy::PersistenceSpheres`] with spheres of at most 256 pages.
    pub const SPHERES: Strategy = Strategy::PersistenceSpheres { pages_max: 256 };

    /// The paper's name, or ours.
    pub fn name(self) -> &'static str {
        match self {
            Strategy::SingleLevel => "S1",
            Strategy::ForcedSubtransactions => "S2",
            Strategy::PersistenceSpheres { .. } => "S2/PS",
            Strategy::OrderedLog => "ordered log",
        }
    }
}

/// What of a changed page goes to the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PageLog {
    /// The whole page, as in the paper (the DB Cache method).
    AfterImages,
    /// The ranges of bytes that changed.
    #[default]
    ByteRanges,
}

/// When a committing transaction gives back its locks on objects (and, in
/// [`Strategy::SingleLevel`], on pages).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Release {
    /// When its end is in the log, before that is durable. Whoever then reads what it wrote stands
    /// behind it in the log and so is never durable without it; one that only reads waits until what
    /// it read is durable.
    #[default]
    Appended,
    /// When it is durable, as usual.
    Durable,
}
