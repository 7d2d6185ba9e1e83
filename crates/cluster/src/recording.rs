//! Traces of real nodes: each node writes one in the documented format (`docs/trace-format.md`), and they are merged
//! into one by the times at which transactions ended.
//!
//! A node keeps its recording in memory until the run is over, so that it does not write to the disk meanwhile: twelve
//! bytes for each access. Bound (I10): [`REFERENCES_MAX`] accesses; later ones are not recorded, which is reported.

use crate::bank::Bank;
use crate::error::ClusterError;
use crate::load::now_nanoseconds;
use crate::places::Places;
use crate::routing::header;
use crate::setting::Setting;
use sardonyx_sharing::node::{Committed, Observer};
use sardonyx_sharing::protocol::LockMode;
use sardonyx_workload::reference::{PageReference, Transaction};
use sardonyx_workload::trace::{Form, TraceReader, TraceWriter};
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The most accesses that a node records.
pub const REFERENCES_MAX: usize = 1 << 25;

/// Records the pages that a node's transactions refer to, while it is asked to.
#[derive(Debug)]
pub(crate) struct Recorder {
    bank: Bank,
    on: AtomicBool,
    recorded: Mutex<Recorded>,
}

#[derive(Debug, Default)]
struct Recorded {
    /// The end of each transaction, its type, and the end of its accesses.
    transactions: Vec<(u64, u16, usize)>,
    references: Vec<PageReference>,
    dropped: u64,
}

impl Recorder {
    pub fn new(bank: Bank) -> Self {
        Recorder {
            bank,
            on: AtomicBool::new(false),
            recorded: Mutex::default(),
        }
    }

    /// The observer of a node's transactions.
    pub fn observer(self: &Arc<Self>) -> Option<Arc<dyn Observer>> {
        Some(self.clone())
    }

    /// Any load may be recorded.
    pub fn check(_: bool) -> Result<(), ClusterError> {
        Ok(())
    }

    fn recorded(&self) -> MutexGuard<'_, Recorded> {
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins again, or stops.
    pub fn record(&self, on: bool) {
        if on {
            *self.recorded() = Recorded::default();
        }
        self.on.store(on, Ordering::SeqCst);
    }

    /// Writes the recording, as a trace and the times of its transactions.
    pub fn write(&self, setting: &Setting, trace: &Path) -> Result<(), ClusterError> {
        let recorded = std::mem::take(&mut *self.recorded());
        if recorded.dropped > 0 {
            let dropped = recorded.dropped;
            tracing::warn!(
                dropped,
                "transactions were not recorded: there is no room for more"
            );
        }
        let file = |place: &Path| {
            File::create(place)
                .map(BufWriter::new)
                .map_err(ClusterError::system("make", place))
        };
        let name = trace.display().to_string();
        let mut writer = TraceWriter::new(Form::Binary, file(trace)?, name, header(setting)?)?;
        let mut transaction = Transaction::default();
        let mut begin = 0;
        for &(_, kind, end) in &recorded.transactions {
            transaction.clear(kind);
            transaction
                .references
                .extend_from_slice(&recorded.references[begin..end]);
            begin = end;
            writer.write(&transaction)?;
        }
        writer.finish()?;
        let place = times_of(trace);
        let mut times = file(&place)?;
        for (at, ..) in &recorded.transactions {
            times
                .write_all(&at.to_le_bytes())
                .map_err(ClusterError::system("write", &place))?;
        }
        times.flush().map_err(ClusterError::system("write", &place))
    }
}

fn times_of(trace: &Path) -> std::path::PathBuf {
    trace.with_extension("times")
}

impl Observer for Recorder {
    fn committed(&self, transaction: &Committed<'_>) {
        if !self.on.load(Ordering::Relaxed) {
            return;
        }
        let at = now_nanoseconds();
        let mut recorded = self.recorded();
        if recorded.references.len() + transaction.references.len() > REFERENCES_MAX {
            recorded.dropped += 1;
            return;
        }
        let mut last = None;
        for &(page, mode) in transaction.references {
            let page = self.bank.number_of(page);
            let reference = match mode {
                LockMode::Read => PageReference::read(page),
                LockMode::Write => PageReference::write(page),
            };
            // A record is read to be changed, and then changed: one access.
            if last != Some(reference) {
                recorded.references.push(reference);
            }
            last = match last {
                Some(before) if before == reference => None,
                _ => Some(reference),
            };
        }
        let end = recorded.references.len();
        recorded.transactions.push((at, transaction.kind, end));
    }
}

/// Merges the nodes' recordings into one trace, by the times at which transactions ended, and removes the parts.
/// Returns the number of transactions.
pub(crate) fn merge(
    setting: &Setting,
    places: &Places,
    slots: &[usize],
    whole: impl Write,
    name: &str,
) -> Result<u64, ClusterError> {
    let mut order: Vec<(u64, usize)> = Vec::new();
    let mut readers = Vec::new();
    for (part, &slot) in slots.iter().enumerate() {
        let place = places.trace(slot);
        let mut bytes = Vec::new();
        let times = times_of(&place);
        File::open(&times)
            .and_then(|mut file| file.read_to_end(&mut bytes))
            .map_err(ClusterError::system("read", &times))?;
        let at = bytes.as_chunks::<8>().0.iter();
        order.extend(at.map(|bytes| (u64::from_le_bytes(*bytes), part)));
        let file = File::open(&place).map_err(ClusterError::system("read", &place))?;
        readers.push(TraceReader::new(
            BufReader::new(file),
            place.display().to_string(),
        )?);
    }
    // A node's own transactions keep their order, whatever the clock's resolution.
    order.sort_by_key(|&(at, _)| at);
    let mut trace = TraceWriter::new(Form::Binary, whole, name, header(setting)?)?;
    let mut transaction = Transaction::default();
    for &(_, part) in &order {
        if readers[part].read_into(&mut transaction)? {
            trace.write(&transaction)?;
        }
    }
    trace.finish()?;
    for &slot in slots {
        let place = places.trace(slot);
        let _ = std::fs::remove_file(times_of(&place));
        let _ = std::fs::remove_file(place);
    }
    Ok(order.len() as u64)
}
