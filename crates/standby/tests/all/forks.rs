//! A child made by `fork` from a primary's process, or from a standby's, knows nothing of either and
//! stops neither.

#[path = "../../../sardonyx/tests/common/fork.rs"]
mod fork;

use crate::alone::alone;
use crate::common::bank::{Bank, fail_over};
use crate::common::{LONG, at, disk, serve};
use fork::Fork;
use sardonyx::Error;
use sardonyx_standby::{RemoteError, StandbyError};

#[test]
fn i9_a_forked_child_stops_neither_its_parents_standby_nor_its_primary() {
    alone(|| {
        let (here, there) = (disk(11), disk(12));
        let server = serve(&there);
        let standby = at(server.address());
        let mut bank = Bank::at(&here, standby.clone()).unwrap();
        let mut children = Vec::new();
        for n in 0..6 {
            bank.transact_patiently(50);
            children.push(Fork::Library.child(|| {
                let status = standby.status();
                let flushed = bank.database.flush();
                let refused = matches!(status.trouble, Some(RemoteError::Forked))
                    && !status.connected
                    && standby.lag().is_none()
                    && !standby.wait_until_caught_up(LONG)
                    && !standby.wait_for(|_| true, LONG)
                    && server.report().is_none()
                    && matches!(server.failure(), Some(StandbyError::Forked))
                    && matches!(flushed, Err(Error::Forked(_)));
                // SAFETY: nothing else uses them in this child, which ends without dropping them again.
                let (server, database) = unsafe {
                    let server = std::ptr::read(&raw const server);
                    (server, std::ptr::read(&raw const bank.database))
                };
                if n % 2 == 0 {
                    server.stop();
                } else {
                    drop(server);
                }
                refused && database.close().is_err()
            }));
        }
        for child in children {
            assert!(child.ends_content());
        }
        bank.transact_patiently(50);
        assert!(standby.wait_until_caught_up(LONG), "{:?}", standby.status());
        let done = bank.done;
        bank.database.close().unwrap();
        server.stop();
        assert_eq!(fail_over(&there), done);
    });
}
