//! `check-rooms`: imports run downhill.
//!
//! A crate that has rooms in [`plan::CRATES`] is read file by file: a file imports from its own room and from those
//! below it, never from one above. Every file belongs to a room. Within a room files may import each other in a cycle
//! of at most [`plan::CIRCLE_FILES_MAX`] files. And a crate depends only on crates of lower floors of [`plan::FLOORS`].
//! Imports of tests are not checked.

mod circles;
mod imports;
mod plan;

use anyhow::{Context, bail, ensure};
use circles::Modules;
use imports::Import;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(clap::Args)]
pub struct CheckRooms {
    /// The repository's directory.
    #[arg(long, default_value = ".")]
    root: PathBuf,
}

/// One fault of the structure.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    /// Relative to the repository's directory.
    file: PathBuf,
    /// From 1.
    line: usize,
    text: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file.display(), self.line, self.text)
    }
}

/// The rooms of a crate, from the ground up.
struct Rooms {
    /// The directory of its sources.
    sources: &'static str,
    /// The rooms' names with their modules; a module belongs to the room with the longest of its prefixes.
    rooms: &'static [(&'static str, &'static [&'static str])],
}

impl Rooms {
    /// The room of a module, by its number from the ground.
    fn room_of(&self, module: &[String]) -> Option<usize> {
        let mut found: Option<(usize, usize)> = None;
        for (number, (_, modules)) in self.rooms.iter().enumerate() {
            for known in *modules {
                let parts = known.split("::").count();
                let is_it = parts <= module.len()
                    && known
                        .split("::")
                        .zip(module)
                        .all(|(known, part)| known == part);
                if is_it && found.is_none_or(|(longest, _)| parts > longest) {
                    found = Some((parts, number));
                }
            }
        }
        found.map(|(_, number)| number)
    }

    /// Checks one file, whose module this is.
    fn check(&self, file: &Path, module: &[String], text: &str, findings: &mut Vec<Finding>) {
        let mut find = |line, text| {
            findings.push(Finding {
                file: file.to_path_buf(),
                line,
                text,
            });
        };
        let Some(own) = self.room_of(module) else {
            let rule = "every file belongs to a room: add its module to CRATES in xtask/src/check_rooms/plan.rs";
            return find(
                1,
                format!("module {} is in no room; {rule}", module.join("::")),
            );
        };
        for Import { line, path, .. } in imports::of(module, text) {
            let Some(other) = self.room_of(&path).filter(|other| *other > own) else {
                continue;
            };
            let (own, other) = (self.rooms[own].0, self.rooms[other].0);
            find(
                line,
                format!(
                    "imports crate::{}: room `{own}` is below `{other}`, and imports run downhill",
                    path.join("::")
                ),
            );
        }
    }
}

impl CheckRooms {
    pub fn run(self) -> anyhow::Result<()> {
        let mut findings = Vec::new();
        let mut files = 0;
        for rooms in plan::CRATES {
            let sources = self.root.join(rooms.sources);
            let mut modules = Modules::new();
            for file in sources_below(&sources)? {
                let text = std::fs::read_to_string(&file)
                    .with_context(|| format!("reading {}", file.display()))?;
                let module = module_of(file.strip_prefix(&sources)?);
                // The crate's root may import everything.
                if module.is_empty() {
                    continue;
                }
                files += 1;
                let shown = file.strip_prefix(&self.root).unwrap_or(&file);
                rooms.check(shown, &module, &text, &mut findings);
                let imports = imports::of(&module, &text);
                modules.insert(module.join("::"), (shown.to_path_buf(), imports));
            }
            circles::check(&modules, plan::CIRCLE_FILES_MAX, &mut findings);
        }
        let manifests = manifests(&self.root)?;
        let crates = manifests.len();
        check_floors(plan::FLOORS, &manifests, &mut findings);
        for finding in &findings {
            println!("{finding}");
        }
        if !findings.is_empty() {
            bail!(
                "{} imports or dependencies run uphill or in a circle",
                findings.len()
            );
        }
        println!("{files} files in rooms, {crates} crates on floors: all imports run downhill");
        Ok(())
    }
}

/// The Rust files below a directory except tests, in order.
fn sources_below(directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let entries =
        std::fs::read_dir(directory).with_context(|| format!("reading {}", directory.display()))?;
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() && name != "tests" {
            found.extend(sources_below(&path)?);
        } else if name.ends_with(".rs") && name != "tests.rs" {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// The module of a file, from the crate's root.
fn module_of(file: &Path) -> Vec<String> {
    let without = file.with_extension("");
    let parts = without
        .iter()
        .map(|part| part.to_string_lossy().into_owned());
    let mut module: Vec<String> = parts.collect();
    let is_own = |last: &String| matches!(last.as_str(), "mod" | "lib" | "main");
    if module.last().is_some_and(is_own) {
        module.pop();
    }
    module
}

/// A crate's manifest, and the crates of the workspace that it depends on.
struct Manifest {
    file: PathBuf,
    name: String,
    dependencies: Vec<String>,
}

/// The manifests of the workspace.
fn manifests(root: &Path) -> anyhow::Result<Vec<Manifest>> {
    let output = Command::new("cargo")
        .args([
            "metadata",
            "--no-deps",
            "--offline",
            "--format-version",
            "1",
        ])
        .current_dir(root)
        .output()
        .context("running cargo metadata")?;
    ensure!(
        output.status.success(),
        "cargo metadata: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let root = root.canonicalize()?;
    let list = |value: &serde_json::Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_string();
    let packages = list(&metadata["packages"]);
    let manifests = packages.iter().map(|package| {
        let file = PathBuf::from(text(&package["manifest_path"]));
        let used = list(&package["dependencies"]).into_iter();
        // Dependencies with a path are of the workspace; those of tests alone are not checked.
        let used = used.filter(|of| of["path"].is_string() && of["kind"] != "dev");
        Manifest {
            file: file
                .strip_prefix(&root)
                .map(Path::to_path_buf)
                .unwrap_or(file),
            name: text(&package["name"]),
            dependencies: used.map(|of| text(&of["name"])).collect(),
        }
    });
    Ok(manifests.collect())
}

/// Checks that crates depend on those of lower floors only.
fn check_floors(floors: &[&[&str]], manifests: &[Manifest], findings: &mut Vec<Finding>) {
    let floor_of = |name: &str| floors.iter().position(|floor| floor.contains(&name));
    for manifest in manifests {
        let mut find = |text| {
            findings.push(Finding {
                file: manifest.file.clone(),
                line: 1,
                text,
            });
        };
        let Some(own) = floor_of(&manifest.name) else {
            find(format!(
                "crate {} is on no floor; add it to FLOORS in xtask/src/check_rooms/plan.rs",
                manifest.name
            ));
            continue;
        };
        for other in &manifest.dependencies {
            let Some(floor) = floor_of(other).filter(|floor| *floor >= own) else {
                continue;
            };
            find(format!(
                "depends on {other}: floor {floor} is not below floor {own} of {}, and dependencies run downhill",
                manifest.name
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOMS: Rooms = Rooms {
        sources: "src",
        rooms: &[
            ("ground", &["error", "copy::options"]),
            ("plans", &["plan"]),
            ("sessions", &["session", "copy"]),
        ],
    };

    fn module(path: &str) -> Vec<String> {
        path.split("::").map(str::to_string).collect()
    }

    fn found(path: &str, text: &str) -> Vec<String> {
        let mut findings = Vec::new();
        ROOMS.check(Path::new("src/x.rs"), &module(path), text, &mut findings);
        findings.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_import_that_runs_up_is_found_with_its_line_and_rule() {
        let text = "use crate::error::SqlError;\nuse crate::session::{self, state::Drawn};\n";
        let rule = "room `plans` is below `sessions`, and imports run downhill";
        assert_eq!(
            found("plan::select", text),
            [
                format!("src/x.rs:2: imports crate::session: {rule}"),
                format!("src/x.rs:2: imports crate::session::state::Drawn: {rule}"),
            ]
        );
        assert_eq!(found("session::state", text), [""; 0]);
    }

    #[test]
    fn a_module_may_stand_below_the_one_that_holds_it() {
        assert_eq!(found("plan", "use crate::copy::options::Options;"), [""; 0]);
        assert_eq!(found("plan", "fn f() { crate::copy::run() }").len(), 1);
        assert_eq!(found("copy::options", "use super::Copy;").len(), 1);
    }

    #[test]
    fn a_file_without_a_room_is_found() {
        let [text] = &found("stray", "")[..] else {
            panic!("one finding is expected");
        };
        assert!(text.starts_with("src/x.rs:1: module stray is in no room; every file"));
    }

    #[test]
    fn tests_comments_and_texts_import_nothing() {
        let text = "// crate::session::a\nconst A: &str = \"crate::session::b\";\n\
                    #[cfg(test)]\nmod tests {\n    use crate::session::c;\n}\n";
        assert_eq!(found("plan", text), [""; 0]);
    }

    #[test]
    fn a_dependency_that_does_not_run_down_is_found() {
        let manifest = |name: &str, dependencies: &[&str]| Manifest {
            file: format!("{name}/Cargo.toml").into(),
            name: name.to_string(),
            dependencies: dependencies.iter().map(ToString::to_string).collect(),
        };
        let manifests = [
            manifest("base", &["table"]),
            manifest("table", &["base"]),
            manifest("lock", &["table"]),
            manifest("stray", &[]),
        ];
        let mut findings = Vec::new();
        check_floors(&[&["base"], &["table", "lock"]], &manifests, &mut findings);
        let files: Vec<_> = findings.iter().map(|one| one.file.to_str()).collect();
        let expected = ["base/Cargo.toml", "lock/Cargo.toml", "stray/Cargo.toml"];
        assert_eq!(files, expected.map(Some));
    }

    #[test]
    fn modules_are_told_from_files() {
        assert_eq!(module_of(Path::new("plan/mod.rs")), module("plan"));
        assert_eq!(module_of(Path::new("plan/from.rs")), module("plan::from"));
        assert_eq!(module_of(Path::new("lib.rs")), [""; 0]);
    }
}
