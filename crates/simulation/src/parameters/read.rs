//! Reading parameters: a preset, a file over it, single keys over both.
//!
//! Each fault is reported with the key, and with the file's line if a file has it: unknown keys,
//! wrong kinds of values, values out of range, values that do not fit each other.

use super::preset::{self, PRESETS, Preset};
use super::{ArrivalProcess, Parameters, WorkloadKind, limits};
use crate::load::SYNTHETIC_TRACE;
use crate::text_file;
use std::path::{Path, PathBuf};
use toml::de::{DeTable, DeValue};
use toml::{Spanned, Table, Value};

/// The longest file of parameters, in bytes: many times the length of all keys.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The fault of parameters.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ParameterError {
    /// The file could not be read.
    #[error("parameter file {file} cannot be read: {reason}", file = file.display())]
    File {
        /// The path that was given.
        file: PathBuf,
        /// The system's error.
        reason: String,
    },
    /// A text is not TOML.
    #[error("{origin}: this is not TOML: {reason}")]
    Syntax {
        /// File and line, or the argument.
        origin: String,
        /// The fault.
        reason: String,
    },
    /// A key is unknown or its value of the wrong kind.
    #[error("{origin}: {key}: {reason}")]
    Key {
        /// File and line, or the argument.
        origin: String,
        /// With its table, as in `node.buffer_pages`.
        key: String,
        /// The fault, and the allowed values.
        reason: String,
    },
    /// A value is out of range.
    #[error("{origin}: {key} = {value} is out of range: choose {least} to {most}")]
    Range {
        /// File and line, or the argument.
        origin: String,
        /// With its table, as in `node.buffer_pages`.
        key: String,
        /// The requested value.
        value: f64,
        /// The least that is possible.
        least: f64,
        /// The most that is possible.
        most: f64,
    },
    /// There is no such preset.
    #[error("there is no preset \"{name}\": choose one of {known}")]
    Preset {
        /// The requested name.
        name: String,
        /// The known names.
        known: String,
    },
}

/// Parameters laid over each other; later ones win.
///
/// ```
/// use sardonyx_simulation::parameters::read::Layers;
///
/// let mut layers = Layers::named("paper")?;
/// layers.set("nodes=4")?;
/// layers.set("partition.account.disks_per_node=30")?;
/// let parameters = layers.read()?;
/// assert_eq!(parameters.nodes, 4);
/// assert_eq!(parameters.partition("account").disks_per_node, 30);
/// let wrong = Layers::named("paper").and_then(|mut layers| {
///     layers.set("nodes=0")?;
///     layers.read()
/// });
/// let text = wrong.unwrap_err().to_string();
/// assert_eq!(text, "nodes=0: nodes = 0 is out of range: choose 1 to 1000");
/// # Ok::<(), sardonyx_simulation::parameters::read::ParameterError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Layers {
    table: Table,
    /// The sources of keys, the latest last: to name one when the key turns out to be wrong.
    origins: Vec<(String, Origin)>,
}

#[derive(Clone, Debug)]
enum Origin {
    Line { file: PathBuf, line: usize },
    Argument(String),
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Origin::Line { file, line } => write!(f, "{} line {line}", file.display()),
            Origin::Argument(argument) => f.write_str(argument),
        }
    }
}

impl Layers {
    /// The preset `name` alone.
    ///
    /// # Errors
    /// [`ParameterError::Preset`] if it does not exist.
    pub fn named(name: &str) -> Result<Self, ParameterError> {
        let preset = preset::find(name).ok_or_else(|| {
            let known: Vec<_> = PRESETS.iter().map(|preset| preset.name).collect();
            ParameterError::Preset {
                name: name.to_string(),
                known: known.join(", "),
            }
        })?;
        Layers::of_preset(preset)
    }

    /// `preset` and nothing over it.
    ///
    /// # Errors
    /// None for the presets that come with the program.
    pub fn of_preset(preset: &Preset) -> Result<Self, ParameterError> {
        let paper = &PRESETS[0];
        let mut layers = Layers {
            table: Table::new(),
            origins: Vec::new(),
        };
        layers.text(Path::new("presets/paper.toml"), paper.text)?;
        if preset.name != paper.name {
            layers.text(
                Path::new(&format!("presets/{}.toml", preset.name)),
                preset.text,
            )?;
        }
        Ok(layers)
    }

    /// Lays a file over the present parameters. Paths in it are relative to the file's folder; the built-in synthetic
    /// trace has none.
    ///
    /// # Errors
    /// [`ParameterError::File`] and [`ParameterError::Syntax`].
    pub fn file(&mut self, file: &Path) -> Result<(), ParameterError> {
        let text = text_file::read(file, FILE_BYTES_MAX).map_err(|error| ParameterError::File {
            file: file.to_path_buf(),
            reason: error.to_string(),
        })?;
        self.text(file, &text)?;
        let folder = file.parent().unwrap_or(Path::new(""));
        for key in ["workload.trace", "workload.tables"] {
            let here = matches!(self.origin(key), Some(Origin::Line { file: f, .. }) if f == file);
            if let (true, Some(Value::String(path))) = (here, lookup(&mut self.table, key))
                && !path.is_empty()
                && path != SYNTHETIC_TRACE
            {
                *path = folder.join(&*path).to_string_lossy().into_owned();
            }
        }
        Ok(())
    }

    fn text(&mut self, file: &Path, text: &str) -> Result<(), ParameterError> {
        let line_of = |offset: usize| 1 + text[..offset].matches('\n').count();
        let syntax = |error: &toml::de::Error| ParameterError::Syntax {
            origin: match error.span() {
                Some(span) => format!("{} line {}", file.display(), line_of(span.start)),
                None => file.display().to_string(),
            },
            reason: error.message().to_string(),
        };
        let spanned = DeTable::parse(text).map_err(|error| syntax(&error))?;
        let table: Table = toml::from_str(text).map_err(|error| syntax(&error))?;
        let mut note = |key: String, offset| {
            let origin = Origin::Line {
                file: file.to_path_buf(),
                line: line_of(offset),
            };
            self.origins.push((key, origin));
        };
        note_keys("", &spanned, &mut note);
        overlay(&mut self.table, table);
        Ok(())
    }

    /// Lays one key over the present parameters: `node.mips=20`. A value that is no TOML is taken as a string, so that
    /// `routing=random` needs no quotes.
    ///
    /// # Errors
    /// [`ParameterError::Syntax`] if there is no `=` or no key.
    pub fn set(&mut self, argument: &str) -> Result<(), ParameterError> {
        let syntax = |reason: &str| ParameterError::Syntax {
            origin: argument.to_string(),
            reason: reason.to_string(),
        };
        let (key, value) = argument
            .split_once('=')
            .ok_or_else(|| syntax("write KEY=VALUE, as in node.mips=20"))?;
        let (key, value) = (key.trim(), value.trim());
        let parsed = toml::from_str::<Table>(&format!("value = {value}"))
            .ok()
            .and_then(|mut table| table.remove("value"))
            .unwrap_or_else(|| Value::String(value.to_string()));
        let mut steps: Vec<_> = key.split('.').collect();
        if steps.iter().any(|step| step.is_empty()) {
            return Err(syntax("write KEY=VALUE, as in node.mips=20"));
        }
        let last = steps.pop().expect("split gives at least one");
        let mut table = Table::from_iter([(last.to_string(), parsed)]);
        for step in steps.into_iter().rev() {
            table = Table::from_iter([(step.to_string(), Value::Table(table))]);
        }
        overlay(&mut self.table, table);
        let origin = Origin::Argument(argument.to_string());
        self.origins.push((key.to_string(), origin));
        Ok(())
    }

    /// The parameters, complete and within their limits.
    ///
    /// # Errors
    /// [`ParameterError::Key`] and [`ParameterError::Range`].
    pub fn read(&self) -> Result<Parameters, ParameterError> {
        let parameters: Parameters = serde_path_to_error::deserialize(Value::Table(
            self.table.clone(),
        ))
        .map_err(|error| {
            let path = error.path().to_string();
            let reason = error.inner().message().trim().to_string();
            self.wrong(&path, reason)
        })?;
        self.check_ranges("", &self.table)?;
        self.check_sense(&parameters)?;
        Ok(parameters)
    }

    fn check_ranges(&self, prefix: &str, table: &Table) -> Result<(), ParameterError> {
        for (name, value) in table {
            let key = joined(prefix, name);
            let number = match value {
                Value::Table(table) => {
                    self.check_ranges(&key, table)?;
                    continue;
                }
                Value::Integer(number) => *number as f64,
                Value::Float(number) => *number,
                _ => continue,
            };
            let limit =
                limits::of(&key).expect("every numeric key has its limits, as a test shows");
            // Written so that a NaN is out of range, too.
            if !(limit.least <= number && number <= limit.most) {
                return Err(ParameterError::Range {
                    origin: self.origin_of(&key),
                    key,
                    value: number,
                    least: limit.least,
                    most: limit.most,
                });
            }
        }
        Ok(())
    }

    fn check_sense(&self, parameters: &Parameters) -> Result<(), ParameterError> {
        let Parameters {
            run,
            arrival,
            workload,
            ..
        } = parameters;
        let wrong = |key: &str, reason: String| Err(self.wrong(key, reason));
        if run.most_replications < run.least_replications {
            let least = run.least_replications;
            let reason = format!("must be at least run.least_replications, which is {least}");
            return wrong("run.most_replications", reason);
        }
        if arrival.process == ArrivalProcess::Hyperexponential && arrival.variation <= 1.0 {
            let reason = "must be above 1 for \"hyperexponential\"; at 1 it is \"poisson\"".into();
            return wrong("arrival.variation", reason);
        }
        if arrival.process == ArrivalProcess::OnOff && arrival.burst_factor <= 1.0 {
            let reason = "must be above 1 for \"on_off\"; at 1 it is \"poisson\"".into();
            return wrong("arrival.burst_factor", reason);
        }
        if workload.kind == WorkloadKind::Trace && workload.trace.is_empty() {
            let reason = "is needed for workload.kind = \"trace\": name the trace's file".into();
            return wrong("workload.trace", reason);
        }
        let accounts = u64::from(parameters.nodes)
            * u64::from(workload.branches_per_node)
            * u64::from(
                workload
                    .accounts_per_branch
                    .div_ceil(workload.account_blocking),
            );
        if accounts > u64::from(u32::MAX) {
            let reason = format!(
                "gives {accounts} pages of ACCOUNT; the model has at most {}: choose fewer accounts or \
                 a higher workload.account_blocking",
                u32::MAX
            );
            return wrong("workload.accounts_per_branch", reason);
        }
        Ok(())
    }

    fn wrong(&self, key: &str, reason: String) -> ParameterError {
        ParameterError::Key {
            origin: self.origin_of(key),
            key: key.to_string(),
            reason,
        }
    }

    fn origin(&self, key: &str) -> Option<&Origin> {
        let mut latest = self.origins.iter().rev();
        latest
            .find(|(named, _)| named == key)
            .map(|(_, origin)| origin)
    }

    /// The last source of `key`, or of its table: an unknown key's error may name the table only.
    fn origin_of(&self, key: &str) -> String {
        let mut key = key;
        loop {
            if let Some(origin) = self.origin(key) {
                return origin.to_string();
            }
            match key.rsplit_once('.') {
                Some((table, _)) => key = table,
                None => return "parameters".to_string(),
            }
        }
    }
}

fn note_keys(prefix: &str, table: &Spanned<DeTable<'_>>, note: &mut impl FnMut(String, usize)) {
    for (name, value) in table.get_ref() {
        let key = joined(prefix, name.get_ref());
        note(key.clone(), name.span().start);
        if let DeValue::Table(inner) = value.get_ref() {
            let inner = Spanned::new(value.span(), inner.clone());
            note_keys(&key, &inner, note);
        }
    }
}

fn joined(prefix: &str, name: &str) -> String {
    if prefix.is_empty() {
        name.to_string()
    } else {
        format!("{prefix}.{name}")
    }
}

fn overlay(below: &mut Table, above: Table) {
    for (key, value) in above {
        match (below.get_mut(&key), value) {
            (Some(Value::Table(below)), Value::Table(above)) => overlay(below, above),
            (_, value) => {
                below.insert(key, value);
            }
        }
    }
}

fn lookup<'a>(table: &'a mut Table, key: &str) -> Option<&'a mut Value> {
    let (first, rest) = key.split_once('.')?;
    match table.get_mut(first)? {
        Value::Table(inner) if !rest.contains('.') => inner.get_mut(rest),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_of(text: &str) -> String {
        let mut layers = Layers::named("paper").unwrap();
        let outcome = layers.text(Path::new("mine.toml"), text);
        outcome
            .and_then(|()| layers.read())
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn every_preset_is_complete_and_within_its_limits() {
        for preset in PRESETS {
            preset
                .parameters()
                .unwrap_or_else(|error| panic!("{}: {error}", preset.name));
        }
    }

    #[test]
    fn the_papers_preset_is_table_4_1() {
        let paper = Parameters::paper();
        let instructions = paper.node.begin_instructions
            + 4.0 * paper.node.access_instructions
            + paper.node.end_instructions;
        assert_eq!(instructions, 250_000.0);
        assert_eq!((paper.node.processors, paper.node.mips), (4, 10.0));
        assert_eq!(paper.arrival.rate_per_node, 100.0);
        let disk = &paper.disk;
        let access =
            disk.access_milliseconds + disk.controller_milliseconds + disk.transfer_milliseconds;
        assert!((access - 16.4).abs() < 1e-9);
        assert!(!paper.partition("history").locks);
        assert!(paper.partition("account").locks);
    }

    #[test]
    fn errors_name_file_line_key_and_what_is_allowed() {
        let cases = [
            (
                "nodes = 5\n[node]\nmips = 0\n",
                "mine.toml line 3: node.mips = 0 is out of range",
            ),
            (
                "[node]\nmips = nan\n",
                "mine.toml line 2: node.mips = NaN is out of range",
            ),
            (
                "\n[node]\nmisp = 1\n",
                "mine.toml line 3: node.misp: unknown field `misp`",
            ),
            (
                "nodes = \"many\"\n",
                "mine.toml line 1: nodes: invalid type: string",
            ),
            (
                "routing = \"nearest\"\n",
                "mine.toml line 1: routing: unknown variant `nearest`",
            ),
            (
                "[partition.x]\nlocks = 1\n",
                "mine.toml line 2: partition.x.locks: invalid type",
            ),
            ("nodes = = 1\n", "mine.toml line 1: this is not TOML"),
            (
                "[run]\nmost_replications = 3\n",
                "mine.toml line 2: run.most_replications: must be",
            ),
            (
                "[workload]\nkind = \"trace\"\n",
                "workload.trace: is needed",
            ),
            ("nodes = -1\n", "mine.toml line 1: nodes"),
        ];
        for (text, expected) in cases {
            let error = error_of(text);
            assert!(error.contains(expected), "{text:?} gave: {error}");
        }
    }

    #[test]
    fn keys_laid_over_a_file_are_named_by_their_argument() {
        let mut layers = Layers::named("paper").unwrap();
        layers.text(Path::new("mine.toml"), "nodes = 3\n").unwrap();
        layers.set("nodes=2000").unwrap();
        let error = layers.read().unwrap_err().to_string();
        assert_eq!(
            error,
            "nodes=2000: nodes = 2000 is out of range: choose 1 to 1000"
        );
        assert!(layers.set("nodes").is_err() && layers.set("a..b=1").is_err());
        assert!(
            Layers::named("nothing")
                .unwrap_err()
                .to_string()
                .contains("choose one of paper")
        );
    }

    #[test]
    fn every_number_has_limits() {
        let paper = Layers::named("paper").unwrap();
        let mut numbers = 0;
        fn walk(prefix: &str, table: &Table, numbers: &mut usize) {
            for (name, value) in table {
                let key = joined(prefix, name);
                match value {
                    Value::Table(table) => walk(&key, table, numbers),
                    Value::Integer(_) | Value::Float(_) => {
                        assert!(limits::of(&key).is_some(), "{key} has no limits");
                        *numbers += 1;
                    }
                    _ => {}
                }
            }
        }
        walk("", &paper.table, &mut numbers);
        // All but those of a trace's types, of which the GEM paper's file has none.
        assert_eq!(numbers, limits::LIMITS.len() - 1);
    }
}
