//! `keep-figures`: runs a command that prints JSON, and keeps its output with command, commit, date and machine in
//! docs/figures/kept. Tables of the documents are written from there (`check_docs::figures`).
//!
//! A command may print several values, such as one for each of five runs. They are kept as a list; or, with `--median`,
//! as one value, in which each number is the median of its own.

use crate::check_docs::KEPT;
use crate::package::output_of;
use anyhow::{Context, ensure};
use clap::Args;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Command;

/// Options of `keep-figures`.
#[derive(Args)]
pub struct KeepFigures {
    /// The file's name, without `.json`.
    name: String,
    /// The command as readers repeat it [default: as it is run].
    #[arg(long = "as", value_name = "COMMAND")]
    shown: Option<String>,
    /// A circumstance that matters, such as other load.
    #[arg(long)]
    note: Option<String>,
    /// Keeps the median of each number of the values that the command prints.
    #[arg(long)]
    median: bool,
    /// The commit of the measured program [default: that of the work tree].
    #[arg(long)]
    commit: Option<String>,
    /// The repository's directory.
    #[arg(long, default_value = ".")]
    root: PathBuf,
    /// The command, and its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<String>,
}

impl KeepFigures {
    /// Runs the command, and keeps its output.
    pub fn run(&self) -> anyhow::Result<()> {
        let is_name = |name: &str| name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        ensure!(
            !self.name.is_empty() && is_name(&self.name),
            "{:?} is no name of a file: letters, digits and - make one",
            self.name
        );
        let program = self.command.first().context("a command")?;
        let arguments = self.command.iter().skip(1);
        let printed = output_of(Command::new(program).args(arguments))?;
        let values = values_of(&printed)?;
        let count = values.len();
        let output = match (self.median, <[Value; 1]>::try_from(values)) {
            (_, Ok([value])) => value,
            (false, Err(values)) => values.into(),
            (true, Err(values)) => median_of(&values.iter().collect::<Vec<_>>()),
        };
        let kept = json!({
            "command": self.shown.clone().unwrap_or_else(|| self.command.join(" ")),
            "commit": match &self.commit {
                Some(commit) => commit.clone(),
                None => self.git(&["rev-parse", "--short=8", "HEAD"])?,
            },
            "date": output_of(Command::new("date").args(["--utc", "+%Y-%m-%d"]))?.trim(),
            "machine": machine()?,
            "note": self.note,
            "medians_of": (self.median && count > 1).then_some(count),
            "output": output,
        });
        let directory = self.root.join(KEPT);
        std::fs::create_dir_all(&directory)?;
        let file = directory.join(format!("{}.json", self.name));
        let text = serde_json::to_string_pretty(&kept)? + "\n";
        std::fs::write(&file, text).with_context(|| file.display().to_string())?;
        println!("{}", file.display());
        Ok(())
    }

    fn git(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let mut command = Command::new("git");
        let printed = output_of(command.arg("-C").arg(&self.root).args(arguments))?;
        Ok(printed.trim().into())
    }
}

/// The JSON values that a command printed, one after the other.
fn values_of(printed: &str) -> anyhow::Result<Vec<Value>> {
    let values = serde_json::Deserializer::from_str(printed).into_iter();
    let values: Result<Vec<Value>, _> = values.collect();
    let values = values.context("the command printed something else than JSON")?;
    ensure!(!values.is_empty(), "the command printed nothing");
    Ok(values)
}

/// One value of several of the same form: of numbers, the median; of all else, the first.
fn median_of(values: &[&Value]) -> Value {
    let parts = |part: &dyn Fn(&Value) -> Option<Value>| -> Vec<Value> {
        values.iter().filter_map(|value| part(value)).collect()
    };
    match values.first() {
        Some(Value::Number(first)) => {
            let mut numbers: Vec<f64> = values.iter().filter_map(|value| value.as_f64()).collect();
            numbers.sort_by(f64::total_cmp);
            numbers
                .get(numbers.len() / 2)
                .map_or_else(|| first.clone().into(), |median| json!(median))
        }
        Some(Value::Array(first)) => (0..first.len())
            .map(|at| {
                let found = parts(&|value| value.get(at).cloned());
                median_of(&found.iter().collect::<Vec<_>>())
            })
            .collect::<Vec<_>>()
            .into(),
        Some(Value::Object(first)) => {
            let fields = first.keys().map(|key| {
                let found = parts(&|value| value.get(key).cloned());
                (key.clone(), median_of(&found.iter().collect::<Vec<_>>()))
            });
            Value::Object(fields.collect())
        }
        Some(other) => (*other).clone(),
        None => Value::Null,
    }
}

/// Processors, memory and kernel of this machine.
fn machine() -> anyhow::Result<Value> {
    let processors = std::fs::read_to_string("/proc/cpuinfo")?;
    let model = processors.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == "model name").then(|| value.trim().to_string())
    });
    let memory = std::fs::read_to_string("/proc/meminfo")?;
    let kilobytes = memory.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let number = value.trim().split(' ').next()?;
        (name == "MemTotal").then(|| number.parse::<u64>().ok())?
    });
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease")?;
    Ok(json!({
        "processor": model,
        "processors": std::thread::available_parallelism()?.get(),
        "memory_gibibytes": kilobytes.map(|kilobytes| kilobytes >> 20),
        "kernel": kernel.trim(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keep(root: &std::path::Path, name: &str, script: &str) -> anyhow::Result<()> {
        let figures = KeepFigures {
            name: name.into(),
            shown: Some("program --json".into()),
            note: None,
            median: name == "medians",
            commit: Some("12345678".into()),
            root: root.into(),
            command: ["sh", "-c", script].map(String::from).to_vec(),
        };
        figures.run()
    }

    #[test]
    fn output_is_kept_with_its_command_and_nothing_is_kept_of_a_command_that_fails() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join(KEPT).join("run.json");
        for script in ["echo '{}'; exit 1", "echo text", "true"] {
            assert!(keep(root.path(), "run", script).is_err(), "{script}");
        }
        assert!(keep(root.path(), "../run", "echo 1").is_err());
        assert!(!file.exists());
        keep(root.path(), "run", "echo '{\"rate\": 7}'").unwrap();
        let kept: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        assert_eq!(kept["output"]["rate"], 7);
        assert_eq!(
            (&kept["command"], &kept["commit"]),
            (&json!("program --json"), &json!("12345678"))
        );
        assert!(
            kept["machine"]["processors"]
                .as_u64()
                .is_some_and(|count| count > 0)
        );
        let runs = "echo '{\"a\": [7, \"x\"]} {\"a\": [1, \"y\"]} {\"a\": [3, \"z\"]}'";
        keep(root.path(), "medians", runs).unwrap();
        let medians = std::fs::read_to_string(root.path().join(KEPT).join("medians.json")).unwrap();
        let medians: Value = serde_json::from_str(&medians).unwrap();
        assert_eq!(medians["output"], json!({"a": [3.0, "x"]}));
        assert_eq!(medians["medians_of"], 3);
        keep(root.path(), "lines", "echo 1; echo; echo 2").unwrap();
        let lines = std::fs::read_to_string(root.path().join(KEPT).join("lines.json")).unwrap();
        assert!(
            lines.contains("\"output\": [\n    1,\n    2\n  ]"),
            "{lines}"
        );
    }
}
