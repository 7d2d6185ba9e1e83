//! `package`: the packages that users install, built and tried. Nothing is published.
//!
//! - [`deb`]: a package for Debian; - [`tarball`]: the two programs; - [`c_library`]: the library for C;
//! - [`crates`]: the crates for crates.io; - [`wheel`]: the files for PyPI; - [`sbom`]: the crates in the program;
//! - [`audit`]: the same as a section of each program; - [`tools`]: the built programs, and the commands of the system that pack them.
//!
//! A package is tried where the build's files are absent: the Debian package in a temporary root, the tarball in one
//! that has only the system's libraries.

mod audit;
mod c_library;
mod crates;
mod deb;
mod sbom;
mod tarball;
mod tools;
mod wheel;

pub use tools::output_of;

use std::path::PathBuf;
use tools::Build;

#[derive(clap::Args)]
pub struct Package {
    #[command(subcommand)]
    kind: Kind,
    /// The directory of the packages.
    #[arg(long, global = true, default_value = "target/package")]
    output: PathBuf,
    /// Only build it: trying the Debian package and the tarball needs root.
    #[arg(long, global = true)]
    untried: bool,
    #[command(flatten)]
    build: Build,
}

#[derive(clap::Subcommand)]
enum Kind {
    /// The Debian package: program, unit, user, configuration, manual pages, completions.
    Deb,
    /// The two programs with manual pages and completions, for other systems.
    Tarball,
    /// The library for C, with headers, pkg-config and CMake files.
    C,
    /// The crates for crates.io.
    Crates,
    /// A wheel and a source distribution for Python.
    Wheel,
    /// The crates in the program, as CycloneDX.
    Sbom,
}

impl Package {
    pub fn run(self) -> anyhow::Result<()> {
        std::fs::create_dir_all(&self.output)?;
        let output = self.output.canonicalize()?;
        let is_tried = !self.untried;
        match self.kind {
            Kind::Deb => deb::package(&self.build, &output, is_tried),
            Kind::Tarball => tarball::package(&self.build, &output, is_tried),
            Kind::C => c_library::package(&self.build, &output, is_tried),
            Kind::Crates => crates::package(),
            Kind::Wheel => wheel::package(&output, is_tried),
            Kind::Sbom => sbom::write(&output.join("sbom.cdx.json")),
        }
    }
}
