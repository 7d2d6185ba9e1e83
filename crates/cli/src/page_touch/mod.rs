//! `page-touch`: what it costs that the pages of a transaction are found out.
//!
//! [`present`] prints what the crate `experiments` found, [`files`] makes CSV and SVG of it.
//!
//! Source: the thesis on memory-mapped transactions (paper 002), sections 4.2 and 4.3.

mod files;
pub mod present;

use crate::debit_credit::place::Place;
use crate::debit_credit::progress;
use crate::exit::Exit;
use crate::output::units::parse_bytes;
use crate::output::{Output, files::write_all};
use anyhow::Context;
use clap::ValueEnum;
use sardonyx_lab::floor::Face;
use sardonyx_lab::page_touch::{self, Options, Subject};
use std::path::PathBuf;

/// Measure what a page costs that a transaction reads or writes, by every mechanism.
///
/// Transactions that read n pages and that write n pages, n from 1 to 1024 in powers of two, plainly
/// and with the pages announced; pages read again; the additive model aR + bW + c; the steps that
/// the cost consists of; and opening a snapshot of which nothing has changed. Beside the mechanisms
/// of a segment runs the recipe of the thesis (LIBXAC), built again. Every value read is compared
/// with what was committed. Without --durable nothing is on disk; with it, commits wait for the log,
/// and the recipe, which has none, does not take part.
///
/// Examples:
///   sardonyx page-touch
///   sardonyx page-touch --repetitions 100 --output page-touch
///   sardonyx page-touch --durable ./segments --busy --repetitions 100
///   sardonyx page-touch --mechanism explicit --mechanism libxac --json
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment, after_help = crate::exit::EXIT_CODES)]
pub struct Arguments {
    /// The most pages that a transaction touches
    #[arg(long, value_name = "N", default_value_t = 1024)]
    pages: usize,
    /// How often each transaction is run
    #[arg(long, value_name = "N", default_value_t = 1000)]
    repetitions: usize,
    /// Measure only this one; repeatable
    #[arg(long, value_enum)]
    mechanism: Vec<Choice>,
    /// Make the segments in a new directory, which is removed at the end, and wait for durability
    #[arg(long, value_name = "DIR")]
    durable: Option<PathBuf>,
    /// Keep a core awake with a thread of the lowest priority: on virtual machines an idle core may
    /// notice a finished write only at its timer tick, milliseconds late
    #[arg(long)]
    busy: bool,
    /// Bytes of the snapshot that is opened; 0: none is
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, default_value = "1GiB")]
    snapshot_bytes: u64,
    /// Write tables as CSV and a picture as SVG to a directory
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

/// Who takes part.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Choice {
    /// Asynchronous write protection, as it is by default: what was read stays known as read
    AsynchronousRetained,
    /// The same with exact sets: what was read is forgotten after each transaction
    AsynchronousExact,
    /// SIGSEGV and changes of protection
    Signal,
    /// Typed reads and writes, announced by the program
    Explicit,
    /// The recipe of the thesis
    Libxac,
}

impl Choice {
    fn subject(self) -> Subject {
        match self {
            Choice::AsynchronousRetained => Subject::AsynchronousRetained,
            Choice::AsynchronousExact => Subject::AsynchronousExact,
            Choice::Signal => Subject::Signal,
            Choice::Explicit => Subject::Explicit,
            Choice::Libxac => Subject::Libxac,
        }
    }
}

impl Arguments {
    /// Runs the verb.
    pub fn run(&self, output: &mut Output) -> anyhow::Result<Exit> {
        let place = self.durable.as_deref().map(Place::claim).transpose()?;
        if let Some(place) = &place {
            let path = place.path();
            std::fs::create_dir_all(path)
                .with_context(|| format!("making the directory {}", path.display()))?;
        }
        let chosen = |subject: &Subject| {
            let named = self.mechanism.iter().map(|choice| choice.subject());
            self.mechanism.is_empty() || named.into_iter().any(|named| named == *subject)
        };
        let options = Options {
            subjects: Subject::ALL.into_iter().filter(chosen).collect(),
            pages_max: self.pages,
            repetitions: self.repetitions,
            durable: place.as_ref().map(|place| place.path().to_path_buf()),
            face: if self.busy { Face::Busy } else { Face::Idle },
            snapshot_bytes: self.snapshot_bytes,
        };
        let bar = progress::bar("running", 1);
        let report = page_touch::run(&options, |progress| {
            bar.set_length(progress.all);
            bar.set_position(progress.done);
        });
        bar.finish_and_clear();
        let report = report?;
        if output.is_json() {
            output.value(&report)?;
        } else {
            present::print(&report, output)?;
        }
        if let Some(directory) = &self.output {
            let written = write_all(directory, files::of(&report))?;
            present::written(&written, output)?;
        }
        Ok(Exit::Done)
    }
}
