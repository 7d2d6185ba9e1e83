//! What a server tells while it runs: on standard error, a line for each event, as text, or as JSON where programs read.

use tracing::level_filters::LevelFilter;

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

/// Tells events of this level and above. Once in a process: later calls change nothing.
pub fn tell(level: LogLevel, json: bool) {
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(level.filter())
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .with_target(false);
    // An error means that somebody tells already.
    let _ = match json {
        true => subscriber.json().try_init(),
        false => subscriber.try_init(),
    };
}
