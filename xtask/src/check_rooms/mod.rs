//! `check-rooms`: imports run downhill.
//!
//! A crate that has rooms in [`plan::CRATES`] is read file by file: a file imports from its own room and from those
//! below it, never from one above. Every file belongs to a room. In every crate files may import each other in a circle
//! of at most [`plan::CIRCLE_FILES_MAX`] files, or of the number that [`plan::LARGER_CIRCLES`] states. And a crate depends
//! only on crates of lower floors of [`plan::FLOORS`]. Imports of tests are not checked.

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
    fn check(
        &self,
        file: &Path,
        module: &[String],
        imports: &[Import],
        findings: &mut Vec<Finding>,
    ) {
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
        for Import { line, path, .. } in imports {
            let Some(other) = self.room_of(path).filter(|other| *other > own) else {
                continue;
            };
            let (own, other) = (self.rooms[own].0, self.rooms[other].0);
            find(
                *line,
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
        let mut read = Read::default();
        let manifests = manifests(&self.root)?;
        for manifest in &manifests {
            let directory = manifest.file.parent().unwrap_or(Path::new("")).join("src");
            if self.root.join(&directory).is_dir() {
                read.check_crate(&self.root, &directory, &manifest.name, &mut findings)?;
            }
        }
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
        println!("{read}");
        Ok(())
    }
}

/// Everything that was read, for the last line.
#[derive(Default)]
struct Read {
    files: usize,
    crates: usize,
    /// Files of crates whose rooms are declared.
    in_rooms: usize,
    with_rooms: Vec<String>,
    /// The sizes of the largest circles, with their crates.
    circles: Vec<(usize, String)>,
}

impl Read {
    /// Reads a crate's files below `directory`.
    fn check_crate(
        &mut self,
        root: &Path,
        directory: &Path,
        name: &str,
        findings: &mut Vec<Finding>,
    ) -> anyhow::Result<()> {
        let rooms = plan::CRATES
            .iter()
            .find(|rooms| Path::new(rooms.sources) == directory);
        let sources = root.join(directory);
        let mut modules = Modules::new();
        for file in sources_below(&sources)? {
            let text = std::fs::read_to_string(&file)
                .with_context(|| format!("reading {}", file.display()))?;
            let module = module_of(file.strip_prefix(&sources)?);
            self.files += 1;
            // The crate's root may import everything.
            if module.is_empty() {
                continue;
            }
            let shown = file.strip_prefix(root).unwrap_or(&file);
            let imports = imports::of(&module, &text);
            if let Some(rooms) = rooms {
                self.in_rooms += 1;
                rooms.check(shown, &module, &imports, findings);
            }
            modules.insert(module.join("::"), (shown.to_path_buf(), imports));
        }
        self.crates += 1;
        self.with_rooms.extend(rooms.map(|_| name.to_owned()));
        let largest = circles::check(&modules, name, plan::LARGER_CIRCLES, findings);
        self.circles.push((largest, name.to_owned()));
        Ok(())
    }
}

impl fmt::Display for Read {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut circles = self.circles.clone();
        circles.sort_by(|a, b| (b.0, &a.1).cmp(&(a.0, &b.1)));
        let circles = circles.iter().take(8);
        let circles: Vec<String> = circles
            .map(|(files, name)| format!("{name} {files}"))
            .collect();
        writeln!(
            f,
            "{} files of {} crates; the largest circles of files: {}",
            self.files,
            self.crates,
            circles.join(", ")
        )?;
        write!(
            f,
            "rooms are declared of {} files, those of {}: their imports run downhill; so do the dependencies of all crates",
            self.in_rooms,
            self.with_rooms.join(", ")
        )
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
        let module = module(path);
        let imports = imports::of(&module, text);
        ROOMS.check(Path::new("src/x.rs"), &module, &imports, &mut findings);
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
    fn all_files_of_a_crate_are_read_and_said() {
        let root = tempfile::tempdir().expect("a directory");
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        };
        write("crates/one/src/lib.rs", "mod a; mod b;");
        write("crates/one/src/a.rs", "use crate::b;");
        write("crates/one/src/b.rs", "use crate::a;");
        write("crates/tls/src/files.rs", "use crate::connection;");
        let (mut read, mut findings) = (Read::default(), Vec::new());
        for name in ["one", "tls"] {
            let directory = Path::new("crates").join(name).join("src");
            read.check_crate(root.path(), &directory, name, &mut findings)
                .expect("read");
        }
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert!(findings[0].text.contains("`files` is below `connection`"));
        let said = read.to_string();
        assert!(
            said.starts_with("4 files of 2 crates; the largest circles of files: one 2, tls 0\n")
                && said.contains("of 1 files, those of tls:"),
            "{said}"
        );
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
