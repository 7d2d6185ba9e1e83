//! Asking others over HTTP: how long they are waited for, and whose certificates are believed.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};

/// The certificate of who vouches for a server is none.
#[derive(Debug, thiserror::Error)]
#[error("{file} has no certificate in PEM")]
pub struct CertificateError {
    /// Which file.
    file: String,
}

/// Asks, and waits so long at most. `ca` has the certificate that vouches for those that are asked over TLS.
///
/// # Errors
/// [`CertificateError`].
pub fn agent(ca: Option<&Path>, patience: Duration) -> Result<ureq::Agent, CertificateError> {
    let tls = TlsConfig::builder()
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()));
    // Without one no server is believed: there is no list of them here.
    let tls = tls.root_certs(RootCerts::Specific(Arc::new(match ca {
        Some(file) => certificates(file)?,
        None => Vec::new(),
    })));
    let config = ureq::Agent::config_builder()
        .timeout_global(Some(patience))
        .http_status_as_error(false)
        .tls_config(tls.build())
        .build();
    Ok(config.into())
}

fn certificates(file: &Path) -> Result<Vec<Certificate<'static>>, CertificateError> {
    let none = || CertificateError {
        file: file.display().to_string(),
    };
    let text = std::fs::read(file).map_err(|_| none())?;
    let items = parse_pem(&text).filter_map(|item| match item {
        Ok(PemItem::Certificate(certificate)) => Some(certificate),
        _ => None,
    });
    let certificates: Vec<_> = items.collect();
    match certificates.is_empty() {
        true => Err(none()),
        false => Ok(certificates),
    }
}
