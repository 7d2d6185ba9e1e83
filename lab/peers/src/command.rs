//! What the programs of this crate have in common: engines by their names, the faces of the disk,
//! and how results are printed.

use anyhow::bail;
use clap::ValueEnum;
use sardonyx_benchmark::floor::Face;
use sardonyx_results::Findings;

/// In which faces of the disk the engines run.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Faces {
    /// With the cores as they are.
    Idle,
    /// With a thread of the lowest priority that keeps a core busy.
    Busy,
    /// First the one, then the other.
    Both,
}

impl Faces {
    /// Runs in each of the faces, and prints each report when it is there, or all as a JSON list.
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

/// The engines with the given names, whatever their case; all if none is named.
///
/// # Errors
/// If there is none of a name.
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
