//! The setting of nodes in a line, for people.

use crate::setting::{Coupling, Setting, Update};
use sardonyx_results::units::count;

/// A line with the number of nodes, their coupling, update strategy and sizes.
pub fn title(setting: &Setting) -> String {
    let nodes = match setting.nodes {
        1 => "1 node".to_string(),
        nodes => format!("{nodes} nodes"),
    };
    let update = match setting.update {
        Update::Force => "FORCE",
        Update::Noforce => "NOFORCE",
    };
    let connecting = &setting.connecting;
    let coupling = match setting.coupling {
        Coupling::Close => "closely coupled (GEM locking in shared memory)".into(),
        Coupling::Loose => format!(
            "loosely coupled (primary copy locking over {}, a page server{})",
            connecting.tls.as_ref().map_or("TCP", |_| "TLS"),
            connecting.etcd.as_ref().map_or("", |_| ", etcd")
        ),
    };
    let authority = match setting.coupling {
        Coupling::Close => String::new(),
        Coupling::Loose => format!(" lock authority by {} routing,", setting.authority.name()),
    };
    let (branches, buffer) = (setting.scale.pages().branches(), setting.buffer_pages);
    format!(
        "{nodes}, {coupling},{authority} {update}, buffer of {} pages each, {} branches",
        count(buffer.into()),
        count(branches)
    )
}
