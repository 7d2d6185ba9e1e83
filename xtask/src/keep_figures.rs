//! `keep-figures`: runs a command that prints JSON, and keeps its output with command, commit, date and machine in
//! docs/figures/kept. Tables of the documents are written from there (`check_docs::figures`).
//!
//! A command may print several values, such as one for each of five runs. They are kept as a list; or, with `--median`,
//! as one value, in which each number is the median of its own.
//!
//! A reader must be able to repeat the run. So the commit is one of the history, the work tree has no changes but those of
//! documents, and the command that is shown has the options of the one that runs.

use crate::check_docs::{History, KEPT};
use crate::package::output_of;
use anyhow::{Context, anyhow, ensure};
use clap::Args;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Options of `keep-figures`.
#[derive(Args)]
pub struct KeepFigures {
    /// The file's name, without `.json`.
    name: String,
    /// The command as readers repeat it, with the same words; a path may be shortened [default: as it is run].
    #[arg(long = "as", value_name = "COMMAND")]
    shown: Option<String>,
    /// A circumstance that matters, such as other load.
    #[arg(long)]
    note: Option<String>,
    /// Keeps the median of each number of the values that the command prints.
    #[arg(long)]
    median: bool,
    /// The commit of the measured program, one of the history [default: that of the work tree].
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
        if let Some(shown) = &self.shown {
            compare(shown, &self.command)?;
        }
        // Before the run, which may take an hour.
        let commit = self.commit()?;
        let program = self.command.first().context("a command")?;
        let arguments = self.command.iter().skip(1);
        // The progress of a benchmark is seen while it runs.
        let printed = output_of(
            Command::new(program)
                .args(arguments)
                .stderr(Stdio::inherit()),
        )?;
        let values = values_of(&printed)?;
        let count = values.len();
        let output = match (self.median, <[Value; 1]>::try_from(values)) {
            (_, Ok([value])) => value,
            (false, Err(values)) => values.into(),
            (true, Err(values)) => median_of(&values.iter().collect::<Vec<_>>()),
        };
        let kept = json!({
            "command": self.shown.clone().unwrap_or_else(|| self.command.join(" ")),
            "commit": commit,
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

    /// The commit to keep, in as few digits as name it alone, but eight at least.
    fn commit(&self) -> anyhow::Result<String> {
        let given = self.commit.as_deref();
        let history = History::read(&self.root)
            .map_err(|why| anyhow!("the commit cannot be checked: {why}"))?;
        let commit = match given {
            // A name that moves, such as a branch, is its commit of now.
            Some(name) => self.git(&["rev-parse", "--verify", &format!("{name}^{{commit}}")])?,
            None => self.git(&["rev-parse", "HEAD"])?,
        };
        ensure!(
            history.has(&commit),
            "commit {commit} is not in the history of HEAD, so a reader cannot build it: measure a program of HEAD, or of a \
             commit below it"
        );
        let changed = self.git(&[
            "status",
            "--porcelain",
            "--",
            ".",
            ":(exclude)*.md",
            ":(exclude)docs",
        ])?;
        ensure!(
            changed.is_empty(),
            "the work tree has changes that commit {commit} lacks: commit them, or measure in a clean one\n{changed}"
        );
        self.git(&["rev-parse", "--short=8", &commit])
    }

    fn git(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let mut command = Command::new("git");
        let printed = output_of(command.arg("-C").arg(&self.root).args(arguments))?;
        Ok(printed.trim().into())
    }
}

/// Refuses a command to be shown that does something else than the one that runs: its words are the same, but for the path of
/// a file or program, of which the last part suffices, and for an uppercase word in place of a path.
fn compare(shown: &str, command: &[String]) -> anyhow::Result<()> {
    // A script that runs it several times has its words, and those of a loop.
    let (runs, is_script) = match command {
        [shell, flag, script] if matches!(&**shell, "sh" | "bash") && flag == "-c" => {
            (plain(script), true)
        }
        words => (plain(&words.join(" ")), false),
    };
    let shown = plain(shown);
    let lacks = |words: &[String], word: &String| !words.iter().any(|other| is_same(word, other));
    let differing = match is_script {
        true => {
            let is_option = |word: &&String| word.starts_with('-');
            let mut more = runs.iter().filter(is_option);
            let mut less = shown.iter();
            more.find(|word| lacks(&shown, word))
                .or_else(|| less.find(|word| lacks(&runs, word)))
        }
        false => {
            let mut pairs = shown.iter().zip(&runs);
            let pair = pairs.find(|(shown, run)| !is_same(shown, run));
            let longer = || shown.get(runs.len()).or_else(|| runs.get(shown.len()));
            pair.map(|(_, run)| run).or_else(longer)
        }
    };
    match differing {
        None => Ok(()),
        Some(word) => Err(anyhow!(
            "--as shows another command than the one that runs: {word:?} is not in both, or at another place"
        )),
    }
}

/// The words of a command, with a program that cargo builds and runs as its name alone.
fn plain(command: &str) -> Vec<String> {
    let words = command.split_whitespace();
    let words = words.map(|word| word.trim_matches(['\'', '"', ';', '`', ',']));
    let words: Vec<String> = words
        .filter(|word| !word.is_empty())
        .map(Into::into)
        .collect();
    let rest = |from: usize| words.get(from..).unwrap_or_default().to_vec();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["cargo", "xtask", ..] => [vec!["xtask".into()], rest(2)].concat(),
        ["cargo", "run", ..] => {
            let end = words.iter().position(|word| word == "--");
            let end = end.unwrap_or(words.len());
            let of = |option: &str| {
                let at = words.iter().position(|word| word == option)?;
                words.get(at + 1).cloned()
            };
            let name = of("--example").or_else(|| of("--bin")).or_else(|| of("-p"));
            let name = name.unwrap_or_else(|| "sardonyx".into());
            [vec![name], rest(end + 1)].concat()
        }
        _ => words,
    }
}

/// True of a word, and the same with another path before it.
fn is_same(one: &str, other: &str) -> bool {
    let last = |word: &str| word.rsplit('/').next().unwrap_or_default().to_owned();
    let is_place = |word: &str| word.len() > 1 && word.bytes().all(|c| c.is_ascii_uppercase());
    one == other
        || (one.contains('/') || other.contains('/'))
            && (last(one) == last(other) || is_place(one) || is_place(other))
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
            // Of an even number of values, the mean of the two in the middle.
            let upper = numbers.len() / 2;
            let lower = numbers.len().saturating_sub(1) / 2;
            match (numbers.get(lower), numbers.get(upper)) {
                (Some(lower), Some(upper)) => json!(f64::midpoint(*lower, *upper)),
                _ => first.clone().into(),
            }
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
    use crate::check_docs::repository;

    fn keep(root: &std::path::Path, name: &str, script: &str) -> anyhow::Result<()> {
        kept_of(root, name, script, None)
    }

    fn kept_of(
        root: &std::path::Path,
        name: &str,
        script: &str,
        commit: Option<&str>,
    ) -> anyhow::Result<()> {
        let figures = KeepFigures {
            name: name.into(),
            shown: None,
            note: None,
            median: name == "medians",
            commit: commit.map(Into::into),
            root: root.into(),
            command: ["sh", "-c", script].map(String::from).to_vec(),
        };
        figures.run()
    }

    #[test]
    fn output_is_kept_with_its_command_and_nothing_is_kept_of_a_command_that_fails() {
        let root = tempfile::tempdir().unwrap();
        let commit = repository(root.path());
        let file = root.path().join(KEPT).join("run.json");
        for script in ["echo '{}'; exit 1", "echo text", "true"] {
            assert!(keep(root.path(), "run", script).is_err(), "{script}");
        }
        assert!(keep(root.path(), "../run", "echo 1").is_err());
        assert!(!file.exists());
        keep(root.path(), "run", "echo '{\"rate\": 7}'").unwrap();
        let kept: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        assert_eq!(kept["output"]["rate"], 7);
        assert_eq!(kept["command"], "sh -c echo '{\"rate\": 7}'");
        assert_eq!(kept["commit"], commit[..8]);
        assert!(
            kept["machine"]["processors"]
                .as_u64()
                .is_some_and(|count| count > 0)
        );
        let kept_values = |name: &str, script: &str| -> Value {
            keep(root.path(), name, script).unwrap();
            let file = root.path().join(KEPT).join(format!("{name}.json"));
            serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
        };
        let runs = "echo '{\"a\": [7, \"x\"]} {\"a\": [1, \"y\"]} {\"a\": [3, \"z\"]}'";
        let medians = kept_values("medians", runs);
        assert_eq!(medians["output"], json!({"a": [3.0, "x"]}));
        assert_eq!(medians["medians_of"], 3);
        assert_eq!(kept_values("medians", "echo 1 2 4 9")["output"], json!(3.0));
        assert_eq!(
            kept_values("lines", "echo 1; echo; echo 2")["output"],
            json!([1, 2])
        );
    }

    #[test]
    fn a_commit_that_a_reader_cannot_build_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let commit = repository(root.path());
        let fails = |given| {
            let kept = kept_of(root.path(), "run", "echo 1", given);
            kept.unwrap_err().to_string()
        };
        let names = [None, Some(&*commit), Some(&commit[..9]), Some("HEAD")];
        for given in names {
            kept_of(root.path(), "run", "echo 1", given).unwrap();
        }
        for unknown in ["12345678", "no-branch"] {
            fails(Some(unknown));
        }
        // A commit of no history.
        let git = |arguments: &[&str]| {
            let mut git = Command::new("git");
            git.arg("-C").arg(root.path());
            git.args(["-c", "user.name=test", "-c", "user.email=test@localhost"]);
            output_of(git.args(arguments)).unwrap().trim().to_owned()
        };
        let tree = format!("{commit}^{{tree}}");
        let apart = git(&["commit-tree", "-m", "apart", &tree]);
        let said = fails(Some(&apart));
        assert!(said.contains("not in the history"), "{said}");
        // A page is no part of a program.
        std::fs::write(root.path().join("page.md"), "# A").unwrap();
        keep(root.path(), "run", "echo 1").unwrap();
        std::fs::write(root.path().join("program.rs"), "").unwrap();
        for given in names {
            let said = fails(given);
            assert!(said.contains("program.rs"), "{said}");
        }
        std::fs::remove_dir_all(root.path().join(".git")).unwrap();
        let said = fails(Some(&commit));
        assert!(said.contains("cannot be checked"), "{said}");
    }

    #[test]
    fn the_command_that_is_shown_is_the_one_that_runs() {
        let words = |command: &str| command.split(' ').map(String::from).collect::<Vec<_>>();
        for (shown, command) in [
            ("sardonyx d-c --json", "target/dist/sardonyx d-c --json"),
            ("a --floor …/b --output DIR", "a --floor /x/b --output /y/z"),
            ("cargo xtask a --b", "target/release/xtask a --b"),
            (
                "cargo run --release -p sardonyx --example followers -- 3 4",
                "target/release/examples/followers 3 4",
            ),
        ] {
            compare(shown, &words(command)).unwrap();
        }
        for (shown, command) in [
            ("a --json", "a --only b --json"),
            ("a --only b --json", "a --json"),
            ("a --rounds 5", "a --rounds 3"),
            ("x/a", "x/b"),
            ("a DIR", "a --json"),
        ] {
            assert!(compare(shown, &words(command)).is_err(), "{shown}");
        }
        let script = |text: &str| ["sh", "-c", text].map(String::from).to_vec();
        let shown = "sardonyx d-c --seed 1 --json";
        let looped = "for i in 1 2 3; do x/sardonyx d-c --seed 1 --json; done";
        compare(shown, &script(looped)).unwrap();
        for other in ["--json --a", "", "--json --only b"] {
            let other = looped.replace("--json", other);
            assert!(compare(shown, &script(&other)).is_err(), "{other}");
        }
    }
}
