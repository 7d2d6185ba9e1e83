//! Compiles the programs in C of `tests/c` against the headers and the library, and runs them.

use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use tempfile::TempDir;

/// The linking of the library to a program.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// From the shared library, when it is started.
    Shared,
    /// It is part of the program.
    Static,
}

/// A compiled program.
pub struct Program {
    executable: PathBuf,
    _directory: TempDir,
}

impl Program {
    /// Compiles `tests/c/<name>.c` with warnings as errors.
    pub fn compile(name: &str) -> Program {
        Self::compile_with(name, Link::Shared)
    }

    /// As [`compile`](Self::compile).
    pub fn compile_with(name: &str, link: Link) -> Program {
        let directory = tempfile::tempdir().unwrap();
        let executable = directory.path().join("program");
        let home = Path::new(env!("CARGO_MANIFEST_DIR"));
        let library = library();
        let mut compiler = Command::new(std::env::var_os("CC").unwrap_or("cc".into()));
        compiler
            .args([
                "-std=gnu11",
                "-O1",
                "-g",
                "-Wall",
                "-Wextra",
                "-Werror",
                "-pthread",
            ])
            // The figures, as printed, compare an int with a size_t.
            .arg("-Wno-sign-compare")
            .arg("-I")
            .arg(home.join("include"))
            .arg("-o")
            .arg(&executable)
            .arg(home.join("tests/c").join(format!("{name}.c")));
        match link {
            Link::Shared => compiler
                .arg(library.join("libsardonyx_capi.so"))
                .arg(format!("-Wl,-rpath,{}", library.display())),
            Link::Static => compiler
                .arg(library.join("libsardonyx_capi.a"))
                .args(["-ldl", "-lm"]),
        };
        let outcome = compiler.output().expect("a C compiler is there");
        let said = String::from_utf8_lossy(&outcome.stderr);
        assert!(
            outcome.status.success(),
            "{name}.c does not compile:\n{said}"
        );
        Program {
            executable,
            _directory: directory,
        }
    }

    pub fn path(&self) -> &Path {
        &self.executable
    }

    pub fn start(&self, directory: &Path, durable: &str, arguments: &[&str]) -> Child {
        let mut command = Command::new(&self.executable);
        command
            .current_dir(directory)
            .env("XAC_DURABLE", durable)
            .args(arguments);
        command.spawn().unwrap()
    }

    /// Runs it in a directory, until it succeeds.
    pub fn run(&self, directory: &Path, durable: &str, arguments: &[&str]) {
        wait(self.start(directory, durable, arguments));
    }
}

/// Waits for a program that must succeed.
pub fn wait(mut child: Child) {
    let status = child.wait().unwrap();
    assert!(status.success(), "the program ended with {status}");
}

/// Calls `body` with a new directory.
pub fn in_directory(body: impl FnOnce(&Path)) {
    let directory = tempfile::tempdir().unwrap();
    body(directory.path());
}

/// The directory of the libraries that belong to this test.
fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().unwrap().to_owned()
}
