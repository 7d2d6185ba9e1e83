//! What a server tells while it runs: on standard error, a line for each event, as text, or as JSON where programs read.

use tracing::level_filters::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry};

/// How much is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum LogLevel {
    /// Nothing.
    Off,
    /// What stops something: the log is closed, checkpointing has stopped.
    Error,
    /// What somebody should look at: slow statements, clients that are refused, a full disk.
    Warn,
    /// What is no fault, too: that a checkpoint goes on, that a password was wrong.
    Info,
    /// Connections that ended, too.
    Debug,
    /// All.
    Trace,
}

impl LogLevel {
    fn filter(self) -> LevelFilter {
        match self {
            LogLevel::Off => LevelFilter::OFF,
            LogLevel::Error => LevelFilter::ERROR,
            LogLevel::Warn => LevelFilter::WARN,
            LogLevel::Info => LevelFilter::INFO,
            LogLevel::Debug => LevelFilter::DEBUG,
            LogLevel::Trace => LevelFilter::TRACE,
        }
    }
}

/// What else is told, besides lines.
pub type MoreLayer = Box<dyn Layer<Registry> + Send + Sync>;

/// Tells events of this level and above. Once in a process: later calls change nothing.
///
/// Spans are of level TRACE: only there lines have those in which they are. What else is told has a filter of its own.
pub fn tell(level: LogLevel, json: bool, more: Option<MoreLayer>) {
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .with_target(false);
    let lines = match json {
        true => lines.json().boxed(),
        false => lines.boxed(),
    };
    let subscriber = tracing_subscriber::registry()
        .with(more)
        .with(lines.with_filter(level.filter()));
    // An error means that somebody tells already.
    let _ = subscriber.try_init();
}
