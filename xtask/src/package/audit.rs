//! The crates in a program, as a section of the program itself, `.dep-v0`: scanners find known faults of a program that
//! was copied out of its package.
//!
//! The format is that of `cargo auditable`, which `cargo audit bin`, Trivy and Syft read: JSON, compressed by zlib. Each
//! crate has its name, version and source, its kind, and the places of its own dependencies in the list. The crates are
//! those of the bill of materials ([`super::sbom`]), so both say the same.
//!
//! Source: `rust-secure-code/cargo-auditable`, PARSING.md and the schema of its JSON.

use super::sbom::{Crate, crates_of, tree};
use super::tools::run;
use anyhow::{Context, ensure};
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::Path;
use std::process::Command;

const SECTION: &str = ".dep-v0";

/// The most bytes of a list that is read back.
const BYTES_MAX: u64 = 8 << 20;

/// Puts the list of this package's crates into a program, and reads it back.
pub fn embed(program: &Path, package: &str, features: Option<&str>) -> anyhow::Result<()> {
    let (root, crates) = crates_of(&tree(package, features, "normal,build")?)?;
    let (_, linked) = crates_of(&without_macros(&tree(package, features, "normal")?))?;
    embed_list(program, &list_of(&root, &crates, &linked))
}

fn embed_list(program: &Path, list: &Value) -> anyhow::Result<()> {
    let file = program.with_extension("dep-v0");
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(list.to_string().as_bytes())?;
    std::fs::write(&file, encoder.finish()?)?;
    run(Command::new("objcopy")
        .arg(format!("--add-section={SECTION}={}", file.display()))
        .arg(format!("--set-section-flags={SECTION}=noload,readonly"))
        .arg(program))?;
    std::fs::remove_file(&file)?;
    let found = read(program)?;
    ensure!(
        found == *list,
        "{} has another list of crates than the one that was put into it",
        program.display()
    );
    Ok(())
}

/// The list in a program.
///
/// # Errors
/// It has none, or a damaged one.
pub fn read(program: &Path) -> anyhow::Result<Value> {
    let file = program.with_extension("read");
    run(Command::new("objcopy")
        .args(["--output-target=binary", "--set-section-flags"])
        .arg(format!("{SECTION}=alloc"))
        .arg(format!("--only-section={SECTION}"))
        .arg(program)
        .arg(&file))?;
    let compressed = std::fs::read(&file)?;
    std::fs::remove_file(&file)?;
    let mut text = String::new();
    let decoder = ZlibDecoder::new(&*compressed).take(BYTES_MAX);
    let mut decoder = decoder;
    decoder
        .read_to_string(&mut text)
        .with_context(|| format!("{} has no list of its crates", program.display()))?;
    serde_json::from_str(&text).with_context(|| program.display().to_string())
}

/// A tree without its procedural macros, and what only they need: those run when the program is compiled.
fn without_macros(tree: &str) -> String {
    let mut kept = String::new();
    let mut left_out: Option<usize> = None;
    for line in tree.lines() {
        let digits = line.bytes().take_while(u8::is_ascii_digit).count();
        let depth: usize = line.get(..digits).and_then(|d| d.parse().ok()).unwrap_or(0);
        if left_out.is_some_and(|macros| depth > macros) {
            continue;
        }
        left_out = line.contains("(proc-macro)").then_some(depth);
        if left_out.is_none() {
            kept += line;
            kept += "\n";
        }
    }
    kept
}

/// The list of crates, of which these are linked.
fn list_of(
    root: &str,
    crates: &BTreeMap<String, Crate>,
    linked: &BTreeMap<String, Crate>,
) -> Value {
    let places: BTreeMap<&str, usize> = crates.keys().map(String::as_str).zip(0..).collect();
    let packages = crates.iter().map(|(url, one)| {
        let needs = one.needs.iter().filter_map(|url| places.get(url.as_str()));
        let mut package = json!({
            "name": one.name,
            "version": one.version,
            "source": if one.is_local { "local" } else { "crates.io" },
            "kind": if linked.contains_key(url) { "runtime" } else { "build" },
            "dependencies": needs.collect::<Vec<_>>(),
        });
        if url == root {
            package["root"] = true.into();
        }
        package
    });
    json!({ "packages": packages.collect::<Vec<_>>() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "0own v0.1.0 (/own)|MIT\n\
                        1derive v1.0.0 (proc-macro)|MIT\n\
                        2syn v2.0.0|MIT\n\
                        3shared v1.0.0|MIT\n\
                        1used v1.0.0|MIT\n\
                        2shared v1.0.0|MIT (*)\n";

    fn list() -> Value {
        let (root, crates) = crates_of(TREE).unwrap();
        let (_, linked) = crates_of(&without_macros(TREE)).unwrap();
        list_of(&root, &crates, &linked)
    }

    #[test]
    fn the_list_tells_linked_crates_from_those_that_only_compile() {
        let list = list();
        let packages = list["packages"].as_array().unwrap();
        let shown: Vec<String> = packages
            .iter()
            .map(|one| {
                let word = |name: &str| one[name].as_str().unwrap().to_string();
                let needs = &one["dependencies"];
                format!(
                    "{} {} {} {needs}",
                    word("name"),
                    word("source"),
                    word("kind")
                )
            })
            .collect();
        let expected = [
            "derive crates.io build [3]",
            "own local runtime [0,4]",
            "shared crates.io runtime []",
            "syn crates.io build [2]",
            "used crates.io runtime [2]",
        ];
        assert_eq!(shown, expected);
        let roots: Vec<bool> = packages
            .iter()
            .map(|one| one.get("root").is_some())
            .collect();
        assert_eq!(roots, [false, true, false, false, false]);
    }

    #[test]
    fn a_program_runs_with_its_list_and_gives_it_back() {
        let has = |tool: &str| Command::new(tool).arg("--version").output().is_ok();
        if !has("objcopy") {
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let program = directory.path().join("program");
        std::fs::copy("/bin/true", &program).unwrap();
        assert!(read(&program).is_err(), "it has none yet");
        embed_list(&program, &list()).unwrap();
        assert_eq!(read(&program).unwrap(), list());
        assert!(Command::new(&program).status().unwrap().success());
        // Nothing else is left beside it.
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}
