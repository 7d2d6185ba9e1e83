//! TLS for clients: the server shows a certificate, clients show passwords.

use crate::error::ServerError;
use crate::options::TlsFiles;
use rustls::ServerConfig;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::path::Path;
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;

/// An acceptor of TLS 1.2 and 1.3 with these files, which are read now.
///
/// # Errors
/// [`ServerError::Tls`], which names the file and has no byte of a key.
pub fn acceptor(files: &TlsFiles) -> Result<TlsAcceptor, ServerError> {
    let wrong = |file: &Path, reason: String| ServerError::Tls {
        file: file.to_path_buf(),
        reason,
    };
    let certificates = CertificateDer::pem_file_iter(&files.certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| {
            wrong(
                &files.certificate,
                format!("no certificate in PEM: {error}"),
            )
        })?;
    if certificates.is_empty() {
        return Err(wrong(&files.certificate, "no certificate in PEM".into()));
    }
    let key = PrivateKeyDer::from_pem_file(&files.key);
    let key = key.map_err(|error| wrong(&files.key, format!("no key in PEM: {error}")))?;
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| {
            builder
                .with_no_client_auth()
                .with_single_cert(certificates, key)
        });
    let config = config.map_err(|error| wrong(&files.certificate, error.to_string()))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}
