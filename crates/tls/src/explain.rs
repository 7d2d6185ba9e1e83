//! The reasons why two processes do not connect, as texts with the remedy.
//!
//! An error of `rustls` is one of three things here. This end does not trust the other; the other does not trust this
//! one (it sent an alert); or the other end does not speak this TLS at all.

use rustls::{AlertDescription, CertificateError, Error, InvalidMessage, PeerIncompatible};
use sardonyx_base::transport::TransportError;
use std::io;

/// The fault of a certificate.
pub fn certificate(error: &CertificateError) -> String {
    match error {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "its certificate has expired: give it a new one, if the clocks are right".into()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "its certificate is not valid yet: check the clocks".into()
        }
        // The second is also the error for a CA of the same name with another key.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "its certificate was signed by another CA: give all processes certificates of one".into()
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "its certificate has not the name that all are to have".into()
        }
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "its certificate is not for both ends: let its extended key usage name clientAuth and serverAuth, or \
             nothing"
                .into()
        }
        other => format!("its certificate cannot be used ({other})"),
    }
}

/// The meaning of a protocol's error for the other end.
pub fn error(peer: &str, error: &Error) -> TransportError {
    let peer = peer.to_string();
    let other = |reason: String| TransportError::OtherProtocol {
        peer: peer.clone(),
        reason,
    };
    match error {
        Error::InvalidCertificate(wrong) => TransportError::NotTrusted {
            peer: peer.clone(),
            reason: certificate(wrong),
        },
        Error::NoCertificatesPresented => TransportError::NotTrusted {
            peer: peer.clone(),
            reason: "it has shown no certificate: give it one of the CA".into(),
        },
        Error::AlertReceived(alert) => match refusal(*alert) {
            Some(reason) => TransportError::Refused {
                peer: peer.clone(),
                reason: reason.into(),
            },
            None => other(format!("it ended TLS's greeting with the alert {alert:?}")),
        },
        Error::InvalidMessage(InvalidMessage::InvalidContentType) => other(
            "its bytes are no TLS, which this process uses: give both ends the same transport"
                .into(),
        ),
        Error::PeerIncompatible(PeerIncompatible::ServerDoesNotSupportTls12Or13) => {
            other("it knows no TLS 1.3".into())
        }
        wrong => other(format!("TLS cannot go on with it ({wrong})")),
    }
}

/// The reason why the other end refuses this process, if its alert gives one.
fn refusal(alert: AlertDescription) -> Option<&'static str> {
    Some(match alert {
        AlertDescription::UnknownCA | AlertDescription::DecryptError => {
            "this process's certificate was signed by another CA than that one's: give all processes certificates of one"
        }
        AlertDescription::CertificateExpired => {
            "this process's certificate has expired there: give it a new one, if the clocks are right"
        }
        AlertDescription::CertificateRequired => "this process has shown no certificate",
        AlertDescription::BadCertificate
        | AlertDescription::UnsupportedCertificate
        | AlertDescription::CertificateRevoked
        | AlertDescription::CertificateUnknown
        | AlertDescription::AccessDenied => {
            "this process's certificate is not accepted there (its name, its purpose or its kind): the other \
             end's log has more"
        }
        _ => return None,
    })
}

/// The meaning of a socket's error for the other end, in the middle of the greeting.
pub fn greeting(peer: &str, error: io::Error) -> TransportError {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, TimedOut, UnexpectedEof, WouldBlock};
    let peer = peer.to_string();
    match error.kind() {
        UnexpectedEof | ConnectionReset | BrokenPipe => TransportError::OtherProtocol {
            peer,
            reason: "it ended the connection in the middle of TLS's greeting: it may use plain TCP; give both ends \
                     the same transport"
                .into(),
        },
        WouldBlock | TimedOut => {
            let late = io::Error::new(TimedOut, "TLS's greeting has taken too long");
            TransportError::failed(peer, late)
        }
        _ => TransportError::failed(peer, error),
    }
}
