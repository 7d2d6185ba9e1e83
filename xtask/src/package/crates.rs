//! The crates for crates.io: each is packed as it would be published, and its description is checked.

use super::tools::{output_of, run};
use anyhow::{Context, bail};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// The most characters of a description that search results show whole.
const DESCRIPTION_MAX: usize = 160;

/// The texts of the licences, in each package.
pub const LICENSES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];

pub fn package() -> anyhow::Result<()> {
    let metadata = metadata()?;
    let packages = metadata["packages"]
        .as_array()
        .context("cargo metadata has no packages")?;
    let public: Vec<&Value> = packages.iter().filter(|one| is_public(one)).collect();
    let mut faults: Vec<String> = public
        .iter()
        .flat_map(|one| faults_of(one, packages))
        .collect();
    faults.extend(public.iter().flat_map(|one| missing_licenses(one)));
    if !faults.is_empty() {
        bail!("{}", faults.join("\n"));
    }
    let mut command = Command::new("cargo");
    // The crates are packed together, as those that need others are not published before these.
    command.args(["package", "--locked", "--no-verify", "--allow-dirty"]);
    for package in &public {
        command.arg("-p").arg(text_of(package, "name"));
    }
    run(&mut command)?;
    println!("{} crates were packed, none was published", public.len());
    Ok(())
}

/// The workspace's metadata from cargo.
fn metadata() -> anyhow::Result<Value> {
    let mut command = Command::new("cargo");
    command.args(["metadata", "--locked", "--no-deps", "--format-version", "1"]);
    Ok(serde_json::from_str(&output_of(&mut command)?)?)
}

/// A field that is a text; empty where it is missing.
fn text_of<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

/// True for a crate that may be published.
fn is_public(package: &Value) -> bool {
    package["publish"]
        .as_array()
        .is_none_or(|registries| !registries.is_empty())
}

/// Faults that crates.io or its readers would report.
fn faults_of(package: &Value, all: &[Value]) -> Vec<String> {
    let name = text_of(package, "name");
    let mut faults = Vec::new();
    let description = text_of(package, "description");
    if description.is_empty() || description.chars().count() > DESCRIPTION_MAX {
        faults.push(format!(
            "{name}: a description of 1 to {DESCRIPTION_MAX} characters: {description:?}"
        ));
    }
    for field in ["license", "rust_version"] {
        if text_of(package, field).is_empty() {
            faults.push(format!("{name}: no {field}"));
        }
    }
    for field in ["categories", "keywords"] {
        if package[field].as_array().is_none_or(Vec::is_empty) {
            faults.push(format!("{name}: no {field}"));
        }
    }
    let has_features = package["features"]
        .as_object()
        .is_some_and(|all| !all.is_empty());
    if has_features && !package["metadata"]["docs"]["rs"].is_object() {
        faults.push(format!(
            "{name}: features, and no [package.metadata.docs.rs]"
        ));
    }
    for dependency in package["dependencies"].as_array().into_iter().flatten() {
        let other = all.iter().find(|one| one["name"] == dependency["name"]);
        let is_used = dependency["kind"] != "dev" && dependency["path"].is_string();
        if is_used && other.is_some_and(|other| !is_public(other)) {
            let other = text_of(dependency, "name");
            faults.push(format!("{name}: its dependency {other} is never published"));
        }
    }
    faults
}

/// The texts of the licences that its package would lack. In the repository they are links to those of the root; cargo
/// packs the files.
fn missing_licenses(package: &Value) -> Vec<String> {
    let folder = Path::new(text_of(package, "manifest_path")).parent();
    let folder = folder.unwrap_or(Path::new("."));
    let missing = LICENSES.iter().filter(|file| !folder.join(file).is_file());
    let name = text_of(package, "name");
    missing
        .map(|file| format!("{name}: no {file}: `ln -s` it to the repository's"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_missing_is_named() {
        let kept = json!({ "name": "kept", "publish": [] });
        let bare = json!({
            "name": "bare", "publish": null, "description": "A thing", "license": "MIT", "rust_version": "1.95",
            "categories": ["database"], "keywords": [], "features": { "more": [] },
            "dependencies": [{ "name": "kept", "kind": null, "path": "/kept" }],
        });
        assert!(is_public(&bare) && !is_public(&kept));
        let faults = faults_of(&bare, &[kept]);
        assert_eq!(
            faults,
            [
                "bare: no keywords",
                "bare: features, and no [package.metadata.docs.rs]",
                "bare: its dependency kept is never published"
            ]
        );
    }

    #[test]
    fn a_package_without_a_licences_text_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let manifest = directory.path().join("Cargo.toml");
        std::fs::write(directory.path().join("LICENSE-MIT"), "MIT").unwrap();
        let package = json!({ "name": "bare", "manifest_path": manifest });
        let missing = missing_licenses(&package);
        assert!(
            missing.len() == 1 && missing[0].contains("LICENSE-APACHE"),
            "{missing:?}"
        );
    }
}
