//! `verify`: checks everything that a database has on disk, and changes nothing.

use crate::exit::Exit;
use crate::output::Output;
use crate::output::table::{Sheet, Table};
use crate::output::units;
use crate::recovery_figures::RecoveryFigures;
use crate::target::{Target, dry_run};
use anyhow::Context;
use sardonyx::storage::verify::{Severity, Verification, verify};
use serde::Serialize;
use std::io::Write;

/// Check every file of a database: manifest, backup, journal archive and log.
///
/// Reads all of it, tries a recovery in memory, and changes nothing. The database must not be open
/// elsewhere. Each finding names its file and offset. What an interrupted write leaves (a leftover)
/// is told from damage; only damage makes the exit code 1.
///
/// Example: sardonyx verify bank.sdx
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment, after_help = crate::exit::EXIT_CODES)]
pub struct Arguments {
    #[command(flatten)]
    target: Target,
}

/// What was found.
#[derive(Debug, Serialize)]
struct Report {
    sound: bool,
    slots: u64,
    versions: u64,
    chunks: u64,
    archived_rows: u64,
    recovery: Option<RecoveryFigures>,
    findings: Vec<Finding>,
}

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
        let files = self.target.files()?;
        let options = dry_run();
        let found = verify(&files.disk, options.memory_max_bytes, options.workers)
            .with_context(|| format!("verifying {}", self.target.path.display()))?;
        let report = Report::of(&found);
        if output.is_json() {
            output.value(&report)?;
        } else {
            report.print(output)?;
        }
        Ok(if report.sound {
            Exit::Done
        } else {
            Exit::Found
        })
    }
}

impl Report {
    fn of(found: &Verification) -> Self {
        let findings = found.findings.iter().map(|finding| Finding {
            severity: match finding.severity {
                Severity::Leftover => "leftover",
                Severity::Damage => "damage",
            },
            file: finding.file.clone(),
            offset: finding.offset,
            what: finding.what.clone(),
        });
        Report {
            sound: found.is_sound(),
            slots: found.slots,
            versions: found.versions,
            chunks: found.chunks,
            archived_rows: found.archived_rows,
            recovery: found.recovery.as_ref().map(RecoveryFigures::from),
            findings: findings.collect(),
        }
    }

    fn print(&self, output: &mut Output) -> anyhow::Result<()> {
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
            (true, false) => "Sound: only what interrupted writes left, which recovery ignores.",
            (false, _) => "DAMAGED: something that was durable is broken or missing.",
        };
        Ok(writeln!(output, "{verdict}")?)
    }
}
