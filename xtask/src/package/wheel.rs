//! Python's wheel and source distribution, built by maturin in an environment of its own, and used in another one.

use super::tools::run;
use anyhow::Context;
use std::fs;
use std::path::Path;
use std::process::Command;

/// A program that a user would write.
const PROGRAM: &str = "
import sardonyx, tempfile, os
with tempfile.TemporaryDirectory() as place:
    path = os.path.join(place, 'bank.sdx')
    sardonyx.open(path).close()
    assert os.path.exists(os.path.join(path, 'MANIFEST'))
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
    let built = fs::read_dir(&wheels)?.collect::<Result<Vec<_>, _>>()?;
    let wheel = built.iter().map(|entry| entry.path());
    let wheel = wheel
        .into_iter()
        .find(|path| path.extension().is_some_and(|one| one == "whl"));
    let wheel = wheel.context("maturin made no wheel")?;
    if is_tried {
        let user = environment(&output.join("wheel-user"), &[&wheel.display().to_string()])?;
        run(Command::new(user.join("python")).args(["-I", "-c", PROGRAM]))?;
    }
    println!("{}", wheels.display());
    Ok(())
}

/// A new environment of Python with these packages; its directory of programs.
fn environment(place: &Path, packages: &[&str]) -> anyhow::Result<std::path::PathBuf> {
    run(Command::new("python3")
        .args(["-m", "venv", "--clear"])
        .arg(place))?;
    let programs = place.join("bin");
    run(Command::new(programs.join("pip"))
        .args(["install", "--quiet"])
        .args(packages))?;
    Ok(programs)
}
