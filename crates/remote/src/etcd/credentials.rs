//! This process' identity for etcd, and etcd's for it: from the environment, with the names of etcd's own tool.
//!
//! | variable | meaning |
//! | --- | --- |
//! | `ETCDCTL_CACERT` | a file with certificates of authorities, instead of the system's |
//! | `ETCDCTL_CERT`, `ETCDCTL_KEY` | files with a certificate and its key, to show to etcd |
//! | `ETCDCTL_USER` | a user, as `NAME` or `NAME:PASSWORD` |
//! | `ETCDCTL_PASSWORD` | the password |

use crate::variables::Variables;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use sardonyx_storage::remote_log::store::StoreError;
use std::fmt;
use std::sync::Arc;
use ureq::tls::{Certificate, ClientCert, PemItem, PrivateKey, RootCerts, TlsConfig, parse_pem};

/// The contents of the environment.
#[derive(Clone, Default)]
pub(crate) struct Credentials {
    tls: Option<TlsConfig>,
    user: Option<(String, String)>,
}

impl fmt::Debug for Credentials {
    /// Without secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (tls, user) = (self.tls.is_some(), self.user.is_some());
        write!(f, "Credentials {{ tls: {tls}, user: {user} }}")
    }
}

impl Credentials {
    /// From the variables that this gives, for the keeper at this place.
    ///
    /// # Errors
    /// A file that is named cannot be read, or has something else; two that belong together are not both named.
    pub fn from(
        place: &str,
        tls: bool,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Credentials, StoreError> {
        let variables = Variables::new(place, variable);
        let wrong = |reason: String| variables.wrong(reason);
        let user = variables.get("ETCDCTL_USER");
        let user = match (user, variables.get("ETCDCTL_PASSWORD")) {
            (Some(user), Some(password)) => Some((user, password)),
            (Some(user), None) => match user.split_once(':') {
                Some((user, password)) => Some((user.into(), password.into())),
                None => {
                    return Err(wrong(
                        "ETCDCTL_USER has no password: set ETCDCTL_PASSWORD, too".into(),
                    ));
                }
            },
            (None, Some(_)) => {
                return Err(wrong("ETCDCTL_PASSWORD is set without ETCDCTL_USER".into()));
            }
            (None, None) => None,
        };
        let shown = variables.both("ETCDCTL_CERT", "ETCDCTL_KEY")?;
        let ca = variables.file("ETCDCTL_CACERT")?;
        if !tls && (ca.is_some() || shown.is_some()) {
            return Err(wrong(
                "ETCDCTL_CACERT, ETCDCTL_CERT and ETCDCTL_KEY are for a connection with TLS: write etcds://".into(),
            ));
        }
        if !tls {
            return Ok(Credentials { tls: None, user });
        }
        let roots = match ca {
            None => RootCerts::PlatformVerifier,
            Some(ca) => {
                let authorities = certificates(&ca);
                let authorities =
                    authorities.ok_or_else(|| no("ETCDCTL_CACERT", "certificate", &wrong))?;
                are_authorities(&authorities).map_err(|error| {
                    wrong(format!(
                        "the file that ETCDCTL_CACERT names has a certificate that is not usable: {error}"
                    ))
                })?;
                RootCerts::Specific(Arc::new(authorities))
            }
        };
        let shown = match shown {
            None => None,
            Some(_) => {
                let certificate = variables.file("ETCDCTL_CERT")?.unwrap_or_default();
                let key = variables.file("ETCDCTL_KEY")?.unwrap_or_default();
                let chain = certificates(&certificate)
                    .ok_or_else(|| no("ETCDCTL_CERT", "certificate", &wrong))?;
                let der = PrivateKeyDer::from_pem_slice(&key)
                    .map_err(|_| no("ETCDCTL_KEY", "private key", &wrong))?;
                let key = PrivateKey::from_pem(&key);
                let key = key.map_err(|_| no("ETCDCTL_KEY", "private key", &wrong))?;
                can_be_shown(&chain, der).map_err(|error| {
                    wrong(format!(
                        "the files that ETCDCTL_CERT and ETCDCTL_KEY name are damaged, or do not belong together: \
                         {error}"
                    ))
                })?;
                Some(ClientCert::new_with_certs(&chain, key))
            }
        };
        let tls = TlsConfig::builder()
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .root_certs(roots)
            .client_cert(shown)
            .build();
        Ok(Credentials {
            tls: Some(tls),
            user,
        })
    }

    pub fn tls(&self) -> Option<TlsConfig> {
        self.tls.clone()
    }

    /// The user and the password.
    pub fn user(&self) -> Option<&(String, String)> {
        self.user.as_ref()
    }
}

fn no(name: &str, what: &str, wrong: &impl Fn(String) -> StoreError) -> StoreError {
    wrong(format!(
        "the file that {name} names has no {what} in it (PEM)"
    ))
}

/// Takes each as an authority. ureq would leave out the ones that it cannot read.
fn are_authorities(certificates: &[Certificate<'static>]) -> Result<(), rustls::Error> {
    let mut roots = RootCertStore::empty();
    let mut each = certificates.iter();
    each.try_for_each(|certificate| roots.add(CertificateDer::from(certificate.der().to_vec())))
}

/// Takes a certificate and its key as the first connection will. ureq panics when they are not usable.
fn can_be_shown(
    chain: &[Certificate<'static>],
    key: PrivateKeyDer<'static>,
) -> Result<(), rustls::Error> {
    let chain = chain.iter();
    let chain = chain.map(|certificate| CertificateDer::from(certificate.der().to_vec()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(RootCertStore::empty())
        .with_client_auth_cert(chain.collect(), key)
        .map(drop)
}

/// The certificates of a file, if it has at least one and nothing is damaged.
fn certificates(pem: &[u8]) -> Option<Vec<Certificate<'static>>> {
    let items: Result<Vec<PemItem<'static>>, _> = parse_pem(pem).collect();
    let certificates = items.ok()?.into_iter().filter_map(|item| match item {
        PemItem::Certificate(certificate) => Some(certificate),
        _ => None,
    });
    let certificates: Vec<_> = certificates.collect();
    (!certificates.is_empty()).then_some(certificates)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;

    #[test]
    fn wrong_variables_are_named_and_never_shown() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "hunter2").unwrap();
        let path = file.path().to_str().unwrap();
        let from = |tls: bool, set: &[(&str, &str)]| {
            let set: Vec<_> = set
                .iter()
                .map(|(n, v)| (n.to_string(), v.to_string()))
                .collect();
            Credentials::from("here", tls, move |name: &str| {
                let found = set.iter().find(|(known, _)| known == name);
                found.map(|(_, value)| value.clone())
            })
        };
        let user = |set: &[(&str, &str)]| from(false, set).unwrap().user().cloned();
        let expected = Some(("u".to_string(), "hunter2:x".to_string()));
        assert_eq!(user(&[("ETCDCTL_USER", "u:hunter2:x")]), expected);
        let both = [("ETCDCTL_USER", "u"), ("ETCDCTL_PASSWORD", "hunter2:x")];
        assert_eq!(user(&both), expected);
        assert_eq!(user(&[("ETCDCTL_USER", "")]), None);
        assert!(from(true, &[]).unwrap().tls().is_some());
        let shown = format!("{:?}", from(false, &both).unwrap());
        assert!(!shown.contains("hunter2"), "{shown}");
        for (tls, set, says) in [
            (false, vec![("ETCDCTL_USER", "hunter2")], "no password"),
            (
                false,
                vec![("ETCDCTL_PASSWORD", "hunter2")],
                "without ETCDCTL_USER",
            ),
            (false, vec![("ETCDCTL_CACERT", path)], "write etcds://"),
            (
                true,
                vec![("ETCDCTL_CACERT", "/no/hunter2")],
                "ETCDCTL_CACERT names cannot",
            ),
            (
                true,
                vec![("ETCDCTL_CACERT", path)],
                "ETCDCTL_CACERT names has no certificate",
            ),
            (true, vec![("ETCDCTL_CERT", path)], "together or not"),
            (
                true,
                vec![("ETCDCTL_CERT", path), ("ETCDCTL_KEY", path)],
                "ETCDCTL_CERT names has no",
            ),
        ] {
            let error = from(tls, &set).unwrap_err().to_string();
            assert!(
                error.contains(says) && !error.contains("hunter2"),
                "{error}"
            );
        }
    }

    #[test]
    fn a_certificate_that_cannot_be_shown_is_refused_before_a_request() {
        let made = || rcgen::generate_simple_self_signed(vec!["host".into()]).unwrap();
        let (one, other) = (made(), made());
        let (certificate, key) = (one.cert.pem(), one.signing_key.serialize_pem());
        let other_key = other.signing_key.serialize_pem();
        let pem = |kind: &str, bytes: &[u8]| {
            let text = STANDARD.encode(bytes);
            format!("-----BEGIN {kind}-----\n{text}\n-----END {kind}-----\n")
        };
        let der = one.cert.der();
        let cut = pem("CERTIFICATE", &der[..der.len() - 9]);
        let damaged_key = pem("PRIVATE KEY", b"hunter2");
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str| directory.path().join(name).to_str().unwrap().to_string();
        let open = |ca: &str, certificate: &str, key: &str| {
            for (name, text) in [("ca", ca), ("certificate", certificate), ("key", key)] {
                std::fs::write(file(name), text).unwrap();
            }
            let from = Credentials::from("here", true, |name: &str| match name {
                "ETCDCTL_CACERT" => Some(file("ca")),
                "ETCDCTL_CERT" => Some(file("certificate")),
                "ETCDCTL_KEY" => Some(file("key")),
                _ => None,
            });
            from.map(drop)
        };
        open(&certificate, &certificate, &key).unwrap();
        for (ca, shown, key, says) in [
            (
                &certificate,
                &certificate,
                &other_key,
                "ETCDCTL_KEY name are damaged, or do not",
            ),
            (
                &certificate,
                &cut,
                &key,
                "ETCDCTL_KEY name are damaged, or do not",
            ),
            (
                &certificate,
                &certificate,
                &damaged_key,
                "ETCDCTL_KEY name are damaged, or do not",
            ),
            (
                &certificate,
                &certificate,
                &certificate,
                "ETCDCTL_KEY names has no private key",
            ),
            (
                &cut,
                &certificate,
                &key,
                "ETCDCTL_CACERT names has a certificate that",
            ),
        ] {
            let error = open(ca, shown, key).unwrap_err();
            assert!(matches!(error, StoreError::Place { .. }), "{error:?}");
            let said = error.to_string();
            assert!(said.contains(says) && !said.contains("hunter2"), "{said}");
        }
    }
}
