//! Bytes over TLS beside bytes over TCP, and all kinds of refused processes, at either end.

use crate::common::{Authority, LONG, Wish, sockets};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use sardonyx_base::random::Random;
use sardonyx_base::transport::{Connection, Plain, Transport, TransportError};
use sardonyx_tls::{Tls, TlsFiles};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::thread;

type Made = Result<Box<dyn Connection>, TransportError>;

/// The two ends greet each other.
fn greet(calls: &impl Transport, answers: &impl Transport) -> (Made, Made) {
    let (calling, answering) = sockets();
    thread::scope(|scope| {
        let answered = scope.spawn(|| answers.answer(answering, LONG));
        let called = calls.call(calling, LONG);
        (called, answered.join().unwrap())
    })
}

fn connected() -> (Box<dyn Connection>, Box<dyn Connection>) {
    let authority = Authority::new("bank");
    let (calls, answers) = greet(&authority.process(), &authority.process());
    (calls.unwrap(), answers.unwrap())
}

/// The error of the caller, with the first read at the latest, and that of the other end.
fn refused(calls: &impl Transport, answers: &impl Transport) -> (TransportError, TransportError) {
    let (calling, answering) = sockets();
    thread::scope(|scope| {
        let answered = scope.spawn(|| match answers.answer(answering, LONG) {
            // With plain TCP it receives bytes that it does not know, and closes the connection.
            Ok(mut plain) => {
                let mut first = [0; 4];
                plain.read_exact(&mut first).unwrap();
                assert!(sardonyx_base::transport::is_tls(first));
                TransportError::failed("plain", ErrorKind::InvalidData.into())
            }
            Err(error) => error,
        });
        let called = match calls.call(calling, LONG) {
            Ok(mut open) => {
                // Something is under way while the other end refuses.
                let _ = open.write_all(&[0; 5000]).and_then(|()| open.flush());
                // It is not cut off before it has read the reason: its bytes are still read.
                open.socket().peek(&mut [0]).unwrap();
                for _ in 0..100 {
                    open.write_all(&[0; 100]).unwrap();
                    open.flush().unwrap();
                    thread::yield_now();
                }
                let mut first = [0; 4];
                match open.read_exact(&mut first) {
                    Ok(()) => {
                        assert!(sardonyx_base::transport::is_tls(first), "{first:?}");
                        TransportError::failed("plain", ErrorKind::InvalidData.into())
                    }
                    Err(error) => TransportError::of(&error)
                        .unwrap_or_else(|| panic!("{error}"))
                        .clone(),
                }
            }
            Err(error) => error,
        };
        (called, answered.join().unwrap())
    })
}

#[test]
fn bytes_of_any_lengths_come_as_they_were_sent_in_both_directions() {
    for seed in 1..=8 {
        let (one, other) = connected();
        let work = move |mut open: Box<dyn Connection>, writes: bool| {
            let mut random = Random::new(seed);
            for _ in 0..20 {
                let power = random.below(19);
                let length = random.below(1 << power) as usize;
                let bytes: Vec<u8> = (0..length).map(|_| random.below(256) as u8).collect();
                if writes == (random.below(2) == 0) {
                    open.write_all(&bytes).unwrap();
                    open.flush().unwrap();
                } else {
                    let mut heard = vec![0; length];
                    open.read_exact(&mut heard).unwrap();
                    assert!(heard == bytes, "seed {seed}: {length} bytes");
                }
            }
        };
        let answers = thread::spawn(move || work(other, false));
        work(one, true);
        answers.join().unwrap();
    }
}

/// As a link writes: on a socket that does not block, with a reader that pauses.
#[test]
fn what_a_full_socket_does_not_take_is_flushed_later() {
    let (mut writer, mut reader) = connected();
    writer.socket().set_nonblocking(true).unwrap();
    let bytes: Vec<u8> = (0..50_000_000_u32)
        .map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    let mut taken = 0;
    loop {
        match writer.write(&bytes[taken..]) {
            Ok(0) => panic!("nothing is taken, of {} bytes after {taken}", bytes.len()),
            Ok(more) => taken += more,
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) => panic!("{error}"),
        }
    }
    assert!(
        taken < bytes.len(),
        "the socket has room for more than {taken}"
    );
    let held = writer.flush();
    assert_eq!(held.unwrap_err().kind(), ErrorKind::WouldBlock);
    thread::scope(|scope| {
        let heard = scope.spawn(|| {
            let mut heard = vec![0; taken];
            reader.read_exact(&mut heard).map(|()| heard)
        });
        // Without a write.
        while let Err(error) = writer.flush() {
            assert_eq!(error.kind(), ErrorKind::WouldBlock);
        }
        assert!(heard.join().unwrap().unwrap() == bytes[..taken]);
    });
}

#[test]
fn a_read_ends_when_another_thread_shuts_the_socket_down_or_the_other_end_goes() {
    let (mut one, other) = connected();
    let socket = one.socket().try_clone().unwrap();
    let reads = thread::spawn(move || one.read(&mut [0; 8]).map_err(|error| error.kind()));
    socket.shutdown(Shutdown::Both).unwrap();
    // No end of the data was announced.
    assert_eq!(reads.join().unwrap(), Err(ErrorKind::UnexpectedEof));
    drop(other);
    let (mut one, other) = connected();
    drop(other);
    assert!(one.read(&mut [0; 8]).is_err());
}

#[test]
fn a_time_limit_of_the_socket_is_one_of_the_connection() {
    let (mut one, _other) = connected();
    let soon = std::time::Duration::from_millis(1);
    one.socket().set_read_timeout(Some(soon)).unwrap();
    let late = one.read(&mut [0; 8]).unwrap_err();
    assert_eq!(late.kind(), ErrorKind::WouldBlock);
}

/// A byte that is changed on its way is noticed.
#[test]
fn what_is_changed_on_its_way_is_refused() {
    let (one, two) = sockets();
    let (three, four) = sockets();
    let authority = Authority::new("bank");
    let (calls, answers) = (authority.process(), authority.process());
    let copy = |mut from: TcpStream, mut to: TcpStream, damages: bool| {
        let (mut bytes, mut before) = ([0; 65536], 0);
        while let Ok(read @ 1..) = from.read(&mut bytes) {
            // Behind the greeting, which has no more than some thousand bytes.
            if damages && before + read > 100_000 {
                bytes[read / 2] ^= 1;
            }
            before += read;
            if to.write_all(&bytes[..read]).is_err() {
                break;
            }
        }
        let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
    };
    let (again, back) = (two.try_clone().unwrap(), three.try_clone().unwrap());
    thread::spawn(move || copy(two, three, true));
    thread::spawn(move || copy(back, again, false));
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut open = calls.call(one, LONG).unwrap();
            while open.write_all(&[7; 4096]).is_ok() {}
        });
        let mut open = answers.answer(four, LONG).unwrap();
        let mut heard = [0; 4096];
        let error = loop {
            match open.read(&mut heard) {
                Ok(read) => assert!(heard[..read].iter().all(|byte| *byte == 7)),
                Err(error) => break error,
            }
        };
        assert!(TransportError::of(&error).is_some(), "{error}");
    });
}

fn is_not_trusted(error: &TransportError, why: &str) {
    let known = matches!(error, TransportError::NotTrusted { .. });
    assert!(known && error.to_string().contains(why), "{error}");
    assert!(error.to_string().contains("127.0.0.1:"), "{error}");
}

fn is_refused(error: &TransportError, why: &str) {
    let known = matches!(error, TransportError::Refused { .. });
    assert!(known && error.to_string().contains(why), "{error}");
    assert!(error.to_string().contains("127.0.0.1:"), "{error}");
}

fn is_other(error: &TransportError, why: &str) {
    let known = matches!(error, TransportError::OtherProtocol { .. });
    assert!(known && error.to_string().contains(why), "{error}");
}

#[test]
fn processes_of_two_cas_refuse_each_other() {
    let bank = Authority::new("bank");
    // Of the same name, with another key; and of another name.
    for other in [Authority::new("bank"), Authority::new("shop")] {
        let (calls, answers) = refused(&other.process(), &bank.process());
        is_not_trusted(&calls, "signed by another CA");
        is_refused(&answers, "signed by another CA");
    }
    // One that trusts both, with a certificate that the other does not know.
    let shop = Authority::new("shop");
    let directory = tempfile::tempdir().unwrap();
    let files = shop.files(directory.path(), &Wish::default());
    std::fs::write(&files.authority, [&shop.pem[..], &bank.pem].concat()).unwrap();
    let trusting = Tls::new(&files).unwrap();
    let (calls, answers) = refused(&trusting, &bank.process());
    is_refused(&calls, "signed by another CA");
    is_not_trusted(&answers, "signed by another CA");
    let (calls, answers) = refused(&bank.process(), &trusting);
    is_not_trusted(&calls, "signed by another CA");
    is_refused(&answers, "signed by another CA");
    // And those of either CA trust each other, if they trust both.
    let files = bank.files(directory.path(), &Wish::default());
    std::fs::write(&files.authority, [&shop.pem[..], &bank.pem].concat()).unwrap();
    let (calls, answers) = greet(&trusting, &Tls::new(&files).unwrap());
    assert!(calls.is_ok() && answers.is_ok());
}

#[test]
fn a_name_that_all_are_to_have_keeps_others_of_the_ca_out() {
    let authority = Authority::new("company");
    let process = |name: &str, asks: bool| {
        let directory = tempfile::tempdir().unwrap();
        let names = vec![name.to_string()];
        let wish = Wish {
            names,
            ..Wish::default()
        };
        let files = TlsFiles {
            name: asks.then(|| name.into()),
            ..authority.files(directory.path(), &wish)
        };
        Tls::new(&files).unwrap()
    };
    let (bank, again) = (
        process("bank.internal", true),
        process("bank.internal", true),
    );
    let (calls, answers) = greet(&bank, &again);
    assert!(calls.is_ok() && answers.is_ok());
    let shop = process("shop.internal", false);
    let (calls, answers) = refused(&shop, &bank);
    is_refused(&calls, "not accepted there");
    is_not_trusted(&answers, "the name");
    let (calls, answers) = refused(&bank, &shop);
    is_not_trusted(&calls, "the name");
    is_refused(&answers, "not accepted there");
}

/// A process of another program, with any certificate.
#[derive(Debug)]
struct Stranger(Arc<rustls::ClientConfig>);

impl Stranger {
    fn new(authority: &Authority, shown: Option<(String, String)>) -> Stranger {
        let mut roots = rustls::RootCertStore::empty();
        let root = CertificateDer::from_pem_slice(authority.pem.as_bytes()).unwrap();
        roots.add(root).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .with_root_certificates(roots);
        let config = match shown {
            None => config.with_no_client_auth(),
            Some((certificate, key)) => {
                let certificate = CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap();
                let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
                config
                    .with_client_auth_cert(vec![certificate], key)
                    .unwrap()
            }
        };
        Stranger(Arc::new(config))
    }

    /// The alert that it receives.
    fn call(&self, mut socket: TcpStream) -> Option<rustls::Error> {
        let name = ServerName::try_from("bank.internal").unwrap();
        let mut machine = rustls::ClientConnection::new(self.0.clone(), name).unwrap();
        let mut stream = rustls::Stream::new(&mut machine, &mut socket);
        let _ = stream.write_all(&[0; 5000]);
        let error = stream.read(&mut [0; 8]).unwrap_err();
        let told = error.get_ref()?.downcast_ref::<rustls::Error>()?;
        Some(told.clone())
    }
}

#[test]
fn who_shows_no_certificate_or_an_expired_one_is_refused() {
    let bank = Authority::new("bank");
    let directory = tempfile::tempdir().unwrap();
    let wish = Wish {
        names: vec!["bank.internal".into()],
        ..Wish::default()
    };
    let process = Tls::new(&bank.files(directory.path(), &wish)).unwrap();
    let expired = bank.sign(&Wish {
        until: Some(2020),
        ..Wish::default()
    });
    for (shown, why, told) in [
        (
            None,
            "shown no certificate",
            rustls::AlertDescription::CertificateRequired,
        ),
        (
            Some(expired),
            "expired",
            rustls::AlertDescription::CertificateExpired,
        ),
    ] {
        let stranger = Stranger::new(&bank, shown);
        let (calling, answering) = sockets();
        let alert = thread::scope(|scope| {
            let alert = scope.spawn(|| stranger.call(calling));
            let error = process.answer(answering, LONG).unwrap_err();
            is_not_trusted(&error, why);
            alert.join().unwrap()
        });
        assert_eq!(alert, Some(rustls::Error::AlertReceived(told)));
    }
}

#[test]
fn tls_and_plain_tcp_know_each_other_as_something_else() {
    let process = Authority::new("bank").process();
    let (calls, _) = refused(&process, &Plain);
    is_other(&calls, "plain TCP");
    let (_, answers) = refused(&Plain, &process);
    is_other(&answers, "no TLS");
}

#[test]
fn who_says_nothing_is_given_up() {
    let process = Authority::new("bank").process();
    let (_calling, answering) = sockets();
    let soon = std::time::Duration::from_millis(1);
    let error = process.answer(answering, soon).unwrap_err();
    assert!(matches!(error, TransportError::Failed { .. }), "{error}");
    assert!(error.to_string().contains("too long"), "{error}");
}
