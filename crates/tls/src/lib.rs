//! TLS between the processes of a database, in which both ends authenticate. It is another
//! [`Transport`](sardonyx_base::transport::Transport) than plain TCP. Loosely coupled nodes and their page server use
//! it, and so do a host and the log that another host keeps for it.
//!
//! ```no_run
//! use sardonyx_tls::{Tls, TlsFiles};
//! use std::sync::Arc;
//!
//! // ca.pem, cert.pem and key.pem
//! let transport = Arc::new(Tls::new(&TlsFiles::in_directory("/etc/sardonyx"))?);
//! // Serving::start_over(transport.clone(), …); LooseOptions { transport, … }
//! // RemoteOptions { trust: Some(Trust { transport, … }), … }
//! # Ok::<(), sardonyx_tls::TlsError>(())
//! ```
//!
//! *Checked* at both ends alike: the other end has the key of a certificate that the CA has signed. The certificate's
//! time has come and not passed, and it is for its part: its extended key usage, if it has one, names client or
//! server. The CA is the database's own: a process with a certificate of it is one of the database's. Nodes come and
//! go and announce their own addresses, so a certificate's names of hosts are not compared with them. If the CA signs
//! for others, too, [`TlsFiles::name`] is a DNS name that every process's certificate must have.
//!
//! *Not checked*: the number of the node, and the revocation of a certificate. Any process of the database may claim
//! to be any node of it, as by a token. A CA of the database's own, and short times, take the place of lists. Files
//! are read once. Existing connections outlive their certificates, and new ones need a process that was started with
//! new files.
//!
//! TLS 1.3 only, by `rustls` with the cryptography of `ring`. No sessions are resumed, so only data follows the
//! greeting, and an end that only writes need not read.
//!
//! - `files`: PEM files, and their errors; - `verify`: the trusted ends;
//! - `transport`: the greeting, within a time; - `connection`: bytes after it; - `explain`: errors as texts.

#![cfg_attr(
    not(test),
    deny(clippy::print_stdout, clippy::unwrap_used, clippy::panic)
)]
#![forbid(unsafe_code)]

mod connection;
mod explain;
mod files;
mod transport;
mod verify;

pub use files::{PEM_BYTES_MAX, TlsError, TlsFiles, client};
pub use transport::Tls;
