//! Exit codes, and the code of each error of the engine.

use sardonyx::Error;
use sardonyx_rows::TableError;
use sardonyx_storage::catalogue::CatalogueError;
use sardonyx_storage::disk::DiskError;
use sardonyx_storage::engine::OpenError;
use sardonyx_storage::journal::JournalError;
use sardonyx_storage::log::LogError;
use sardonyx_storage::manifest::ManifestError;
use sardonyx_storage::places::PlacesError;
use sardonyx_storage::recovery::RecoveryError;
use sardonyx_storage::remote_log::RemoteLogError;
use sardonyx_storage::remote_log::known::KnownError;
use sardonyx_storage::remote_log::store::StoreError;
use serde::Serialize;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

/// The exit codes and their meanings, as in docs/commands.md.
pub const EXIT_CODES: [(Exit, &str); 6] = [
    (Exit::Done, "success"),
    (Exit::Found, "damage, or a failed check"),
    (Exit::Usage, "wrong usage"),
    (Exit::Locked, "the database is open elsewhere"),
    (
        Exit::Failed,
        "the disk, memory or system refused, or multi-level transactions have not ended",
    ),
    (
        Exit::Stuck,
        "`serve --store`: this host can neither serve nor follow",
    ),
];

/// The exit codes in two lines.
pub fn in_short() -> &'static str {
    "Exit codes: 0 success, 1 damage or a failed check, 2 usage, 3 open elsewhere,\n\
     4 refused by disk, memory or system. A verb with others says so in its --help."
}

/// An exit code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// Done, and all is well.
    Done,
    /// Damage was found, or a proof does not hold.
    Found,
    /// Wrong usage.
    Usage,
    /// The database is open elsewhere.
    Locked,
    /// The disk, memory or the system refused.
    Failed,
    /// A host can neither serve nor follow, and a restart does not help.
    Stuck,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

impl Exit {
    /// As the shell has it in `$?`.
    pub fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Found => 1,
            Exit::Usage => 2,
            Exit::Locked => 3,
            Exit::Failed => 4,
            Exit::Stuck => 5,
        }
    }
}

/// An error as `--json` prints it.
#[derive(Debug, Serialize)]
pub struct Told {
    /// The text, with its causes.
    error: String,
    exit_code: u8,
}

impl Told {
    /// An error that ends the program with this exit.
    pub fn new(error: String, exit: Exit) -> Self {
        let exit_code = exit.code();
        Told { error, exit_code }
    }
}

/// An error of the command line itself.
#[derive(Debug, thiserror::Error)]
pub enum UsageError {
    /// Arguments that do not fit together, or a value that cannot work.
    #[error("{0}")]
    Arguments(String),
    /// There is no database.
    #[error("{path} {what}: no database to open", path = path.display())]
    Absent {
        /// As the command line has it, not made absolute.
        path: PathBuf,
        /// The fault of the path.
        what: &'static str,
    },
    /// The database has no such object.
    #[error("{0}")]
    NotThere(String),
    /// This build lacks a cargo feature that is needed.
    #[error(
        "{what} not supported by this program: it was built without the feature `{feature}`; build it with \
         `--features {feature}` or `--features full`, or install the packaged program"
    )]
    MissingFeature {
        /// The requested feature, with its verb.
        what: &'static str,
        /// The feature's name.
        feature: &'static str,
    },
}

/// The exit code of the errors of a crate: `None` if the error is none of its own.
pub type Classifier = fn(&(dyn std::error::Error + 'static)) -> Option<Exit>;

/// The exit of an error: that of the first cause that a classifier, or else the engine, knows.
pub fn of_error(error: &anyhow::Error, classifiers: &[Classifier]) -> Exit {
    let of_cause = |cause: &(dyn std::error::Error + 'static)| {
        (classifiers.iter().find_map(|of| of(cause))).or_else(|| of_engine(cause))
    };
    error.chain().find_map(of_cause).unwrap_or(Exit::Failed)
}

/// The exit of an error of the engine, if this is one, or has one as its cause. A macro, since the error is found by a
/// method of that name, of any error and of the library's.
macro_rules! of_crate {
    ($error:expr) => {
        ($error.downcast_ref().map(of_open))
            .or_else(|| $error.downcast_ref().map(of_manifest))
            .or_else(|| $error.downcast_ref().map(of_places))
            .or_else(|| $error.downcast_ref().map(of_recovery))
            .or_else(|| $error.downcast_ref().map(of_journal))
            .or_else(|| $error.downcast_ref().map(of_log))
            .or_else(|| $error.downcast_ref().map(of_table))
            .or_else(|| $error.downcast_ref().map(of_catalogue))
            .or_else(|| $error.downcast_ref().map(of_remote_log))
            .or_else(|| $error.downcast_ref().map(of_store))
            .or_else(|| $error.downcast_ref().map(of_disk))
    };
}

fn of_engine(cause: &(dyn std::error::Error + 'static)) -> Option<Exit> {
    if cause.is::<UsageError>() {
        return Some(Exit::Usage);
    }
    if let Some(error) = cause.downcast_ref::<Error>() {
        return Some(of_database(error));
    }
    of_crate!(cause)
}

fn of_database(error: &Error) -> Exit {
    of_crate!(error).unwrap_or(Exit::Failed)
}

/// The exit of such an error, for a classifier whose errors contain one.
pub fn of_open(error: &OpenError) -> Exit {
    match error {
        OpenError::Log(error) => of_log(error),
        OpenError::Manifest(error) => of_manifest(error),
        OpenError::Recovery(error) => of_recovery(error),
        OpenError::Places(error) => of_places(error),
        OpenError::Locked { .. } => Exit::Locked,
        OpenError::Disk(error) => of_disk(error),
        OpenError::ManifestLost { .. } => Exit::Found,
        OpenError::Option { .. }
        | OpenError::Absent { .. }
        | OpenError::Occupied { .. }
        | OpenError::StoreImpossible { .. }
        | OpenError::BeforeKept { .. }
        | OpenError::BeyondEnd { .. }
        | OpenError::StoreMissing { .. } => Exit::Usage,
        OpenError::Known(KnownError::Damaged(_)) => Exit::Found,
        OpenError::Store(error) => of_remote_log(error),
        _ => Exit::Failed,
    }
}

/// A file in the place of a directory is no failure of the disk.
fn of_disk(error: &DiskError) -> Exit {
    match error.source.kind() {
        io::ErrorKind::NotADirectory => Exit::Usage,
        _ => Exit::Failed,
    }
}

fn of_remote_log(error: &RemoteLogError) -> Exit {
    match error {
        RemoteLogError::Store(error) => of_store(error),
        RemoteLogError::Identity { .. } => Exit::Usage,
        RemoteLogError::Entry { .. }
        | RemoteLogError::Chain { .. }
        | RemoteLogError::Groups { .. }
        | RemoteLogError::Hole { .. }
        | RemoteLogError::Base { .. }
        | RemoteLogError::Primary { .. }
        | RemoteLogError::Hosts { .. }
        | RemoteLogError::Boundary { .. } => Exit::Found,
        _ => Exit::Failed,
    }
}

fn of_store(error: &StoreError) -> Exit {
    match error {
        StoreError::Place { .. } => Exit::Usage,
        StoreError::Encryption { .. } => Exit::Found,
        _ => Exit::Failed,
    }
}

fn of_table(error: &TableError) -> Exit {
    match error {
        TableError::Catalogue(error) => of_catalogue(error),
        TableError::DamagedTable { .. } => Exit::Found,
        _ => Exit::Failed,
    }
}

fn of_catalogue(error: &CatalogueError) -> Exit {
    match error {
        CatalogueError::Damaged { .. } => Exit::Found,
        CatalogueError::OtherWay { .. } => Exit::Usage,
        _ => Exit::Failed,
    }
}

/// The exit of such an error, for a classifier whose errors contain one.
pub fn of_manifest(error: &ManifestError) -> Exit {
    match error {
        ManifestError::Absent { .. } | ManifestError::Damaged { .. } => Exit::Found,
        ManifestError::Value { .. } => Exit::Usage,
        _ => Exit::Failed,
    }
}

fn of_places(error: &PlacesError) -> Exit {
    match error {
        PlacesError::Damaged { .. }
        | PlacesError::Lost { .. }
        | PlacesError::Absent { .. }
        | PlacesError::Unowned { .. }
        | PlacesError::Foreign { .. } => Exit::Found,
        PlacesError::Occupied { .. }
        | PlacesError::IsPart { .. }
        | PlacesError::AtHome { .. }
        | PlacesError::Count { .. }
        | PlacesError::Path { .. } => Exit::Usage,
        _ => Exit::Failed,
    }
}

/// The exit of such an error, for a classifier whose errors contain one.
pub fn of_recovery(error: &RecoveryError) -> Exit {
    match error {
        RecoveryError::Disk(_) | RecoveryError::Store(_) => Exit::Failed,
        RecoveryError::Log(error) => of_log(error),
        RecoveryError::Journal(error) => of_journal(error),
        _ => Exit::Found,
    }
}

/// The exit of such an error, for a classifier whose errors contain one.
pub fn of_log(error: &LogError) -> Exit {
    match error {
        LogError::MissingSegment { .. }
        | LogError::SegmentLength { .. }
        | LogError::Corrupt { .. }
        | LogError::Inconsistent { .. } => Exit::Found,
        _ => Exit::Failed,
    }
}

fn of_journal(error: &JournalError) -> Exit {
    match error {
        JournalError::Log(error) => of_log(error),
        JournalError::Disk(_) => Exit::Failed,
        JournalError::NotKept => Exit::Usage,
        _ => Exit::Found,
    }
}

/// An error and its causes in one line; a cause that a message contains already is left out.
pub fn message(error: &anyhow::Error) -> String {
    let mut message = String::new();
    for cause in error.chain().map(|cause| cause.to_string()) {
        if message.is_empty() {
            message = cause;
        } else if !message.contains(&cause) {
            message.push_str(": ");
            message.push_str(&cause);
        }
    }
    message
}

/// True if the reader of standard output closed it, which is no error of ours.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let pipe = Some(io::ErrorKind::BrokenPipe);
        cause.downcast_ref::<io::Error>().map(io::Error::kind) == pipe
            || cause
                .downcast_ref::<serde_json::Error>()
                .and_then(|e| e.io_error_kind())
                == pipe
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;

    fn locked() -> OpenError {
        OpenError::Locked {
            file: "bank.sdx/LOCK".into(),
            holders: Vec::new(),
        }
    }

    #[test]
    fn an_error_keeps_its_exit_under_context_and_inside_the_faces_error() {
        let plain = anyhow::Error::new(locked()).context("while opening");
        assert_eq!(of_error(&plain, &[]), Exit::Locked);
        assert_eq!(
            of_error(&anyhow::Error::new(Error::from(locked())), &[]),
            Exit::Locked
        );
        assert_eq!(
            of_error(&UsageError::Arguments("no".into()).into(), &[]),
            Exit::Usage
        );
        assert_eq!(
            of_error(&anyhow::anyhow!("anything else"), &[]),
            Exit::Failed
        );
    }

    #[test]
    fn damage_is_found_and_a_failing_disk_is_not() {
        let corrupt = LogError::SegmentLength {
            file: "log/0".into(),
            found_bytes: 1,
            expected_bytes: 2,
        };
        let damage = Error::from(OpenError::Recovery(RecoveryError::Log(corrupt)));
        assert_eq!(of_error(&damage.into(), &[]), Exit::Found);
        let failed = || DiskError::new("read", "log/0", 0, io::Error::other("unplugged"));
        assert_eq!(
            of_error(&Error::from(OpenError::Disk(failed())).into(), &[]),
            Exit::Failed
        );
        let deep = RecoveryError::Log(LogError::from(failed()));
        assert_eq!(
            of_error(&Error::from(OpenError::Recovery(deep)).into(), &[]),
            Exit::Failed
        );
    }

    #[test]
    fn a_message_says_nothing_twice() {
        let error = DiskError::new("read", "log/0", 4096, io::Error::other("unplugged"));
        let error = Err::<(), _>(error)
            .context("verifying bank.sdx")
            .unwrap_err();
        assert_eq!(
            message(&error),
            "verifying bank.sdx: read failed on log/0 at offset 4096: unplugged"
        );
    }

    #[test]
    fn a_broken_pipe_is_told_from_other_errors() {
        let pipe = io::Error::from(io::ErrorKind::BrokenPipe);
        assert!(is_broken_pipe(
            &anyhow::Error::new(pipe).context("printing")
        ));
        assert!(!is_broken_pipe(&anyhow::anyhow!("something else")));
    }
}
