//! The common part of this crate's programs: engines by their names, the states of the disk, and printing.

use anyhow::bail;
use clap::ValueEnum;
use sardonyx_benchmark::floor::Face;
use sardonyx_results::Findings;

/// The states of the disk in which the engines run.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Faces {
    /// With the cores as they are.
    Idle,
    /// With a thread of the lowest priority that keeps a core busy.
    Busy,
    /// Both, one after the other.
    Both,
}

impl Faces {
    /// Runs in each of the states, and prints each report when it is complete, or all as a JSON list.
    ///
    /// # Errors
    /// The first error of `run`.
    pub fn print(
        self,
        json: bool,
        mut run: impl FnMut(Face) -> anyhow::Result<Findings>,
    ) -> anyhow::Result<()> {
        let faces: &[Face] = match self {
            Faces::Idle => &[Face::Idle],
            Faces::Busy => &[Face::Busy],
            Faces::Both => &[Face::Idle, Face::Busy],
        };
        let mut reports = Vec::new();
        for &face in faces {
            let findings = run(face)?;
            if json {
                reports.push(findings.json().to_string());
            } else {
                println!("{}", findings.text());
            }
        }
        if json {
            println!("[\n{}\n]", reports.join(",\n"));
        }
        Ok(())
    }
}

/// The engines with the given names, in any case; all if none is given.
///
/// # Errors
/// A name is no engine's.
pub fn chosen<E>(
    engines: Vec<E>,
    name: impl Fn(&E) -> &'static str,
    names: &[String],
) -> anyhow::Result<Vec<E>> {
    let is = |engine: &E, wanted: &String| name(engine).eq_ignore_ascii_case(wanted);
    for wanted in names {
        if !engines.iter().any(|engine| is(engine, wanted)) {
            let known: Vec<_> = engines.iter().map(&name).collect();
            bail!("--engines {wanted}: choose among {}", known.join("; "));
        }
    }
    let wanted = |engine: &E| names.is_empty() || names.iter().any(|one| is(engine, one));
    Ok(engines.into_iter().filter(wanted).collect())
}
