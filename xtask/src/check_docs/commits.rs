//! The commits that documents name: each is in the history of the work tree, so that a reader can build what was measured.
//!
//! Read are the prose of all pages, the commits of kept output, and the captions of pictures. A word of eight to forty hex
//! digits with a letter and a figure among them is a commit; after the word `commit` it needs neither. A clone without the whole
//! history, or no clone at all, cannot be checked: that is printed.

use super::{Finding, Page, figures};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The file with the captions of pictures, whose texts name commits.
const CAPTIONS: &str = "tools/figures/captions.py";

/// The commits from which the work tree descends, and its own: sorted, with all digits.
pub struct History(Vec<String>);

impl History {
    /// The history of the repository at `root`; a sentence if it is not to be had.
    pub fn read(root: &Path) -> Result<Self, String> {
        if !root.join(".git").exists() {
            return Err("this is no clone".into());
        }
        let git = |arguments: &[&str]| {
            let output = Command::new("git")
                .arg("-C")
                .arg(root)
                .args(arguments)
                .output()
                .map_err(|error| format!("git does not run: {error}"))?;
            match output.status.success() {
                true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
                false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
            }
        };
        if git(&["rev-parse", "--is-shallow-repository"])?.trim() != "false" {
            return Err("this clone is shallow: `git fetch --unshallow` completes it".into());
        }
        let list = git(&["rev-list", "HEAD"])?;
        let mut commits: Vec<String> = list.lines().map(str::to_owned).collect();
        commits.sort_unstable();
        Ok(Self(commits))
    }

    /// True if the history has a commit with these first digits.
    pub fn has(&self, digits: &str) -> bool {
        let at = self.0.partition_point(|commit| commit.as_str() < digits);
        self.0.get(at).is_some_and(|next| next.starts_with(digits))
    }
}

/// The commits that a text names, outside of its code spans.
pub fn named(text: &str) -> impl Iterator<Item = &str> {
    // A code span has the digits of files' bytes, too. An even number of backticks precedes what is outside.
    let outside = text.split('`').step_by(2);
    outside.flat_map(|part| {
        let mut before = "";
        let words = part.split(|c: char| !c.is_ascii_alphanumeric());
        words
            .filter(|word| !word.is_empty())
            .filter(move |word| is_commit(word, std::mem::replace(&mut before, *word)))
    })
}

/// True of the digits of a commit, with the word before them.
fn is_commit(word: &str, before: &str) -> bool {
    let is_digits = |c: u8| c.is_ascii_digit() || (b'a'..=b'f').contains(&c);
    let is_after = matches!(before, "commit" | "commits");
    (8..=40).contains(&word.len())
        && word.bytes().all(is_digits)
        && (is_after
            || word.bytes().any(|c| c.is_ascii_digit())
                && word.bytes().any(|c| c.is_ascii_alphabetic()))
}

/// Reports commits that the history of the work tree lacks.
pub fn check(
    root: &Path,
    pages: &HashMap<PathBuf, Page>,
    findings: &mut Vec<Finding>,
) -> anyhow::Result<()> {
    let history = match History::read(root) {
        Ok(history) => history,
        Err(why) => {
            println!("left out: the commits that documents name; {why}");
            return Ok(());
        }
    };
    let mut report = |file: &Path, line, commit: &str| {
        findings.push(Finding {
            file: file.into(),
            line,
            what: format!(
                "commit {commit} is not in the history of HEAD: a reader cannot build what was measured"
            ),
        });
    };
    for (file, page) in pages {
        for (line, text) in &page.prose {
            for commit in named(text).filter(|commit| !history.has(commit)) {
                report(file, *line, commit);
            }
        }
    }
    for (name, value) in figures::kept(root)? {
        let file = Path::new(figures::KEPT).join(format!("{name}.json"));
        let commit = value["commit"].as_str().unwrap_or("(none)");
        if commit.len() < 8 || !history.has(commit) {
            report(&file, 1, commit);
        }
    }
    if let Ok(captions) = std::fs::read_to_string(root.join(CAPTIONS)) {
        for (at, text) in captions.lines().enumerate() {
            for commit in named(text).filter(|commit| !history.has(commit)) {
                report(Path::new(CAPTIONS), at + 1, commit);
            }
        }
    }
    Ok(())
}

/// A repository with one commit, for tests; returns its digits.
#[cfg(test)]
pub fn repository(root: &Path) -> String {
    let git = |arguments: &[&str]| {
        let identity = ["user.name=test", "user.email=test@localhost"];
        let mut command = Command::new("git");
        command.arg("-C").arg(root);
        for one in identity {
            command.args(["-c", one]);
        }
        let output = command.args(arguments).output().expect("git runs");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("text")
    };
    git(&["init", "--quiet"]);
    git(&["commit", "--quiet", "--allow-empty", "--message", "one"]);
    git(&["rev-parse", "HEAD"]).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commits_of_a_text_are_found_outside_of_code() {
        let text = "commit 12345678 (2026-11-21), 0dea903f and `5eed5eed`; 10000000 rows, a deadbeef, 1a2b, 1639551c9.";
        let found: Vec<&str> = named(text).collect();
        assert_eq!(found, ["12345678", "0dea903f", "1639551c9"]);
    }

    #[test]
    fn a_commit_that_the_history_lacks_is_found_in_pages_kept_output_and_captions() {
        let root = tempfile::tempdir().expect("a directory");
        let commit = repository(root.path());
        let known = &commit[..8];
        // One that differs in its last digit.
        let last = if known.ends_with('0') { '1' } else { '0' };
        let unknown = format!("{}{last}", &known[..7]);
        let write = |path: &str, text: String| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        };
        let found = |commit: &str| {
            write("kept.md", format!("# A\n\nOf commit {commit}.\n"));
            write(
                "tools/figures/captions.py",
                format!("\"commit {commit}\"\n"),
            );
            let kept = format!("{{\"commit\": \"{commit}\"}}");
            write("docs/figures/kept/run.json", kept);
            let text = std::fs::read_to_string(root.path().join("kept.md")).expect("a page");
            let pages = HashMap::from([(PathBuf::from("kept.md"), Page::parse(&text))]);
            let mut findings = Vec::new();
            check(root.path(), &pages, &mut findings).expect("read");
            let places = findings.iter();
            let places = places.map(|one| format!("{}:{}", one.file.display(), one.line));
            places.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(found(known), "");
        assert_eq!(found(&commit), "");
        assert_eq!(
            found(&unknown),
            "kept.md:3 docs/figures/kept/run.json:1 tools/figures/captions.py:1"
        );
        // Without the history there is nothing to compare with.
        std::fs::remove_dir_all(root.path().join(".git")).expect("removed");
        assert_eq!(found(&unknown), "");
    }
}
