//! Replaces the sending of spans in a build without the feature: an endpoint is refused, and the error names the
//! feature.

use super::logging::MoreLayer;
use sardonyx_command::exit::UsageError;
use sardonyx_server::Options;

/// A sender of spans, which cannot exist.
#[derive(Debug)]
pub enum Sending {}

impl Sending {
    /// Returns `None` if no endpoint is configured.
    ///
    /// # Errors
    /// An endpoint is configured.
    pub fn start(options: &mut Options) -> Result<Option<Sending>, UsageError> {
        match &options.otlp.endpoint {
            None => Ok(None),
            Some(endpoint) => Err(UsageError::Arguments(format!(
                "no spans can be sent to {endpoint}: this command was built without it; build it with `cargo build \
                 --release -p sardonyx-cli --features otlp`"
            ))),
        }
    }

    /// The subscriber that sends spans.
    pub fn layer(&self) -> MoreLayer {
        match *self {}
    }

    /// Sends the remaining spans.
    pub fn end(self) {
        match self {}
    }
}
