//! The package for Debian and its derivatives: `dpkg-deb` packs the staged files.

use super::tools::{Build, Stage, VERSION, glibc_of, output_of, run};
use super::{audit, sbom};
use anyhow::Context;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Runs a script in a temporary copy of the system's root: all its changes are in memory.
const IN_A_COPY_OF_THE_ROOT: &str = r#"
set -e
mount -t tmpfs trial "$1"
mkdir "$1/changes" "$1/work" "$1/root"
mount -t overlay trial -o "lowerdir=/,upperdir=$1/changes,workdir=$1/work" "$1/root"
mount -t proc proc "$1/root/proc"
mount -t tmpfs memory "$1/root/dev/shm"
cp "$2" "$1/root/package.deb"
cp "$3" "$1/root/try.sh"
exec chroot "$1/root" sh /try.sh
"#;

pub fn package(build: &Build, output: &Path, is_tried: bool) -> anyhow::Result<()> {
    let program = build.command()?;
    let architecture = output_of(Command::new("dpkg").arg("--print-architecture"))?;
    let architecture = architecture.trim();
    let stage = Stage::new(output.join("deb"))?;
    stage.stripped("usr/bin/sardonyx", &program, 0o755)?;
    let installed = stage.root.join("usr/bin/sardonyx");
    audit::embed(&installed, "sardonyx-cli", Some("full"))?;
    let usr = Stage {
        root: stage.root.join("usr"),
    };
    usr.pages_of(
        &program,
        "zsh/vendor-completions",
        "fish/vendor_completions.d",
    )?;
    stage.units("usr/lib/systemd/system")?;
    stage.copy(
        "etc/sardonyx/sardonyx.toml",
        "packaging/sardonyx.toml",
        0o640,
    )?;
    let documents = "usr/share/doc/sardonyx";
    stage.copy(
        &format!("{documents}/copyright"),
        "packaging/debian/copyright",
        0o644,
    )?;
    for file in ["LICENSE-MIT", "LICENSE-APACHE", "README.md", "CHANGELOG.md"] {
        stage.copy(&format!("{documents}/{file}"), file, 0o644)?;
    }
    let bill = stage.root.join(documents).join("sbom.cdx.json");
    sbom::write(&bill, &sbom::COMMAND)?;
    for page in fs::read_dir(stage.root.join("usr/share/man/man1"))? {
        run(Command::new("gzip").args(["-9n"]).arg(page?.path()))?;
    }
    let bytes = bytes_in(&stage.root)?;
    for script in ["postinst", "prerm", "postrm"] {
        let from = format!("packaging/debian/{script}");
        stage.copy(&format!("DEBIAN/{script}"), from, 0o755)?;
    }
    stage.text("DEBIAN/conffiles", "/etc/sardonyx/sardonyx.toml\n")?;
    stage.text(
        "DEBIAN/control",
        &control(architecture, &glibc_of(&[&program])?, bytes),
    )?;
    let file = output.join(format!("sardonyx_{VERSION}_{architecture}.deb"));
    run(Command::new("dpkg-deb")
        .args(["--root-owner-group", "--build"])
        .arg(&stage.root)
        .arg(&file))?;
    if is_tried {
        try_it(&file, output).context("trying the package in a copy of the root")?;
    }
    println!("{}", file.display());
    Ok(())
}

/// The package's control file.
fn control(architecture: &str, glibc: &str, bytes: u64) -> String {
    let mut text = String::new();
    for (field, value) in [
        ("Package", "sardonyx"),
        ("Version", VERSION),
        ("Architecture", architecture),
        ("Section", "database"),
        ("Priority", "optional"),
        ("Maintainer", "The authors of Sardonyx <sardonyx@localhost>"),
        ("Installed-Size", &bytes.div_ceil(1024).to_string()),
        ("Depends", &format!("libc6 (>= {glibc}), libgcc-s1, passwd")),
        ("Suggests", "bash-completion"),
        (
            "Description",
            "main-memory database with durable transactions",
        ),
    ] {
        let _ = writeln!(text, "{field}: {value}");
    }
    text + " Serves PostgreSQL and Redis clients from main memory. Each transaction is\n on disk before it is acknowledged.\n"
}

fn bytes_in(directory: &Path) -> anyhow::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        bytes += match entry.file_type()?.is_dir() {
            true => bytes_in(&entry.path())?,
            false => entry.metadata()?.len(),
        };
    }
    Ok(bytes)
}

fn try_it(file: &Path, output: &Path) -> anyhow::Result<()> {
    let place = output.join("trial");
    fs::create_dir_all(&place)?;
    run(Command::new("unshare")
        .args([
            "--mount",
            "--pid",
            "--fork",
            "sh",
            "-c",
            IN_A_COPY_OF_THE_ROOT,
            "sh",
        ])
        .arg(&place)
        .arg(file)
        .arg("packaging/debian/try.sh"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_control_file_has_what_dpkg_asks_for() {
        let text = control("amd64", "2.34", 2049);
        for line in [
            "Package: sardonyx",
            "Installed-Size: 3",
            "Depends: libc6 (>= 2.34), libgcc-s1, passwd",
        ] {
            assert!(text.lines().any(|one| one == line), "{text}");
        }
        // Lines of the long description begin with a blank, and the file ends with its last line.
        assert!(
            text.ends_with("acknowledged.\n") && !text.contains("\n\n"),
            "{text}"
        );
    }
}
