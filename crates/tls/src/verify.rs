//! The trusted ends: those with the key of a certificate that the CA has signed; and, if a name was given, that has
//! it.
//!
//! The same for both ends. The checks are those of `rustls` and `webpki`. Unlike a browser, it does
//! not compare a certificate's hosts with the address (see the crate's head).

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{ParsedCertificate, VerifierBuilderError, WebPkiClientVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, Error, RootCertStore, SignatureScheme};
use std::sync::Arc;

/// The processes of a database.
#[derive(Debug)]
pub struct Members {
    roots: Arc<RootCertStore>,
    /// The verifier of calling ends; it has the checks of signatures, too, which are the same at both ends.
    callers: Arc<dyn ClientCertVerifier>,
    provider: Arc<CryptoProvider>,
    name: Option<ServerName<'static>>,
}

impl Members {
    /// The verifier of certificates of these.
    ///
    /// # Errors
    /// If there are no certificates.
    pub fn of(
        roots: RootCertStore,
        provider: Arc<CryptoProvider>,
        name: Option<ServerName<'static>>,
    ) -> Result<Self, VerifierBuilderError> {
        let roots = Arc::new(roots);
        let callers =
            WebPkiClientVerifier::builder_with_provider(roots.clone(), provider.clone()).build()?;
        Ok(Members {
            roots,
            callers,
            provider,
            name,
        })
    }

    fn check_name(&self, certificate: &ParsedCertificate<'_>) -> Result<(), Error> {
        match &self.name {
            None => Ok(()),
            Some(name) => verify_server_name(certificate, name),
        }
    }
}

impl ServerCertVerifier for Members {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let certificate = ParsedCertificate::try_from(end_entity)?;
        let algorithms = self.provider.signature_verification_algorithms.all;
        verify_server_cert_signed_by_trust_anchor(
            &certificate,
            &self.roots,
            intermediates,
            now,
            algorithms,
        )?;
        self.check_name(&certificate)?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.callers
            .verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.callers
            .verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.callers.supported_verify_schemes()
    }
}

impl ClientCertVerifier for Members {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.callers.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let verified = self
            .callers
            .verify_client_cert(end_entity, intermediates, now)?;
        self.check_name(&ParsedCertificate::try_from(end_entity)?)?;
        Ok(verified)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.callers
            .verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.callers
            .verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.callers.supported_verify_schemes()
    }
}
