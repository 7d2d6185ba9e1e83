//! The findings of a run, for people and for programs.

use crate::file_system::FileSystem;
use crate::series::Tally;
use serde::Serialize;
use std::fmt;

/// A run.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The seed of all draws.
    pub seed: u64,
    /// The programs with known losses, by file system.
    pub known: Vec<Row>,
    /// The engine, by file system and way of use.
    pub engine: Vec<Row>,
    pub failures: Vec<Failure>,
    /// The parts that were left out, as sentences.
    pub skipped: Vec<String>,
    /// The reason why it ended early, if it did.
    pub stopped: Option<String>,
    /// The time of the run, in seconds.
    pub seconds: f64,
}

/// The cuts of one way of use on one file system.
#[derive(Debug, Serialize)]
pub struct Row {
    pub file_system: FileSystem,
    /// The way of use.
    pub way: &'static str,
    /// True if it must lose something, and false if it must not, if that is known.
    pub must_lose: Option<bool>,
    /// The counts.
    #[serde(flatten)]
    pub tally: Tally,
    /// The time, in seconds.
    pub seconds: f64,
}

#[derive(Debug, Serialize)]
pub struct Failure {
    pub file_system: FileSystem,
    /// The way of use.
    pub way: &'static str,
    /// The messages.
    pub what: String,
    /// The command that repeats it.
    pub replay: String,
    /// The file with the drive's content.
    pub drive: Option<String>,
}

impl Report {
    /// Returns true if there was no failure: the engine lost nothing, and the other programs lost what they must and no
    /// more.
    pub fn is_good(&self) -> bool {
        self.failures.is_empty() && self.stopped.is_none()
    }
}

const HEADINGS: [&str; 9] = [
    "file system",
    "way of use",
    "cuts",
    "in recovery",
    "acknowledged",
    "unsynced KiB",
    "torn mounts",
    "lost",
    "cuts/min",
];

impl Row {
    fn cells(&self) -> [String; 9] {
        let tally = &self.tally;
        let cuts = tally.cuts + tally.recoveries_cut;
        let rate = cuts as f64 / self.seconds.max(0.001) * 60.0;
        [
            self.file_system.name().to_string(),
            self.way.to_string(),
            tally.cuts.to_string(),
            tally.recoveries_cut.to_string(),
            tally.acknowledged.to_string(),
            (tally.unsynced_bytes / 1024).to_string(),
            tally.torn_file_systems.to_string(),
            tally.lost.to_string(),
            format!("{rate:.0}"),
        ]
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows: Vec<_> = self.known.iter().chain(&self.engine).collect();
        let mut table = vec![HEADINGS.map(String::from)];
        table.extend(rows.iter().map(|row| row.cells()));
        let width = |column: usize| table.iter().map(|cells| cells[column].len()).max();
        let widths: Vec<_> = (0..HEADINGS.len()).map(|c| width(c).unwrap_or(0)).collect();
        for (nth, cells) in table.iter().enumerate() {
            for (column, (cell, width)) in cells.iter().zip(&widths).enumerate() {
                match column {
                    0 | 1 => write!(f, "{cell:<width$}  ")?,
                    _ => write!(f, "{cell:>width$}  ")?,
                }
            }
            let must = nth.checked_sub(1).and_then(|nth| rows[nth].must_lose);
            writeln!(
                f,
                "{}",
                match must {
                    Some(true) => "must lose",
                    Some(false) => "must not",
                    None => "",
                }
            )?;
        }
        writeln!(f)?;
        for file_system in [FileSystem::Ext4, FileSystem::Xfs, FileSystem::Btrfs] {
            let of = self
                .engine
                .iter()
                .filter(|row| row.file_system == file_system);
            let sum = of.fold([0; 4], |sum, row| {
                let tally = &row.tally;
                let with = [
                    tally.cuts,
                    tally.recoveries_cut,
                    tally.acknowledged,
                    tally.lost,
                ];
                std::array::from_fn(|nth| sum[nth] + with[nth])
            });
            if sum[0] > 0 {
                writeln!(
                    f,
                    "{}: {} cuts and {} during recovery; {} acknowledged transactions; after {} cuts \
                     something was not there once and whole",
                    file_system.name(),
                    sum[0],
                    sum[1],
                    sum[2],
                    sum[3]
                )?;
            }
        }
        for failure in &self.failures {
            writeln!(
                f,
                "\n{} {}: {}",
                failure.file_system.name(),
                failure.way,
                failure.what
            )?;
            writeln!(f, "  again: {}", failure.replay)?;
            if let Some(drive) = &failure.drive {
                writeln!(f, "  the drive: {drive}")?;
            }
        }
        for skipped in &self.skipped {
            writeln!(f, "left out: {skipped}")?;
        }
        if let Some(stopped) = &self.stopped {
            writeln!(f, "ended early: {stopped}")?;
        }
        write!(f, "seed {}, {:.0} s", self.seed, self.seconds)
    }
}
