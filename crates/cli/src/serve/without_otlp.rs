//! This command was built without what sends spans: whoever wants it is told how to have it.

use super::logging::MoreLayer;
use sardonyx_command::exit::UsageError;
use sardonyx_server::Options;

/// What sends spans, of which there is none here.
#[derive(Debug)]
pub enum Sending {}

impl Sending {
    /// Nothing, where nobody wants spans.
    ///
    /// # Errors
    /// Somebody does.
    pub fn start(options: &mut Options) -> Result<Option<Sending>, UsageError> {
        match &options.otlp.endpoint {
            None => Ok(None),
            Some(endpoint) => Err(UsageError::Arguments(format!(
                "no spans can be sent to {endpoint}: this command was built without it; build it with `cargo build \
                 --release -p sardonyx-cli --features otlp`"
            ))),
        }
    }

    /// What is told to it.
    pub fn layer(&self) -> MoreLayer {
        match *self {}
    }

    /// Sends what is left.
    pub fn end(self) {
        match self {}
    }
}
