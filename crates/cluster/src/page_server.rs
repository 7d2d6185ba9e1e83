//! The page server of loosely coupled nodes: a process of its own, in the slot after the last node's, which listens on
//! the loopback interface. A file of the cluster's directory, which only its owner may read, has its address and the
//! token that each request needs.
//!
//! Nodes that wait for a page server that died ask again at the same address. So the next one takes the same port while
//! a node runs, and any free one otherwise.

use crate::coupled::any_slot_is_locked;
use crate::error::ClusterError;
use crate::places::Places;
use crate::setting::Setting;
use sardonyx_base::token::Token;
use sardonyx_sharing::node::loose::{PageServer, Serving};
use sardonyx_sharing::protocol::Epoch;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::fs::OpenOptionsExt;

/// The address of the page server.
#[derive(Serialize, Deserialize)]
pub(crate) struct Called {
    /// The address at which it listens.
    pub address: SocketAddr,
    /// The token that all processes of the cluster know.
    pub token: Token,
}

impl Called {
    /// The address of a place's page server, if it runs.
    pub fn read(setting: &Setting, places: &Places) -> Result<Self, ClusterError> {
        let runs = setting.page_server_slot();
        let runs = runs.is_some_and(|slot| places.connect(slot).is_some());
        let called = runs.then(|| Called::last(places)).flatten();
        called.ok_or_else(|| ClusterError::NoPageServer {
            place: places.directory().to_path_buf(),
        })
    }

    /// The address of the last one.
    fn last(places: &Places) -> Option<Self> {
        let text = std::fs::read_to_string(places.page_server()).ok()?;
        serde_json::from_str(&text).ok()
    }

    fn write(&self, places: &Places) -> Result<(), ClusterError> {
        let place = places.page_server();
        let beside = place.with_extension("new");
        // Another user's file, with other permissions, may be left.
        let _ = std::fs::remove_file(&beside);
        let text = serde_json::to_string(self).unwrap_or_default();
        let file = File::options()
            .create_new(true)
            .write(true)
            .mode(0o600)
            .open(&beside);
        file.and_then(|mut file| file.write_all(text.as_bytes()))
            .and_then(|()| std::fs::rename(&beside, &place))
            .map_err(ClusterError::system("write", &place))
    }
}

/// Opens the database, and answers nodes until it is dropped.
///
/// # Errors
/// As [`PageServer::open`] and [`Serving::start_over`]; [`ClusterError::System`], [`ClusterError::Tls`];
/// [`ClusterError::RegisterLost`].
pub(crate) fn start(setting: &Setting, places: &Places) -> Result<Serving, ClusterError> {
    let pages = crate::bank::Bank::new(setting).pages();
    let transport = setting.connecting.transport()?;
    let server = PageServer::open(places.database(), pages, setting.storage_options())?;
    // With an empty register, nodes would reuse the names, and so the logs, of earlier ones.
    if server.has_logs() && setting.register(places)?.read()?.epoch == Epoch(0) {
        return Err(ClusterError::RegisterLost {
            register: setting.connecting.register_name(places),
            place: places.directory().to_path_buf(),
        });
    }
    let last = Called::last(places).filter(|_| any_slot_is_locked(setting, places));
    let (port, token) = match last {
        Some(last) => (last.address.port(), last.token),
        None => (0, Token::random()),
    };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(ClusterError::system(
        "listen for nodes at the port in",
        places.page_server(),
    ))?;
    let serving = Serving::start_over(transport, server, listener, Some(token.clone()))?;
    let address = serving.address();
    Called { address, token }.write(places)?;
    Ok(serving)
}
