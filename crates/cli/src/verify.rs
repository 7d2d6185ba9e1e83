//! `verify`: checks all files of a database, read-only.

use crate::catalogue_figures::CatalogueFigures;
use crate::target::{Files, Target};
use anyhow::Context;
use sardonyx_command::exit::Exit;
use sardonyx_command::output::Output;
use sardonyx_mapped::heap::{Heap, Report as HeapReport};
use sardonyx_results::recovery::RecoveryFigures;
use sardonyx_results::table::{Sheet, Table};
use sardonyx_results::units;
use sardonyx_storage::store::PageStore;
use sardonyx_storage::verify::{self, Severity, Verification, verify_with};
use serde::Serialize;
use std::io::Write;

/// Check every file of a database.
///
/// Reads manifest, backup, journal archive and log, and tries a recovery in memory. Then it checks the catalogue of the
/// tables, or the heap of a mapped segment. The verb is read-only and works on a read-only file system. While a program
/// has the database open, it checks a state that the database had meanwhile, and reports only damage that it finds
/// twice. Each finding names its file and offset.
///
/// An interrupted write leaves a leftover, which is no damage. So do multi-level transactions that a crash left
/// unfinished: the next opening as operations undoes them.
///
/// Exit code 1: there is damage.
///
/// Example: sardonyx verify bank.sdx
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    #[command(flatten)]
    target: Target,
}

/// The findings.
#[derive(Debug, Serialize)]
pub struct Report {
    sound: bool,
    /// True if another program had the database open meanwhile.
    beside_writer: bool,
    slots: u64,
    versions: u64,
    chunks: u64,
    archived_rows: u64,
    recovery: Option<RecoveryFigures>,
    /// `None` if there are no tables, or recovery failed.
    catalogue: Option<CatalogueFigures>,
    /// `None` if there is no heap of a segment, or it is not valid.
    heap: Option<HeapFigures>,
    findings: Vec<Finding>,
}

/// The contents of a segment's heap.
#[derive(Clone, Copy, Debug, Serialize)]
struct HeapFigures {
    /// Pages below the high-water mark.
    pages: u64,
    free_pages: u64,
    /// Objects larger than half a page.
    large: u64,
    small: u64,
    roots: u64,
}

impl From<HeapReport> for HeapFigures {
    fn from(report: HeapReport) -> Self {
        HeapFigures {
            pages: report.pages,
            free_pages: report.free_pages,
            large: report.large,
            small: report.small,
            roots: report.roots,
        }
    }
}

impl HeapFigures {
    fn print(&self, sheet: &mut Sheet) {
        sheet.heading("Heap");
        let free = format!("{} of them free", units::count(self.free_pages));
        sheet.remarked("pages handed out", units::count(self.pages), free);
        sheet.figure("large things", units::count(self.large));
        sheet.figure("small things", units::count(self.small));
        sheet.figure("roots", units::count(self.roots));
    }
}

const DAMAGE: &str = "damage";

#[derive(Debug, Serialize)]
struct Finding {
    severity: &'static str,
    file: String,
    offset: Option<u64>,
    what: String,
}

impl Arguments {
    /// Runs the verb.
    pub fn run(&self, output: &mut Output) -> anyhow::Result<Exit> {
        let report = check(&self.target, output)?;
        if output.is_json() {
            output.value(&report)?;
        } else {
            report.print(output)?;
        }
        Ok(report.exit())
    }
}

/// Checks every file of a database.
///
/// # Errors
/// There is no database, or its files cannot be read. Damage is no error: the report has it.
pub fn check(target: &Target, output: &mut Output) -> anyhow::Result<Report> {
    let files = target.own_files(output)?;
    files.read(|| check_files(target, &files), Report::damage)
}

fn check_files(target: &Target, files: &Files) -> anyhow::Result<Report> {
    let (mut catalogue, mut heap) = (None, None);
    let place = files.disk.display_name("");
    let look = |mut store: PageStore| {
        let (found, mut findings) = look_into(&mut store, &place);
        catalogue = found;
        match Heap::check_recovered(store) {
            Ok(found) => heap = found.map(HeapFigures::from),
            Err(error) => findings.push(finding(&place, Severity::Damage, error.to_string())),
        }
        findings
    };
    let found = verify_with(&files.disk, files.dry_run(), look)
        .with_context(|| format!("verifying {}", target.path.display()))?;
    Ok(Report::of(&found, catalogue, heap, files.beside_writer()))
}

/// The catalogue in the recovered pages, and its faults and unfinished transactions as findings.
fn look_into(
    store: &mut PageStore,
    place: &str,
) -> (Option<CatalogueFigures>, Vec<verify::Finding>) {
    match CatalogueFigures::of_store(store) {
        Ok(catalogue) => {
            let warning = catalogue.as_ref().and_then(CatalogueFigures::warning);
            let finding = warning.map(|what| finding(place, Severity::Leftover, what));
            (catalogue, finding.into_iter().collect())
        }
        Err(error) => (
            None,
            vec![finding(place, Severity::Damage, error.to_string())],
        ),
    }
}

/// A finding about the pages, which no file contains in this form.
fn finding(place: &str, severity: Severity, what: String) -> verify::Finding {
    verify::Finding {
        severity,
        file: place.to_string(),
        offset: None,
        what,
    }
}

impl Report {
    fn of(
        found: &Verification,
        catalogue: Option<CatalogueFigures>,
        heap: Option<HeapFigures>,
        beside_writer: bool,
    ) -> Self {
        let findings = found.findings.iter().map(|finding| Finding {
            severity: match finding.severity {
                Severity::Leftover => "leftover",
                Severity::Damage => DAMAGE,
            },
            file: finding.file.clone(),
            offset: finding.offset,
            what: finding.what.clone(),
        });
        Report {
            sound: found.is_sound(),
            beside_writer,
            slots: found.slots,
            versions: found.versions,
            chunks: found.chunks,
            archived_rows: found.archived_rows,
            recovery: found.recovery.as_ref().map(RecoveryFigures::from),
            catalogue,
            heap,
            findings: findings.collect(),
        }
    }

    /// The exit code of the report.
    pub fn exit(&self) -> Exit {
        match self.sound {
            true => Exit::Done,
            false => Exit::Found,
        }
    }

    /// The damage, if any was found.
    fn damage(&self) -> Option<String> {
        let found = self.findings.iter().filter(|one| one.severity == DAMAGE);
        let found: Vec<String> = found.map(|one| format!("{one:?}")).collect();
        (!found.is_empty()).then(|| found.join("\n"))
    }

    /// Prints it for people.
    pub fn print(&self, output: &mut Output) -> anyhow::Result<()> {
        let mut sheet = Sheet::default();
        sheet.heading("Checked");
        sheet.remarked(
            "backup slots",
            units::count(self.slots),
            format!("{} whole versions of blocks", units::count(self.versions)),
        );
        sheet.remarked(
            "journal archive chunks",
            units::count(self.chunks),
            format!("{} rows", units::count(self.archived_rows)),
        );
        if let Some(recovery) = &self.recovery {
            sheet.heading("Recovery, tried in memory");
            recovery.print(&mut sheet);
        }
        if let Some(catalogue) = &self.catalogue {
            catalogue.print(&mut sheet);
        }
        if let Some(heap) = &self.heap {
            heap.print(&mut sheet);
        }
        writeln!(output, "{sheet}")?;
        if !self.findings.is_empty() {
            let mut table = Table::new(["severity", "file", "#offset", "finding"]);
            for finding in &self.findings {
                table.row([
                    finding.severity.into(),
                    finding.file.clone(),
                    finding
                        .offset
                        .map_or_else(|| "-".into(), |offset| offset.to_string()),
                    finding.what.clone(),
                ]);
            }
            writeln!(output, "{table}")?;
        }
        let verdict = match (self.sound, self.findings.is_empty()) {
            (true, true) => "Sound: nothing to report.",
            (true, false) => {
                "Sound: only the traces of an interruption are left, which the next opening removes."
            }
            (false, _) => "DAMAGED: durable data is damaged or missing.",
        };
        Ok(writeln!(output, "{verdict}")?)
    }
}
