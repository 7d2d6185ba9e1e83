//! CAs and certificates made for a test.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    date_time_ymd,
};
use sardonyx_tls::{Tls, TlsFiles};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

/// Longer than anything here takes: a wait of this length hangs.
pub const LONG: Duration = Duration::from_secs(60);

/// A CA.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub pem: String,
}

/// The properties of a certificate.
#[derive(Clone, Default)]
pub struct Wish {
    pub names: Vec<String>,
    /// Its last year; none: far away.
    pub until: Option<i32>,
    /// Its first year; none: long ago.
    pub from: Option<i32>,
    pub purposes: Vec<ExtendedKeyUsagePurpose>,
}

impl Authority {
    /// One of this name; each has a key of its own.
    pub fn new(name: &str) -> Authority {
        let key = KeyPair::generate().unwrap();
        let mut wanted = CertificateParams::default();
        wanted.distinguished_name.push(DnType::CommonName, name);
        wanted.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = wanted.self_signed(&key).unwrap().pem();
        let issuer = Issuer::new(wanted, key);
        Authority { issuer, pem }
    }

    /// A certificate and its key, as PEM.
    pub fn sign(&self, wish: &Wish) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let mut wanted = CertificateParams::new(wish.names.clone()).unwrap();
        wanted
            .distinguished_name
            .push(DnType::CommonName, "a process");
        wanted.extended_key_usages = wish.purposes.clone();
        wanted.not_before = date_time_ymd(wish.from.unwrap_or(2000), 1, 1);
        wanted.not_after = date_time_ymd(wish.until.unwrap_or(4000), 1, 1);
        let certificate = wanted.signed_by(&key, &self.issuer).unwrap();
        (certificate.pem(), key.serialize_pem())
    }

    /// The three files of a process.
    pub fn files(&self, directory: &Path, wish: &Wish) -> TlsFiles {
        let files = TlsFiles::in_directory(directory);
        let (certificate, key) = self.sign(wish);
        std::fs::write(&files.authority, &self.pem).unwrap();
        std::fs::write(&files.certificate, certificate).unwrap();
        write_key(&files.key, &key);
        files
    }

    /// A process that is trusted by those of the same CA.
    pub fn process(&self) -> Tls {
        let directory = tempfile::tempdir().unwrap();
        Tls::new(&self.files(directory.path(), &Wish::default())).unwrap()
    }
}

/// Writes a key that only the owner may read.
pub fn write_key(file: &Path, key: &str) {
    std::fs::write(file, key).unwrap();
    rights(file, 0o600);
}

pub fn rights(file: &Path, mode: u32) {
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// A connection's two sockets: of the calling and of the called end.
pub fn sockets() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let calls = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (answers, _) = listener.accept().unwrap();
    for socket in [&calls, &answers] {
        socket.set_nodelay(true).unwrap();
    }
    (calls, answers)
}
