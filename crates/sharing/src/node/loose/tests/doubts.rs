//! A node that has stopped since a page was in another version than it should be. The register shows if that is an
//! error of the program, or the others have continued without the node.

use super::super::coupling::{Loose, RegisterJob};
use super::super::wire::Trust;
use crate::node::NodeError;
use crate::node::local::Local;
use crate::node::shell::Shell;
use crate::protocol::{Division, NodeId, PrimaryCopyOptions, UpdateStrategy};
use sardonyx_base::transport::Plain;
use std::sync::Arc;
use std::sync::mpsc::channel;

fn stopped() -> Shell<Loose> {
    let options = PrimaryCopyOptions {
        update: UpdateStrategy::Force,
        read_optimisation: true,
        authorised_without_copy: true,
        acknowledge_release: false,
        stored_at_commit: true,
    };
    let trust = Trust {
        transport: Arc::new(Plain),
        token: None,
    };
    let (jobs, _) = channel();
    let (register, asked) = channel();
    let local = Local::new(NodeId(1), 8);
    let division = (Division::spread(4), None);
    let mut shell = Loose::shell(local, options, division, trust, jobs, register);
    shell.stop(&NodeError::PageLost {
        page: 70,
        psn: 2402,
        found: 2356,
    });
    let look = asked.try_recv();
    assert!(matches!(look, Ok(RegisterJob::Look)), "{look:?}");
    shell
}

#[test]
fn a_lost_page_is_believed_only_when_the_register_says_that_the_node_takes_part() {
    let mut shell = stopped();
    assert!(shell.is_in_doubt());
    let said = shell.check().unwrap_err().to_string();
    assert!(
        said.contains("2356") && !said.contains("error in the program"),
        "{said}"
    );

    shell.settle_doubt(Some(true));
    let said = shell.check().unwrap_err();
    assert!(matches!(said, NodeError::Stopped { .. }), "{said:?}");
    assert!(said.to_string().contains("error in the program"), "{said}");

    let mut out = stopped();
    out.settle_doubt(Some(false));
    let said = out.check().unwrap_err();
    assert!(matches!(said, NodeError::ShutOut { .. }), "{said:?}");
    assert!(said.to_string().contains("lease has run out"), "{said}");

    // An unknown outcome is reported as unknown.
    let mut unknown = stopped();
    unknown.settle_doubt(None);
    let said = unknown.check().unwrap_err().to_string();
    assert!(
        !unknown.is_in_doubt() && !said.contains("error in the program"),
        "{said}"
    );
}
