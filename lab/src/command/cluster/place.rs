//! The place of nodes: a directory that stays, or a temporary one that is removed after the run; and the nodes that a
//! run loads.

use super::load::LoadOptions;
use sardonyx_cluster::command::options::SettingOptions;
use sardonyx_cluster::command::program;
use sardonyx_cluster::load::Load;
use sardonyx_cluster::nodes::Cluster;
use sardonyx_cluster::routing::Routing;
use sardonyx_command::ending;
use std::path::{Path, PathBuf};

/// A directory that is removed when this is dropped, or a signal ends the program.
#[derive(Debug)]
pub struct Temporary(PathBuf);

impl Temporary {
    /// Creates one in the system's directory for temporary files.
    pub fn new() -> Self {
        Temporary::within(&std::env::temp_dir())
    }

    /// Creates one in this directory.
    pub fn within(directory: &Path) -> Self {
        let name = format!("sardonyx-cluster-{}", std::process::id());
        let place = directory.join(name);
        ending::goes_too(&place);
        Temporary(place)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = ending::remove(&self.0);
    }
}

/// Nodes for one run, and their load.
#[derive(Debug, clap::Args)]
pub struct RunOptions {
    /// Use the nodes of this directory [default: start some, in a temporary directory]
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
    #[command(flatten)]
    setting: SettingOptions,
    #[command(flatten)]
    load: LoadOptions,
}

#[derive(Debug)]
pub struct RunNodes {
    /// All of them.
    pub cluster: Cluster,
    /// Their directory, if they were started for the run.
    temporary: Option<Temporary>,
}

impl RunOptions {
    /// Their load.
    ///
    /// # Errors
    /// The options are not valid for a load.
    pub fn load(&self) -> anyhow::Result<Load> {
        self.load.load()
    }

    /// The nodes of the given directory, or new ones.
    ///
    /// # Errors
    /// They cannot be started, or the load is not valid for them.
    pub fn nodes(&self, load: &Load) -> anyhow::Result<RunNodes> {
        if let Some(directory) = &self.directory {
            self.setting.refuse_with_directory()?;
            return Ok(RunNodes {
                cluster: Cluster::at(directory)?,
                temporary: None,
            });
        }
        let mut setting = self.setting.setting()?;
        if !self.setting.has_authority() && matches!(load.routing, Routing::Tables { .. }) {
            setting.authority = load.routing.clone();
            setting.check()?;
        }
        load.check(&setting)?;
        let place = Temporary::new();
        let mut cluster = Cluster::make(place.path(), &setting)?;
        cluster.up(&program()?, true)?;
        Ok(RunNodes {
            cluster,
            temporary: Some(place),
        })
    }
}

impl RunNodes {
    /// Ends the run: nodes that were started for it leave in order.
    ///
    /// # Errors
    /// They do not leave.
    pub fn end(mut self) -> anyhow::Result<()> {
        if self.temporary.is_some() {
            self.cluster.down()?;
        }
        Ok(())
    }
}
