//! The log of a running server: on standard error, a line for each event, as text, or as JSON for programs.

use tracing::level_filters::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry};

/// The level of the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum LogLevel {
    /// No events.
    Off,
    /// An error that stops a part of the server: the log is closed, checkpointing has stopped.
    Error,
    /// An event to look into: slow statements, clients that are refused, a full disk.
    Warn,
    /// Also events that are no fault: a checkpoint continues, a password was wrong.
    Info,
    /// Also connections that ended.
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

/// A further subscriber of events and spans.
pub type MoreLayer = Box<dyn Layer<Registry> + Send + Sync>;

/// Logs events of this level and above. Call it once in a process: later calls have no effect.
///
/// Spans have level TRACE: lines name their spans only at this level. `more` has a filter of its own.
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
    // An error means that a subscriber is already set.
    let _ = subscriber.try_init();
}
