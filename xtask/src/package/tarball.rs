//! The two programs as a tarball, for systems without the Debian package: static with musl, or for a version of the GNU
//! C library and newer ones, which the file's name includes.

use super::tools::{Build, Stage, VERSION, glibc_of, output_of, run};
use super::{audit, sbom};
use anyhow::Context;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub fn package(build: &Build, output: &Path, is_tried: bool) -> anyhow::Result<()> {
    let program = build.command()?;
    let lab = build.build("sardonyx-lab", None)?.join("sardonyx-lab");
    let library = match build.is_static() {
        true => "musl".to_string(),
        false => format!("glibc{}", glibc_of(&[&program, &lab])?),
    };
    let name = format!(
        "sardonyx-{VERSION}-{}-linux-{library}",
        std::env::consts::ARCH
    );
    let stage = Stage::new(output.join("tarball"))?;
    for (program, package, features) in [
        (&program, "sardonyx-cli", Some("full")),
        (&lab, "sardonyx-lab", None),
    ] {
        let file = program.file_name().unwrap_or_default().to_string_lossy();
        stage.stripped(&format!("bin/{file}"), program, 0o755)?;
        audit::embed(&stage.root.join(format!("bin/{file}")), package, features)?;
        stage.pages_of(program, "zsh/site-functions", "fish/vendor_completions.d")?;
    }
    for file in ["LICENSE-MIT", "LICENSE-APACHE", "README.md", "CHANGELOG.md"] {
        stage.copy(file, file, 0o644)?;
    }
    stage.units("share/sardonyx")?;
    stage.copy(
        "share/sardonyx/sardonyx.toml",
        "packaging/sardonyx.toml",
        0o644,
    )?;
    sbom::write(&stage.root.join("sbom.cdx.json"), &sbom::COMMAND)?;
    let file = output.join(format!("{name}.tar.gz"));
    stage.pack(&file, &name)?;
    if is_tried {
        try_it(&file, &[program, lab], output).context("trying the tarball in an empty root")?;
    }
    println!("{}", file.display());
    Ok(())
}

/// Uses the tarball in a root that has only the libraries of the programs and of a shell.
fn try_it(file: &Path, programs: &[PathBuf], output: &Path) -> anyhow::Result<()> {
    let root = output.join("trial-root");
    let stage = Stage::new(root.clone())?;
    for directory in ["sardonyx", "tmp", "dev", "bin"] {
        fs::create_dir_all(root.join(directory))?;
    }
    run(Command::new("tar")
        .args(["--strip-components=1", "-xzf"])
        .arg(file)
        .arg("-C")
        .arg(root.join("sardonyx")))?;
    // The trial's shell, and `test` is one of its words.
    let shell = fs::canonicalize("/bin/sh")?;
    stage.copy("bin/sh", &shell, 0o755)?;
    for program in programs.iter().chain([&shell]) {
        for library in libraries_of(program) {
            stage.copy(library.trim_start_matches('/'), &library, 0o755)?;
        }
    }
    stage.copy("try.sh", "packaging/try-tarball.sh", 0o755)?;
    run(Command::new("chroot")
        .arg(&root)
        .args(["/bin/sh", "/try.sh"]))?;
    Ok(fs::remove_dir_all(root)?)
}

/// The shared libraries of a program; empty for a static one.
fn libraries_of(program: &Path) -> Vec<String> {
    let listed = output_of(Command::new("ldd").arg(program)).unwrap_or_default();
    let paths = listed
        .split_whitespace()
        .filter(|word| word.starts_with('/'));
    paths.map(String::from).collect()
}
