//! `public-api --since REVISION`: the lowest version that may have the API of today, after that of a revision.
//!
//! The two states of docs/public-api.txt are compared, and the versions in `Cargo.toml`, so this needs git alone. That the
//! file is as the code has it is the task of `check-docs`.
//!
//! A line that was removed or changed is taken for a breaking change. That is too strict for some, such as a new default
//! of a type's parameter, and never too lax.

use std::fmt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};

use crate::package::output_of;

/// Lines that one list has and another lacks, in both directions.
#[derive(Debug, Default, PartialEq, Eq)]
struct Changes {
    removed: Vec<String>,
    added: Vec<String>,
}

impl Changes {
    fn between(before: &str, after: &str) -> Changes {
        let lacked = |list: &str, other: &str| {
            let known: std::collections::HashSet<&str> = other.lines().collect();
            let lines = list.lines().filter(|line| !known.contains(line));
            lines.map(str::to_owned).collect()
        };
        Changes {
            removed: lacked(before, after),
            added: lacked(after, before),
        }
    }
}

impl fmt::Display for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let removed = self.removed.iter().map(|line| ("-", line));
        let added = self.added.iter().map(|line| ("+", line));
        for (sign, line) in removed.chain(added) {
            writeln!(f, "{sign} {line}")?;
        }
        Ok(())
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Version {
    major: u64,
    minor: u64,
    patch: u64,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

impl Version {
    /// The workspace's version in the text of `Cargo.toml`.
    fn of_workspace(manifest: &str) -> Option<Version> {
        let (_, section) = manifest.split_once("[workspace.package]")?;
        let mut lines = section.lines().take_while(|line| !line.starts_with('['));
        let text = lines.find_map(|line| line.strip_prefix("version = \""))?;
        let mut numbers = text.strip_suffix('"')?.split('.').map(str::parse);
        let mut number = || numbers.next()?.ok();
        Some(Version {
            major: number()?,
            minor: number()?,
            patch: number()?,
        })
    }

    /// The lowest version that may come after this one with these changes (docs/releasing.md, "Policies").
    fn lowest_after(self, changes: &Changes) -> Version {
        let (major, minor, patch) = (self.major, self.minor, self.patch);
        let (major, minor, patch) = match (changes.removed.is_empty(), changes.added.is_empty()) {
            (true, true) => (major, minor, patch),
            (true, false) if major == 0 => (major, minor, patch + 1),
            (true, false) => (major, minor + 1, 0),
            (false, _) if major == 0 => (major, minor + 1, 0),
            (false, _) => (major + 1, 0, 0),
        };
        Version {
            major,
            minor,
            patch,
        }
    }
}

/// Compares the list of today with that of a revision, and both versions.
///
/// # Errors
/// Today's version is lower than the changes need, or the revision has no such file.
pub fn check(revision: &str, list: &Path) -> anyhow::Result<()> {
    let then = |path: &Path| {
        let object = format!("{revision}:./{}", path.display());
        output_of(Command::new("git").args(["show", &object]))
    };
    let manifest = Path::new("Cargo.toml");
    let now = |path: &Path| {
        std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))
    };
    let changes = Changes::between(&then(list)?, &now(list)?);
    let version = |text: String| {
        Version::of_workspace(&text).context("Cargo.toml has no version of the workspace")
    };
    let (before, after) = (version(then(manifest)?)?, version(now(manifest)?)?);
    print!("{changes}");
    println!("{}", verdict(revision, before, after, &changes)?);
    Ok(())
}

fn verdict(
    revision: &str,
    before: Version,
    after: Version,
    changes: &Changes,
) -> anyhow::Result<String> {
    let (removed, added) = (changes.removed.len(), changes.added.len());
    let lowest = before.lowest_after(changes);
    let found = format!(
        "since {revision} ({before}), {removed} lines of the public API were removed or changed, and {added} are new"
    );
    if after < lowest {
        bail!("{found}: the version must be at least {lowest}, and is {after}");
    }
    Ok(format!("{found}: {after} is high enough"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        let manifest = format!("[workspace.package]\nversion = \"{text}\"\n");
        Version::of_workspace(&manifest).unwrap()
    }

    #[test]
    fn a_removed_line_needs_a_higher_version_than_an_added_one() {
        let lists = ["pub a\npub b\n", "pub a\npub b\npub c\n", "pub a\npub c\n"];
        for (after, of_zero, of_one) in [
            (lists[0], "0.3.4", "1.3.4"),
            (lists[1], "0.3.5", "1.4.0"),
            (lists[2], "0.4.0", "2.0.0"),
        ] {
            let changes = Changes::between(lists[0], after);
            assert_eq!(version("0.3.4").lowest_after(&changes), version(of_zero));
            assert_eq!(version("1.3.4").lowest_after(&changes), version(of_one));
        }
        let changes = Changes::between(lists[0], lists[2]);
        assert_eq!(changes.to_string(), "- pub b\n+ pub c\n");
        let judge = |after| verdict("v1", version("0.3.4"), version(after), &changes);
        let refused = judge("0.3.9").unwrap_err().to_string();
        assert!(
            refused.ends_with("must be at least 0.4.0, and is 0.3.9"),
            "{refused}"
        );
        assert!(judge("0.4.0").is_ok() && judge("1.0.0").is_ok());
    }

    #[test]
    fn the_version_is_the_workspaces() {
        let manifest = "[package]\nversion = \"9.0.0\"\n[workspace.package]\nedition = \"2024\"\nversion = \"1.2.3\"\n[x]\n";
        assert_eq!(
            Version::of_workspace(manifest).unwrap().to_string(),
            "1.2.3"
        );
        for wrong in [
            "",
            "[workspace.package]\n[x]\nversion = \"1.2.3\"\n",
            "[workspace.package]\nversion = \"1.2\"\n",
        ] {
            assert_eq!(Version::of_workspace(wrong), None);
        }
    }
}
