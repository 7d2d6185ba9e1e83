//! PEM files: the CA that both ends trust, this process's certificate, and its key; and their errors.
//!
//! Errors are found when the files are read, and name the file: a certificate that the others would refuse is refused
//! here first. No error has a byte of a key.

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use sardonyx_base::error::{CrateError, Error, Kind};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The longest PEM file, in bytes.
pub const PEM_BYTES_MAX: u64 = 1 << 20;

/// The places of certificates and the key.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// Certificates of the CA: of one, or of an old and a new one.
    pub authority: PathBuf,
    /// This process's certificate, and behind it those between it and the CA, if there are any.
    pub certificate: PathBuf,
    /// Its key (PKCS#8, PKCS#1 or SEC1), which only its owner and their group may read.
    pub key: PathBuf,
    /// A DNS name that the certificates of all processes have; for a CA that is not the database's own.
    pub name: Option<String>,
}

impl TlsFiles {
    /// `ca.pem`, `cert.pem` and `key.pem` in this directory.
    pub fn in_directory(directory: impl AsRef<Path>) -> Self {
        let directory = directory.as_ref();
        TlsFiles {
            authority: directory.join("ca.pem"),
            certificate: directory.join("cert.pem"),
            key: directory.join("key.pem"),
            name: None,
        }
    }
}

/// The reason why files cannot be used for TLS.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file cannot be read.
    #[error("{} cannot be read: {source}; TLS needs the CA's certificate, this process's, and its key", file.display())]
    Read {
        /// As given to the option or the call that named it.
        file: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// A file is too long.
    #[error("{} has more than {PEM_BYTES_MAX} bytes: it is no PEM file with certificates or a key", file.display())]
    TooLong {
        /// As given to the option or the call that named it.
        file: PathBuf,
    },
    /// A file lacks its required content.
    #[error("{} has no {what} in PEM (a part from -----BEGIN to -----END): {reason}", file.display())]
    NoPem {
        /// As given to the option or the call that named it.
        file: PathBuf,
        /// The expected content.
        what: &'static str,
        /// The fault.
        reason: &'static str,
    },
    /// A certificate, or a key, is damaged or of a kind that is not known.
    #[error("{} cannot be used: {reason}", file.display())]
    Unusable {
        /// Its place.
        file: PathBuf,
        /// A half sentence that ends the message.
        reason: String,
    },
    /// Others may read the key.
    #[error("{} is readable by all users: remove that right (chmod o-rwx), and make a new key if another user may have read it", file.display())]
    KeyForAll {
        /// Its place.
        file: PathBuf,
    },
    /// The certificate is of another key.
    #[error("{} is not the key of the certificate in {}: give the two that belong together", key.display(), certificate.display())]
    OtherKey {
        /// The file of the private key.
        key: PathBuf,
        /// The file of this process's certificate.
        certificate: PathBuf,
    },
    /// Others with the same CA would refuse the certificate.
    #[error("the certificate in {} would be refused by others with {}: {reason}", certificate.display(), authority.display())]
    Certificate {
        /// The file of this process's certificate.
        certificate: PathBuf,
        /// The CA.
        authority: PathBuf,
        /// A half sentence that ends the message.
        reason: String,
    },
    /// The name is invalid.
    #[error("{name:?} is no DNS name: give one that all certificates have, such as bank.internal")]
    Name {
        /// As given by the option for the common name of all certificates.
        name: String,
    },
}

impl CrateError for TlsError {
    fn kind(&self) -> Kind {
        match self {
            TlsError::Read { .. } => Error::System,
            _ => Error::Refused,
        }
    }
}

/// A file's bytes, of which there are not too many.
fn read(file: &Path) -> Result<Vec<u8>, TlsError> {
    let mut bytes = Vec::new();
    let read = File::open(file).and_then(|open| {
        open.take(PEM_BYTES_MAX + 1)
            .read_to_end(&mut bytes)
            .map(|read| read as u64)
    });
    let file = file.to_path_buf();
    match read {
        Ok(0..=PEM_BYTES_MAX) => Ok(bytes),
        Ok(_) => Err(TlsError::TooLong { file }),
        Err(source) => Err(TlsError::Read { file, source }),
    }
}

/// The certificates of a file, of which there is one at least.
pub fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let bytes = read(file)?;
    let none = |reason| TlsError::NoPem {
        file: file.into(),
        what: "certificate",
        reason,
    };
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    match all {
        Ok(all) if all.is_empty() => Err(none("nothing of that kind is in it")),
        Ok(all) => Ok(all),
        Err(_) => Err(none("it is damaged, or cut")),
    }
}

/// The certificates of a CA, as the trusted ones.
pub fn authority(file: &Path) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(file)? {
        let added = roots.add(certificate);
        added.map_err(|error| TlsError::Unusable {
            file: file.into(),
            reason: format!("it has a part that is no certificate ({error})"),
        })?;
    }
    Ok(roots)
}

/// The configuration of a client without a certificate, which trusts the servers of one CA; without a CA, none.
///
/// # Errors
/// [`TlsError`], if the file has no certificate.
///
/// # Panics
/// Never: the versions of TLS are those of the cryptography that is compiled in.
pub fn client(authority: Option<&Path>) -> Result<ClientConfig, TlsError> {
    let roots = match authority {
        Some(file) => self::authority(file)?,
        None => RootCertStore::empty(),
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the versions are the provider's");
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

/// Reads a private key in PEM, from a file that other users cannot read.
pub fn key(file: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    let rights = std::fs::metadata(file).map(|found| found.permissions().mode());
    if rights.is_ok_and(|mode| mode & 0o007 != 0) {
        return Err(TlsError::KeyForAll { file: file.into() });
    }
    let bytes = read(file)?;
    // The reader's text may have bytes of the file.
    PrivateKeyDer::from_pem_slice(&bytes).map_err(|error| {
        use rustls::pki_types::pem::Error;
        TlsError::NoPem {
            file: file.into(),
            what: "private key",
            reason: match error {
                Error::NoItemsFound => "nothing of that kind is in it, or it is encrypted",
                _ => "it is damaged, or cut",
            },
        }
    })
}
