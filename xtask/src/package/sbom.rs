//! The bill of materials: the crates in the packaged program, in CycloneDX's JSON.
//!
//! `cargo tree` knows the crates of the program with its features. `cargo metadata` has those of the whole workspace
//! together, so it would list crates of the tests.
//!
//! Source: CycloneDX 1.5, "Components" and "Dependencies"; package URLs are those of the type `cargo`.

use super::tools::{VERSION, output_of};
use anyhow::Context;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// A crate of the tree.
#[derive(Debug, Default)]
pub struct Crate {
    pub name: String,
    pub version: String,
    license: String,
    /// True if its source is in the repository.
    pub is_local: bool,
    /// The package URLs of the crates that it needs.
    pub needs: BTreeSet<String>,
}

/// A packaged program or library.
pub struct Subject {
    crate_name: &'static str,
    features: Option<&'static str>,
    /// Its name and kind in the bill.
    name: &'static str,
    kind: &'static str,
}

/// The command with all features.
pub const COMMAND: Subject = Subject {
    crate_name: "sardonyx-cli",
    features: Some("full"),
    name: "sardonyx",
    kind: "application",
};

/// The library for C.
pub const C_LIBRARY: Subject = Subject {
    crate_name: "sardonyx-capi",
    features: None,
    name: "libsardonyx",
    kind: "library",
};

/// Writes the bill of a program or library.
pub fn write(file: &Path, subject: &Subject) -> anyhow::Result<()> {
    let tree = tree(subject.crate_name, subject.features, "normal,build")?;
    let bill = bill_of(&tree, subject)?;
    let mut text = serde_json::to_string_pretty(&bill)?;
    text.push('\n');
    std::fs::write(file, text).with_context(|| file.display().to_string())
}

/// The tree of a package's crates with these features, over edges of these kinds.
pub fn tree(package: &str, features: Option<&str>, edges: &str) -> anyhow::Result<String> {
    let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let mut command = Command::new("cargo");
    command.args(["tree", "--locked", "-p", package]);
    if let Some(features) = features {
        command.args(["--features", features]);
    }
    command.args(["--edges", edges, "--target", &platform]);
    command.args(["--prefix", "depth", "--format", "{p}|{l}"]);
    output_of(&mut command)
}

/// The crates of a tree by their package URLs, and the URL of the first one, which depends on the others.
pub fn crates_of(tree: &str) -> anyhow::Result<(String, BTreeMap<String, Crate>)> {
    let mut crates: BTreeMap<String, Crate> = BTreeMap::new();
    // The crates above the current line, from the first one on.
    let mut above: Vec<String> = Vec::new();
    for line in tree.lines() {
        let read = || {
            let digits = line.find(|c: char| !c.is_ascii_digit())?;
            let (package, license) = line[digits..].split_once('|')?;
            let mut words = package.split(' ');
            let (name, version) = (words.next()?, words.next()?.strip_prefix('v')?);
            let is_local = words.any(|word| word.starts_with("(/"));
            // A crate whose dependencies are listed elsewhere ends with a star.
            let license = license.trim_end_matches("(*)").trim();
            Some((
                line[..digits].parse::<usize>().ok()?,
                name,
                version,
                is_local,
                license,
            ))
        };
        let (depth, name, version, is_local, license) =
            read().with_context(|| format!("cargo tree prints {line:?}"))?;
        let url = format!("pkg:cargo/{name}@{version}");
        above.truncate(depth);
        if let Some(parent) = above.last().and_then(|parent| crates.get_mut(parent)) {
            parent.needs.insert(url.clone());
        }
        let found = crates.entry(url.clone()).or_default();
        found.name = name.into();
        found.version = version.into();
        found.is_local |= is_local;
        // Old crates write a slash for "or".
        found.license = license.replace('/', " OR ");
        above.push(url);
    }
    let root = above.first().context("cargo tree prints nothing")?;
    Ok((root.clone(), crates))
}

fn bill_of(tree: &str, subject: &Subject) -> anyhow::Result<Value> {
    let (root, crates) = crates_of(tree)?;
    let others = crates.iter().filter(|(url, _)| **url != root);
    let components: Vec<Value> = others
        .map(|(url, one)| {
            json!({
                "type": "library",
                "bom-ref": url,
                "name": one.name,
                "version": one.version,
                "purl": url,
                "licenses": [{ "expression": one.license }],
            })
        })
        .collect();
    let dependencies: Vec<Value> = crates
        .iter()
        .map(|(url, one)| json!({ "ref": url, "dependsOn": one.needs }))
        .collect();
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": subject.kind,
                "bom-ref": root,
                "name": subject.name,
                "version": VERSION,
                "licenses": [{ "expression": "Apache-2.0 OR MIT" }],
            },
        },
        "components": components,
        "dependencies": dependencies,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bill_has_every_crate_once_and_what_it_needs() {
        let tree = "0own v0.1.0 (/own)|MIT\n\
                    1used v1.0.0|MIT/Apache-2.0\n\
                    2deep v2.0.0 (proc-macro)|ISC\n\
                    1deep v2.0.0 (proc-macro)|ISC (*)\n\
                    1used v2.0.0|MIT\n";
        let bill = bill_of(tree, &C_LIBRARY).unwrap();
        let whole = &bill["metadata"]["component"];
        assert_eq!(
            (&whole["name"], &whole["type"]),
            (&json!("libsardonyx"), &json!("library"))
        );
        let components = bill["components"].as_array().unwrap();
        let found = components.iter().map(|one| {
            let expression = &one["licenses"][0]["expression"];
            format!("{} {}", one["purl"], expression).replace('"', "")
        });
        let expected = [
            "pkg:cargo/deep@2.0.0 ISC",
            "pkg:cargo/used@1.0.0 MIT OR Apache-2.0",
            "pkg:cargo/used@2.0.0 MIT",
        ];
        assert_eq!(found.collect::<Vec<_>>(), expected);
        let needs = |at: usize| bill["dependencies"][at]["dependsOn"].clone();
        // In the order of their URLs: deep, own, used, used.
        let of_own = [
            "pkg:cargo/deep@2.0.0",
            "pkg:cargo/used@1.0.0",
            "pkg:cargo/used@2.0.0",
        ];
        assert_eq!(needs(1), json!(of_own));
        assert_eq!(needs(2), json!(["pkg:cargo/deep@2.0.0"]));
        for wrong in ["", "nonsense"] {
            assert!(bill_of(wrong, &COMMAND).is_err());
        }
    }
}
