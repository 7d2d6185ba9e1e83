//! The programs in a package, the commands that pack it, and the directory in which it is put together.

use anyhow::{Context, bail};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The options of the programs' build.
#[derive(clap::Args)]
pub struct Build {
    /// The profile: `dist` is optimised for hours of use, `dev` compiles in minutes.
    #[arg(long, global = true, default_value = "dist")]
    profile: String,
    /// The target, such as x86_64-unknown-linux-musl [default: this machine's].
    #[arg(long, global = true)]
    target: Option<String>,
    /// A directory with built programs and libraries, such as target/debug.
    #[arg(long, global = true, conflicts_with_all = ["profile", "target", "features"])]
    built: Option<PathBuf>,
    /// The features of the command.
    #[arg(long, global = true, default_value = "full")]
    features: String,
}

impl Build {
    /// Builds a package of the workspace; returns the directory with the results.
    pub fn build(&self, package: &str, features: Option<&str>) -> anyhow::Result<PathBuf> {
        if let Some(built) = &self.built {
            return Ok(built.clone());
        }
        let mut command = Command::new("cargo");
        command.args([
            "build",
            "--locked",
            "-p",
            package,
            "--profile",
            &self.profile,
        ]);
        if let Some(features) = features {
            command.args(["--features", features]);
        }
        if let Some(target) = &self.target {
            command.args(["--target", target]);
        }
        run(&mut command)?;
        Ok(self.directory())
    }

    /// The command `sardonyx`, stripped, with its features.
    pub fn command(&self) -> anyhow::Result<PathBuf> {
        let built = self.build("sardonyx-cli", Some(&self.features))?;
        Ok(built.join("sardonyx"))
    }

    /// True if nothing of the system's C library is needed at run time.
    pub fn is_static(&self) -> bool {
        self.target
            .as_deref()
            .is_some_and(|one| one.ends_with("musl"))
    }

    /// The directory of cargo's output.
    fn directory(&self) -> PathBuf {
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or("target".into(), PathBuf::from);
        let target = self
            .target
            .iter()
            .fold(target, |path, name| path.join(name));
        target.join(match self.profile.as_str() {
            "dev" => "debug",
            profile => profile,
        })
    }
}

/// Runs a command, which must succeed.
pub fn run(command: &mut Command) -> anyhow::Result<()> {
    let status = command
        .status()
        .with_context(|| format!("starting {command:?}"))?;
    match status.success() {
        true => Ok(()),
        false => bail!("{command:?} ended with {status}"),
    }
}

/// The output of a command, which must succeed.
pub fn output_of(command: &mut Command) -> anyhow::Result<String> {
    let output = command
        .output()
        .with_context(|| format!("starting {command:?}"))?;
    if !output.status.success() {
        let printed = String::from_utf8_lossy(&output.stderr);
        bail!("{command:?} ended with {}: {printed}", output.status);
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// A directory with the files of a package as they are installed.
pub struct Stage {
    pub root: PathBuf,
}

impl Stage {
    /// Creates an empty one.
    pub fn new(root: PathBuf) -> anyhow::Result<Stage> {
        if root.exists() {
            fs::remove_dir_all(&root)?;
        }
        fs::create_dir_all(&root)?;
        Ok(Stage { root })
    }

    /// Writes a text file.
    pub fn text(&self, path: &str, text: &str) -> anyhow::Result<()> {
        self.file(path, text.as_bytes(), 0o644)
    }

    /// Copies a file of the repository.
    pub fn copy(&self, path: &str, from: impl AsRef<Path>, mode: u32) -> anyhow::Result<()> {
        let from = from.as_ref();
        let bytes = fs::read(from).with_context(|| from.display().to_string())?;
        self.file(path, &bytes, mode)
    }

    /// Copies a program or library with no symbols but those that a linker or loader needs: of a whole program they are
    /// a sixth.
    pub fn stripped(&self, path: &str, from: &Path, mode: u32) -> anyhow::Result<()> {
        self.copy(path, from, mode)?;
        run(Command::new("strip")
            .arg("--strip-unneeded")
            .arg(self.root.join(path)))
    }

    /// The manual pages and completions of a program, which writes them itself.
    pub fn pages_of(&self, program: &Path, zsh: &str, fish: &str) -> anyhow::Result<()> {
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        let manual = self.root.join("share/man/man1");
        run(Command::new(program).arg("man").arg(manual))?;
        for (shell, path) in [
            ("bash", format!("share/bash-completion/completions/{name}")),
            ("zsh", format!("share/{zsh}/_{name}")),
            ("fish", format!("share/{fish}/{name}.fish")),
        ] {
            let script = output_of(Command::new(program).args(["completions", shell]))?;
            self.text(&path, &script)?;
        }
        Ok(())
    }

    /// Copies the units of systemd: of the server, and of a log that it keeps for other hosts.
    pub fn units(&self, directory: &str) -> anyhow::Result<()> {
        for unit in ["sardonyx.service", "sardonyx-log.service"] {
            let from = format!("packaging/{unit}");
            self.copy(&format!("{directory}/{unit}"), from, 0o644)?;
        }
        Ok(())
    }

    fn file(&self, path: &str, bytes: &[u8], mode: u32) -> anyhow::Result<()> {
        let path = self.root.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(&path, bytes)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(mode))?;
        Ok(())
    }

    /// Packs it as `file`, whose entries begin with `name`: the same files give the same bytes.
    pub fn pack(&self, file: &Path, name: &str) -> anyhow::Result<()> {
        let time = output_of(Command::new("git").args(["log", "-1", "--format=%ct"]))?;
        let mut command = Command::new("tar");
        command.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner"]);
        command.arg(format!("--mtime=@{}", time.trim()));
        command.arg(format!("--transform=s,^\\.,{name},"));
        command.args(["--use-compress-program=gzip -n", "-cf"]);
        command.arg(file).arg("-C").arg(&self.root).arg(".");
        run(&mut command)
    }
}

/// The newest version of the GNU C library that programs require, such as `2.34`.
pub fn glibc_of(programs: &[&Path]) -> anyhow::Result<String> {
    let symbols = output_of(Command::new("objdump").arg("-T").args(programs))?;
    newest_glibc(&symbols).with_context(|| format!("{programs:?} ask for no glibc"))
}

fn newest_glibc(symbols: &str) -> Option<String> {
    let versions = symbols.split("GLIBC_").skip(1).filter_map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.');
        let text = &rest[..end.unwrap_or(rest.len())];
        let parts: Option<Vec<u32>> = text.split('.').map(|part| part.parse().ok()).collect();
        Some((parts?, text.to_string()))
    });
    versions.max().map(|(_, text)| text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_c_library_is_found_by_its_numbers() {
        let symbols = "0 DF *UND* 0 (GLIBC_2.9) a\n0 DF *UND* 0 (GLIBC_2.34) b\n0 (GLIBC_2.2.5) c\n(GLIBC_PRIVATE) d";
        assert_eq!(newest_glibc(symbols).as_deref(), Some("2.34"));
        assert_eq!(newest_glibc("nothing"), None);
    }
}
