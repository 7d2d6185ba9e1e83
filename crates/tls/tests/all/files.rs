//! Errors of PEM files name the file, before any connection; and no error contains a part of a key.

use crate::common::{Authority, Wish, rights, write_key};
use rcgen::ExtendedKeyUsagePurpose;
use sardonyx_tls::{PEM_BYTES_MAX, Tls, TlsError, TlsFiles};
use std::path::{Path, PathBuf};

fn good(directory: &Path) -> (Authority, TlsFiles) {
    let authority = Authority::new("bank");
    let files = authority.files(directory, &Wish::default());
    (authority, files)
}

fn all(files: &TlsFiles) -> [PathBuf; 3] {
    [
        files.authority.clone(),
        files.certificate.clone(),
        files.key.clone(),
    ]
}

/// The error for refused files: it names a file, and has nothing of the key.
fn refused(files: &TlsFiles, names: &Path, key: &str) -> TlsError {
    let error = Tls::new(files).expect_err("these files are wrong");
    for text in [error.to_string(), format!("{error:?}")] {
        assert!(text.contains(names.to_str().unwrap()), "{text}");
        for line in key.lines().filter(|line| !line.starts_with("-----")) {
            assert!(!text.contains(line), "{text}");
        }
    }
    error
}

#[test]
fn an_absent_empty_garbled_cut_or_endless_file_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let (_, files) = good(directory.path());
    let key = std::fs::read_to_string(&files.key).unwrap();
    for file in all(&files) {
        let whole = std::fs::read(&file).unwrap();
        std::fs::remove_file(&file).unwrap();
        let error = refused(&files, &file, &key);
        assert!(matches!(error, TlsError::Read { .. }), "{error}");
        let mut garbled = whole.clone();
        garbled[60] = b'\x07';
        let long = vec![b'\n'; PEM_BYTES_MAX as usize + 1];
        for (bytes, is_wrong) in [
            (&b""[..], true),
            (b"what is this", true),
            (&garbled, true),
            (&whole[..whole.len() / 2], true),
            (&long, true),
            // The line's end that a file may lack.
            (&whole[..whole.len() - 1], false),
        ] {
            std::fs::write(&file, bytes).unwrap();
            rights(&file, 0o600);
            if is_wrong {
                let error = refused(&files, &file, &key);
                let known = matches!(
                    error,
                    TlsError::NoPem { .. } | TlsError::Unusable { .. } | TlsError::TooLong { .. }
                );
                assert!(known, "{error}");
            } else {
                Tls::new(&files).unwrap();
            }
        }
        std::fs::write(&file, whole).unwrap();
    }
    Tls::new(&files).unwrap();
}

/// Bytes of a certificate's, damaged anywhere in base64, are an error or another certificate, and never a panic.
#[test]
fn certificates_damaged_anywhere_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let (_, files) = good(directory.path());
    let key = std::fs::read_to_string(&files.key).unwrap();
    let whole = std::fs::read(&files.certificate).unwrap();
    for at in (30..whole.len() - 30).filter(|at| whole[*at] != b'\n') {
        let mut damaged = whole.clone();
        damaged[at] = if whole[at] == b'A' { b'B' } else { b'A' };
        std::fs::write(&files.certificate, damaged).unwrap();
        refused(&files, &files.certificate, &key);
    }
}

#[test]
fn a_key_that_everybody_may_read_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let (_, files) = good(directory.path());
    let key = std::fs::read_to_string(&files.key).unwrap();
    rights(&files.key, 0o644);
    let error = refused(&files, &files.key, &key);
    assert!(matches!(error, TlsError::KeyForAll { .. }), "{error}");
    rights(&files.key, 0o640);
    Tls::new(&files).unwrap();
}

#[test]
fn files_that_do_not_belong_together_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let (authority, files) = good(directory.path());
    let key = std::fs::read_to_string(&files.key).unwrap();
    let (certificate, other_key) = authority.sign(&Wish::default());
    write_key(&files.key, &other_key);
    let error = refused(&files, &files.key, &other_key);
    assert!(matches!(error, TlsError::OtherKey { .. }), "{error}");
    // A certificate where the key should be, and the key where the certificate should be.
    write_key(&files.key, &certificate);
    let error = refused(&files, &files.key, &key);
    assert!(matches!(error, TlsError::NoPem { .. }), "{error}");
    write_key(&files.key, &key);
    std::fs::write(&files.certificate, &other_key).unwrap();
    let error = refused(&files, &files.certificate, &other_key);
    assert!(matches!(error, TlsError::NoPem { .. }), "{error}");
}

#[test]
fn a_certificate_that_others_would_refuse_is_refused_before() {
    let directory = tempfile::tempdir().unwrap();
    let (authority, files) = good(directory.path());
    let key = std::fs::read_to_string(&files.key).unwrap();
    for (signed_by, wish, reason) in [
        // Of the same name, with another key.
        (
            &Authority::new("bank"),
            Wish::default(),
            "signed by another CA",
        ),
        (
            &Authority::new("shop"),
            Wish::default(),
            "signed by another CA",
        ),
        (
            &authority,
            Wish {
                until: Some(2020),
                ..Wish::default()
            },
            "expired",
        ),
        (
            &authority,
            Wish {
                from: Some(3000),
                ..Wish::default()
            },
            "not valid yet",
        ),
        (
            &authority,
            Wish {
                purposes: vec![ExtendedKeyUsagePurpose::ServerAuth],
                ..Wish::default()
            },
            "extended key usage",
        ),
    ] {
        let (certificate, key) = signed_by.sign(&wish);
        std::fs::write(&files.certificate, certificate).unwrap();
        write_key(&files.key, &key);
        let error = refused(&files, &files.certificate, &key);
        assert!(matches!(error, TlsError::Certificate { .. }), "{error}");
        assert!(error.to_string().contains(reason), "{error}");
    }
    let both = Wish {
        purposes: vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ],
        ..Wish::default()
    };
    Tls::new(&authority.files(directory.path(), &both)).unwrap();
    let named = |name: &str| TlsFiles {
        name: Some(name.into()),
        ..files.clone()
    };
    let error = refused(&named("bank.internal"), &files.certificate, &key);
    assert!(error.to_string().contains("the name"), "{error}");
    let error = Tls::new(&named("no name")).unwrap_err();
    assert!(matches!(error, TlsError::Name { .. }), "{error}");
}

#[test]
fn what_is_shown_of_it_has_no_secret() {
    let directory = tempfile::tempdir().unwrap();
    let (_, files) = good(directory.path());
    let key = std::fs::read_to_string(&files.key).unwrap();
    let shown = format!("{:?}", Tls::new(&files).unwrap());
    assert!(shown.contains("cert.pem"), "{shown}");
    for line in key.lines() {
        assert!(!shown.contains(line), "{shown}");
    }
}
