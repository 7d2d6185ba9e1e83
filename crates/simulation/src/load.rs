//! The work of transactions, and the places of them and of the lock authorities: prepared once, shared by all
//! replications of a point.

use crate::parameters::read::ParameterError;
use crate::parameters::{Parameters, Routing, WorkloadKind};
use crate::text_file;
use sardonyx_workload::debit_credit_pages::{self as pages, HistoryEnd, PageScale, PageScaleError};
use sardonyx_workload::reference::PageNumber;
use sardonyx_workload::routing::heuristic::{self, HeuristicError};
use sardonyx_workload::routing::{ReferenceDistribution, Tables, TablesError};
use sardonyx_workload::trace::{Trace, TraceError, synthetic};
use std::collections::HashMap;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::sync::Arc;

/// The name of the built-in synthetic trace, as the value of `workload.trace`.
pub const SYNTHETIC_TRACE: &str = "synthetic";

/// The seed of the built-in synthetic trace: it is one trace, for every run's seed.
pub const SYNTHETIC_SEED: u64 = 1;

/// The longest file of routing and authority tables, in bytes.
const TABLES_BYTES_MAX: u64 = 256 << 20;

/// The reason why there is nothing to simulate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// A debit-credit database that is not possible.
    #[error("the debit-credit database is not possible: {0}")]
    Scale(#[from] PageScaleError),
    /// A file cannot be opened.
    #[error("{key}: {file} cannot be read: {reason}")]
    File {
        /// The parameter that names it.
        key: &'static str,
        /// The value of the parameter.
        file: String,
        /// The system's error.
        reason: String,
    },
    /// A file that is no trace.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A trace without transactions, or without those that are to arrive.
    #[error("trace {file} has no transactions{what}")]
    Empty {
        /// The trace's file.
        file: String,
        /// The type, if one was asked for.
        what: String,
    },
    /// A file that has no routing and authority tables, or those of another trace.
    #[error(transparent)]
    Tables(#[from] TablesError),
    /// Tables for another number of nodes.
    #[error("{file} has tables for {found} nodes, but nodes = {nodes}")]
    Nodes {
        /// The tables' file.
        file: String,
        /// Its number of nodes.
        found: u16,
        /// The number simulated.
        nodes: u32,
    },
    /// Tables that cannot be computed.
    #[error(transparent)]
    Heuristic(#[from] HeuristicError),
    /// Parameters that are not possible.
    #[error(transparent)]
    Parameters(#[from] ParameterError),
}

/// The work of transactions.
#[derive(Debug)]
pub enum Load {
    /// Debit-credit, drawn.
    DebitCredit {
        /// The size of the database.
        scale: PageScale,
        /// Transactions are drawn for these.
        nodes: u16,
    },
    /// A trace, replayed over and over.
    Trace {
        /// The transactions, in the order of the file.
        trace: Arc<Trace>,
        /// The places of transactions and lock authorities.
        tables: Arc<Tables>,
        /// For each type that arrives by itself: its rate per node and its transactions' places.
        by_type: Vec<(f64, Vec<u32>)>,
    },
}

/// Traces that were read and tables that were computed, to be used for several points.
#[derive(Debug, Default)]
pub struct Library {
    traces: HashMap<String, Arc<Trace>>,
    distributions: HashMap<(String, usize), Arc<ReferenceDistribution>>,
    tables: HashMap<(String, u32, Routing), Arc<Tables>>,
}

impl Load {
    /// The load of these `parameters`.
    ///
    /// # Errors
    /// [`LoadError`] if the database is not possible, or a trace or its tables cannot be had.
    pub fn new(parameters: &Parameters) -> Result<Self, LoadError> {
        Library::default().load(parameters)
    }

    /// The names of the partitions, by number.
    pub fn partitions(&self) -> Vec<String> {
        match self {
            Load::DebitCredit { scale, .. } => {
                let name = |partition| match partition {
                    pages::ACCOUNT => "account",
                    pages::HISTORY => "history",
                    pages::BRANCH if scale.clustered => "branch_teller",
                    pages::BRANCH => "branch",
                    _ => "teller",
                };
                (0..scale.partitions())
                    .map(name)
                    .map(String::from)
                    .collect()
            }
            Load::Trace { trace, .. } => {
                let partitions = trace.header().partitions().iter();
                partitions.map(|partition| partition.name.clone()).collect()
            }
        }
    }

    /// The node that has the lock authority for `page`.
    #[inline]
    pub fn authority(&self, page: u64) -> u16 {
        let page = PageNumber::from_u64(page).expect("the load's own pages");
        match self {
            Load::DebitCredit { scale, nodes } => scale.node_of_page(page, *nodes),
            Load::Trace { tables, .. } => tables.authority.authority(page),
        }
    }

    /// Mean number of accesses of a transaction.
    pub fn mean_accesses(&self) -> f64 {
        match self {
            Load::DebitCredit { .. } => 4.0,
            Load::Trace { trace, by_type, .. } if by_type.is_empty() => {
                trace.reference_count() as f64 / trace.len() as f64
            }
            Load::Trace { trace, by_type, .. } => {
                let mean = |places: &[u32]| {
                    let lengths = places.iter().map(|&place| {
                        trace
                            .get(place as usize)
                            .map_or(0, |view| view.references.len())
                    });
                    lengths.sum::<usize>() as f64 / places.len() as f64
                };
                let rates: f64 = by_type.iter().map(|(rate, _)| rate).sum();
                by_type
                    .iter()
                    .map(|(rate, places)| rate / rates * mean(places))
                    .sum()
            }
        }
    }

    /// The end of the sequential file at which `node` appends.
    pub fn history_end(&self, node: u16) -> HistoryEnd {
        match self {
            Load::DebitCredit { scale, nodes } => {
                HistoryEnd::new(node, *nodes, scale.history_blocking)
            }
            // Traces name the pages that were written; nothing is appended.
            Load::Trace { .. } => HistoryEnd::new(0, 1, 1),
        }
    }

    /// The ends of the sequential file for transactions of `node` that lock its pages: one for each processing slot,
    /// as far as numbers suffice, and none if it is not locked.
    pub fn history_ends(
        &self,
        node: u16,
        parameters: &Parameters,
    ) -> impl Iterator<Item = HistoryEnd> {
        let slots = parameters.node.multiprogramming_level;
        let (nodes, blocking, slots) = match self {
            Load::DebitCredit { scale, nodes } if parameters.partition("history").locks => {
                let most = u32::from(u16::MAX) / u32::from(*nodes);
                (*nodes, scale.history_blocking, slots.min(most) as u16)
            }
            _ => (1, 1, 0),
        };
        (0..slots).map(move |slot| HistoryEnd::new(slot * nodes + node, nodes * slots, blocking))
    }
}

impl Library {
    /// The load of these `parameters`; data read or computed before is used again.
    ///
    /// # Errors
    /// As [`Load::new`].
    pub fn load(&mut self, parameters: &Parameters) -> Result<Load, LoadError> {
        let workload = &parameters.workload;
        if workload.kind == WorkloadKind::Trace {
            return self.trace_load(parameters);
        }
        let scale = parameters.page_scale();
        scale.check()?;
        let nodes = parameters.nodes as u16;
        Ok(Load::DebitCredit { scale, nodes })
    }

    fn trace_load(&mut self, parameters: &Parameters) -> Result<Load, LoadError> {
        let file = &parameters.workload.trace;
        let trace = self.trace(file)?;
        if trace.is_empty() {
            let what = String::new();
            return Err(LoadError::Empty {
                file: file.clone(),
                what,
            });
        }
        let mut by_type = Vec::new();
        for (name, &rate) in &parameters.workload.type_rates {
            let kind = trace
                .header()
                .types()
                .iter()
                .position(|known| known == name);
            let places: Vec<u32> = (0..trace.len())
                .filter(|&place| {
                    trace
                        .get(place)
                        .is_some_and(|view| Some(usize::from(view.kind)) == kind)
                })
                .map(|place| place as u32)
                .collect();
            if places.is_empty() {
                let what = format!(" of type {name}, which workload.type_rates names");
                return Err(LoadError::Empty {
                    file: file.clone(),
                    what,
                });
            }
            by_type.push((rate, places));
        }
        let tables = self.tables(parameters, &trace)?;
        Ok(Load::Trace {
            trace,
            tables,
            by_type,
        })
    }

    /// The trace in `file`, or the built-in one.
    ///
    /// # Errors
    /// [`LoadError::File`] and [`LoadError::Trace`].
    pub fn trace(&mut self, file: &str) -> Result<Arc<Trace>, LoadError> {
        if let Some(trace) = self.traces.get(file) {
            return Ok(Arc::clone(trace));
        }
        let trace = if file == SYNTHETIC_TRACE {
            synthetic::generate(SYNTHETIC_SEED)
        } else {
            let opened = File::open(file).map_err(|error| LoadError::File {
                key: "workload.trace",
                file: file.to_string(),
                reason: error.to_string(),
            })?;
            Trace::read(BufReader::new(opened), file)?
        };
        let trace = Arc::new(trace);
        self.traces.insert(file.to_string(), Arc::clone(&trace));
        Ok(trace)
    }

    fn tables(
        &mut self,
        parameters: &Parameters,
        trace: &Arc<Trace>,
    ) -> Result<Arc<Tables>, LoadError> {
        let (workload, nodes) = (&parameters.workload, parameters.nodes);
        // A file's tables determine the nodes of transactions, also if routing is "random": then the authorities are
        // the file's.
        let key = (
            format!("{}\n{}", workload.trace, workload.tables),
            nodes,
            parameters.routing,
        );
        if let Some(tables) = self.tables.get(&key) {
            return Ok(Arc::clone(tables));
        }
        let tables = if workload.tables.is_empty() {
            let fragments = ReferenceDistribution::fragments_for(nodes as u16);
            let distribution = self.distribution(&workload.trace, trace, fragments);
            let (tables, _) = match parameters.routing {
                Routing::Affinity => {
                    let options = heuristic::Options::for_nodes(nodes as u16);
                    heuristic::affinity(&distribution, nodes as u16, &options)?
                }
                Routing::Random => heuristic::random(&distribution, nodes as u16)?,
            };
            tables
        } else {
            let file = &workload.tables;
            let text = text_file::read(Path::new(file), TABLES_BYTES_MAX);
            let text = text.map_err(|error| LoadError::File {
                key: "workload.tables",
                file: file.clone(),
                reason: error.to_string(),
            })?;
            let tables = Tables::from_toml(&text, file, trace.header())?;
            let found = tables.routing.nodes();
            if u32::from(found) != nodes {
                let file = file.clone();
                return Err(LoadError::Nodes { file, found, nodes });
            }
            tables
        };
        let tables = Arc::new(tables);
        self.tables.insert(key, Arc::clone(&tables));
        Ok(tables)
    }

    fn distribution(
        &mut self,
        file: &str,
        trace: &Trace,
        fragments: usize,
    ) -> Arc<ReferenceDistribution> {
        let known = self.distributions.entry((file.to_string(), fragments));
        let made = || Arc::new(ReferenceDistribution::of_trace(trace, fragments));
        Arc::clone(known.or_insert_with(made))
    }
}
