//! What the tests of the standby share: a bank whose state tells exactly how many transactions are
//! in it, and a proxy that cuts or damages connections.

pub mod bank;
pub mod proxy;

use sardonyx_standby::{ListeningStandby, Patience, Standby, StandbyOptions, StandbyServer};
use sardonyx_storage::disk::{Faults, SimulatedDisk};
use std::sync::Arc;
use std::time::Duration;

/// Longer than anything takes; a test that waits so long has failed.
pub const LONG: Duration = Duration::from_secs(60);

pub fn disk(seed: u64) -> SimulatedDisk {
    SimulatedDisk::new(seed, Faults::default())
}

/// A standby at work on this disk.
pub fn serve(disk: &SimulatedDisk) -> ListeningStandby {
    serve_with(disk, |options| options)
}

/// The same with other options.
pub fn serve_with(
    disk: &SimulatedDisk,
    more: impl FnOnce(StandbyOptions) -> StandbyOptions,
) -> ListeningStandby {
    let options = StandbyOptions::new()
        .log_bytes_max(512 << 10)
        .memory_bytes_max(64 << 20)
        .report_interval(Duration::from_millis(1));
    StandbyServer::open_on(Arc::new(disk.clone()), more(options))
        .expect("the standby opens")
        .listen("127.0.0.1:0")
        .expect("the standby listens")
}

/// Little patience between attempts, and as much with each as a busy machine may need.
pub fn patience() -> Patience {
    Patience {
        connect_max: LONG,
        silence_max: LONG,
        retry_first: Duration::from_millis(1),
        retry_max: Duration::from_millis(20),
    }
}

/// The standby at this address.
pub fn at(address: impl ToString) -> Arc<Standby> {
    Standby::with_patience(address.to_string(), patience())
}
