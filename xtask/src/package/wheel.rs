//! Python's wheel and source distribution, built by maturin in an environment of its own, and used in another one.

use super::tools::{Stage, output_of, run};
use anyhow::{Context, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program that a user would write.
const PROGRAM: &str = "
import importlib.metadata, sardonyx, tempfile, os
with tempfile.TemporaryDirectory() as place:
    path = os.path.join(place, 'bank.sdx')
    sardonyx.open(path).close()
    assert os.path.exists(os.path.join(path, 'MANIFEST'))
names = [file.name for file in importlib.metadata.files('sardonyx')]
assert {'LICENSE-APACHE', 'LICENSE-MIT'} <= set(names), names
print('the wheel was used', sardonyx.__file__)
";

pub fn package(output: &Path, is_tried: bool) -> anyhow::Result<()> {
    let tools = environment(&output.join("wheel-tools"), &["maturin>=1.9,<2"])?;
    let wheels = output.join("wheels");
    if wheels.exists() {
        fs::remove_dir_all(&wheels)?;
    }
    let maturin = |verb: &str, more: &[&str]| {
        let mut command = Command::new(tools.join("maturin"));
        command.args([
            verb,
            "--manifest-path",
            "bindings/python/Cargo.toml",
            "--out",
        ]);
        run(command.arg(&wheels).args(more))
    };
    maturin("sdist", &[])?;
    maturin("build", &["--release", "--locked", "--strip"])?;
    let wheel = only(&wheels, "whl")?;
    let name = wheel.file_name().unwrap_or_default().to_string_lossy();
    ensure!(
        fits_many_systems(&name),
        "{name} is not for every Python from 3.11 on, on every Linux with some glibc (abi3, manylinux)"
    );
    if is_tried {
        try_source(&only(&wheels, "gz")?, output).context("trying the source distribution")?;
        let user = environment(&output.join("wheel-user"), &[&wheel.display().to_string()])?;
        run(Command::new(user.join("python")).args(["-I", "-c", PROGRAM]))?;
    }
    println!("{}", wheels.display());
    Ok(())
}

/// The only file with this extension.
fn only(directory: &Path, extension: &str) -> anyhow::Result<PathBuf> {
    let mut found = fs::read_dir(directory)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()?;
    found.retain(|path| path.extension().is_some_and(|one| one == extension));
    ensure!(
        found.len() == 1,
        "maturin made {} files .{extension}",
        found.len()
    );
    found.pop().context("one file")
}

/// True if the tags of a wheel's name are those of the stable interface of Python 3.11, and of a glibc's version.
fn fits_many_systems(name: &str) -> bool {
    name.contains("-cp311-abi3-manylinux_2_")
}

/// Unpacks the source distribution elsewhere: it has every crate that its build needs, in the locked versions.
fn try_source(file: &Path, output: &Path) -> anyhow::Result<()> {
    let place = Stage::new(output.join("sdist-trial"))?;
    run(Command::new("tar")
        .args(["--strip-components=1", "-xzf"])
        .arg(file)
        .arg("-C")
        .arg(&place.root))?;
    output_of(
        Command::new("cargo")
            .args([
                "metadata",
                "--locked",
                "--format-version",
                "1",
                "--manifest-path",
            ])
            .arg(place.root.join("bindings/python/Cargo.toml")),
    )?;
    Ok(fs::remove_dir_all(&place.root)?)
}

/// A new environment of Python with these packages; its directory of programs.
fn environment(place: &Path, packages: &[&str]) -> anyhow::Result<PathBuf> {
    run(Command::new("python3")
        .args(["-m", "venv", "--clear"])
        .arg(place))?;
    let programs = place.join("bin");
    run(Command::new(programs.join("pip"))
        .args(["install", "--quiet"])
        .args(packages))?;
    Ok(programs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wheel_for_one_python_or_one_system_is_refused() {
        assert!(fits_many_systems(
            "sardonyx-0.1.0-cp311-abi3-manylinux_2_34_x86_64.whl"
        ));
        for name in [
            "sardonyx-0.1.0-cp312-cp312-manylinux_2_34_x86_64.whl",
            "sardonyx-0.1.0-cp311-abi3-linux_x86_64.whl",
        ] {
            assert!(!fits_many_systems(name), "{name}");
        }
    }

    #[test]
    fn a_directory_with_none_or_two_wheels_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name| directory.path().join(name);
        fs::write(at("a.tar.gz"), "").unwrap();
        assert!(only(directory.path(), "whl").is_err());
        fs::write(at("a.whl"), "").unwrap();
        assert_eq!(only(directory.path(), "whl").unwrap(), at("a.whl"));
        fs::write(at("b.whl"), "").unwrap();
        assert!(only(directory.path(), "whl").is_err());
    }
}
