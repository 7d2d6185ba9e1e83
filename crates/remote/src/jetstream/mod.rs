//! A log in NATS JetStream, whose servers replicate a stream and agree on the order of its messages.
//!
//! - [`place`]: `nats://HOST[:PORT][,HOST...]/STREAM[/PREFIX]`; [`credentials`]: the client's identity;
//! - [`subjects`]: names; [`log`]: entries, registers and objects made of messages;
//! - [`stream`]: the requests to a stream for that, as a trait; [`connection`]: to real servers, whose messages are in
//!   [`api`];
//! - [`configuration`]: how the stream has to be set up.

mod api;
mod configuration;
mod connection;
mod credentials;
#[cfg(test)]
mod fake;
mod log;
pub(crate) mod place;
mod stream;
mod subjects;
#[cfg(test)]
mod tests;

use crate::options::RemoteOptions;
use crate::probe;
use connection::NatsStream;
use log::JetStreamLog;
use place::JetStreamPlace;
use sardonyx_base::random::system_random;
use sardonyx_storage::remote_log::objects::RemotePlace;
use sardonyx_storage::remote_log::store::StoreError;
use std::sync::Arc;
use subjects::Subjects;

/// The log there, probed if that is wanted. Without that nothing is asked yet.
///
/// # Errors
/// The credentials are wrong; no server answers; the stream is not as it has to be, or cannot keep a log.
pub(crate) fn open(
    place: &JetStreamPlace,
    options: &RemoteOptions,
) -> Result<Arc<dyn RemotePlace>, StoreError> {
    let stream = NatsStream::connect(place, options)?;
    let log = |prefix: &str| {
        let subjects = Subjects::new(&place.stream, prefix);
        JetStreamLog::new(stream.clone(), subjects, options.entry_bytes_max)
    };
    if options.probe {
        let beside = log(&format!("{}/probe/{:016x}", place.prefix, system_random()));
        let probed = probe::probe(&beside);
        beside.clear();
        probed?;
    }
    Ok(Arc::new(log(&place.prefix)))
}
