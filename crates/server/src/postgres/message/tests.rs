//! Messages as clients send them, cut anywhere, and bytes that are no messages.

use super::*;
use proptest::prelude::*;

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind];
    bytes.extend((body.len() as u32 + 4).to_be_bytes());
    bytes.extend(body);
    bytes
}

fn read(bytes: &[u8]) -> Result<Message<'_>, MessageError> {
    let (_, end) = split(bytes, MESSAGE_BYTES_MAX)?.expect("a whole message");
    Message::read(&bytes[..end])
}

const BIND: &[u8] =
    b"p\0s\0\0\x02\0\x01\0\0\0\x03\0\0\0\x02\0\x07\xff\xff\xff\xff\0\0\0\x01x\0\x01\0\x01";

#[test]
fn a_bind_gives_its_parameters_in_their_formats() {
    // Three parameters want three formats, or one.
    let error = read(&message(b'B', BIND)).unwrap_err();
    assert!(
        matches!(error, MessageError::Code { code: 2, .. }),
        "{error}"
    );
    let mut one = BIND.to_vec();
    one.drain(8..10);
    one[5] = 1;
    let bytes = message(b'B', &one);
    let Message::Bind(bind) = read(&bytes).unwrap() else {
        panic!("a bind");
    };
    assert_eq!((bind.portal, bind.statement, bind.count()), ("p", "s", 3));
    let parameters: Vec<_> = bind.parameters().collect();
    let binary = |value| (Format::Binary, value);
    assert_eq!(
        parameters,
        [
            binary(Some(&b"\0\x07"[..])),
            binary(None),
            binary(Some(b"x"))
        ]
    );
    assert_eq!(bind.result_formats.format_at(5), Format::Binary);
}

#[test]
fn a_parameter_longer_than_its_message_is_refused() {
    let body = b"\0\0\0\0\0\x01\x7f\xff\xff\xff\0\0";
    let error = read(&message(b'B', body)).unwrap_err();
    assert!(
        matches!(error, MessageError::Short { kind: 'B', .. }),
        "{error}"
    );
    let body = b"\0\0\0\0\0\x01\xff\xff\xff\xfe\0\0";
    let error = read(&message(b'B', body)).unwrap_err();
    assert!(
        matches!(error, MessageError::Code { code: -2, .. }),
        "{error}"
    );
}

#[test]
fn a_length_is_refused_before_the_message_is_there() {
    let error = split(b"Q\x7f\xff\xff\xff", MESSAGE_BYTES_MAX).unwrap_err();
    assert!(matches!(error, MessageError::Length { .. }), "{error}");
    assert_eq!(split(b"Q\0\0\0", MESSAGE_BYTES_MAX), Ok(None));
    assert!(split(b"Q\0\0\0\x03", MESSAGE_BYTES_MAX).is_err());
    assert!(split_greeting(b"\0\x01\0\0").is_err());
}

#[test]
fn an_error_of_a_greeting_names_the_startup_packet() {
    for bytes in [
        &b"\0\0\0\x04"[..],
        b"\0\0\0\x0e\0\x03\0\0user\0\0",
        b"\0\0\0\x0b\0\x03\0\0\xff\0\0",
    ] {
        let error = Greeting::read(bytes).unwrap_err().to_string();
        assert!(
            error.contains("the startup packet") && !error.contains('\0'),
            "{error:?}"
        );
    }
}

#[test]
fn greetings() {
    let bytes = b"\0\0\0\x08\x04\xd2\x16\x2f";
    assert_eq!(split_greeting(bytes), Ok(Some(8)));
    assert_eq!(Greeting::read(bytes), Ok(Greeting::Tls));
    let mut startup = 0x0003_0002u32.to_be_bytes().to_vec();
    startup.extend(b"user\0ada\0database\0bank\0\0");
    let mut bytes = (startup.len() as u32 + 4).to_be_bytes().to_vec();
    bytes.extend(&startup);
    let greeting = Greeting::read(&bytes).unwrap();
    let parameters = vec![("user", "ada"), ("database", "bank")];
    assert_eq!(
        greeting,
        Greeting::Startup {
            version: (3, 2),
            parameters
        }
    );
    bytes.push(0);
    assert!(matches!(
        Greeting::read(&bytes),
        Err(MessageError::Long { bytes: 1, .. })
    ));
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), kind in prop::sample::select(b"QPBDECHSdcfpFX?".to_vec())) {
        let bytes = message(kind, &bytes);
        if let Ok(Message::Bind(bind)) = read(&bytes) {
            prop_assert_eq!(bind.parameters().count(), bind.count());
        }
        let _ = Greeting::read(&bytes[1..]);
    }

    #[test]
    fn a_message_cut_anywhere_is_waited_for(cut in 0usize..40) {
        let bytes = message(b'B', BIND);
        let cut = cut.min(bytes.len() - 1);
        prop_assert_eq!(split(&bytes[..cut], MESSAGE_BYTES_MAX), Ok(None));
    }

    #[test]
    fn a_bind_whose_bytes_were_changed_is_read_or_refused(at in 0usize..36, to in any::<u8>()) {
        let mut one = BIND.to_vec();
        let at = at % one.len();
        one[at] = to;
        if let Ok(Message::Bind(bind)) = read(&message(b'B', &one)) {
            prop_assert_eq!(bind.parameters().count(), bind.count());
        }
    }
}
