//! The places of some nodes' files: a directory with the database, the setting, a socket and a log of each node. The
//! page server of loosely coupled nodes has those of the slot after the last node's.
//!
//! ```text
//! DIR/cluster.json    how the nodes are
//! DIR/bank.sdx        the database
//! DIR/node-N.sock     where the process of node N takes requests
//! DIR/node-N.log      what it said
//! DIR/node-N.trace    what it recorded
//! DIR/node-N.lock     locked by the process of the loosely coupled node N
//! DIR/page-server     where the page server of loosely coupled nodes is, and the token that it asks for
//! DIR/load.lock       locked by the process that loads the nodes
//! DIR/members         who takes part, of loosely coupled nodes
//! ```
//!
//! A socket's path has at most 107 bytes; so sockets are named by the directory's descriptor
//! (`/proc/self/fd/…`), however long the directory's path is.

use crate::error::ClusterError;
use rustix::fs::{Mode, OFlags, open};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// The places of some nodes' files.
#[derive(Clone, Debug)]
pub struct Places {
    directory: PathBuf,
}

impl Places {
    /// The directory need not exist yet.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        let directory = directory.into();
        Places { directory }
    }

    /// All files of the cluster are below it.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Creates the directory, if it does not exist.
    ///
    /// # Errors
    /// [`ClusterError::System`].
    pub fn make(&self) -> Result<(), ClusterError> {
        std::fs::create_dir_all(&self.directory)
            .map_err(ClusterError::system("make", &self.directory))
    }

    /// The setting's file.
    pub fn setting(&self) -> PathBuf {
        self.directory.join("cluster.json")
    }

    /// The database's directory.
    pub fn database(&self) -> PathBuf {
        self.directory.join("bank.sdx")
    }

    /// The output of a node's process.
    pub fn log(&self, slot: usize) -> PathBuf {
        self.directory.join(format!("node-{slot}.log"))
    }

    /// The trace of a node.
    pub fn trace(&self, slot: usize) -> PathBuf {
        self.directory.join(format!("node-{slot}.trace"))
    }

    /// The lock of a loosely coupled node's process.
    pub fn lock(&self, slot: usize) -> PathBuf {
        self.directory.join(format!("node-{slot}.lock"))
    }

    /// The file that the process locks which loads the nodes.
    pub fn load(&self) -> PathBuf {
        self.directory.join("load.lock")
    }

    /// The file with the address of loosely coupled nodes' page server.
    pub fn page_server(&self) -> PathBuf {
        self.directory.join("page-server")
    }

    /// The register of the members, of loosely coupled nodes.
    pub fn members(&self) -> PathBuf {
        self.directory.join("members")
    }

    /// The socket at which a node's process takes requests.
    pub fn socket(&self, slot: usize) -> PathBuf {
        self.directory.join(format!("node-{slot}.sock"))
    }

    fn by_descriptor<R>(
        &self,
        slot: usize,
        work: impl FnOnce(&Path) -> std::io::Result<R>,
    ) -> std::io::Result<R> {
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY;
        let directory = File::from(open(&self.directory, flags, Mode::empty())?);
        let name = format!("/proc/self/fd/{}/node-{slot}.sock", directory.as_raw_fd());
        work(Path::new(&name))
    }

    /// Listens for requests to a node; replaces the socket of a dead process of the same slot.
    ///
    /// # Errors
    /// [`ClusterError::System`].
    pub fn listen(&self, slot: usize) -> Result<UnixListener, ClusterError> {
        let place = self.socket(slot);
        let listening = self.by_descriptor(slot, |name| {
            let _ = std::fs::remove_file(name);
            UnixListener::bind(name)
        });
        listening.map_err(ClusterError::system("listen at", place))
    }

    /// Connects to a node's process; `None`: there is none.
    pub fn connect(&self, slot: usize) -> Option<UnixStream> {
        self.by_descriptor(slot, |name| UnixStream::connect(name))
            .ok()
    }
}
