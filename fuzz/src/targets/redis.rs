//! Bytes of Redis clients.

use bytes::BytesMut;
use sardonyx::{Options, Shape};
use sardonyx_resp::{Keyspace, Session, SessionOptions};
use sardonyx_storage::disk::{Faults, SimulatedDisk};
use std::sync::{Arc, LazyLock};

use crate::Target;
use crate::seeds::MEMORY_BYTES;

pub(super) const COMMANDS: Target = Target {
    name: "redis",
    what: "commands as Redis clients send them, and as people type them",
    seeds: commands,
    run: |input| {
        let whole = taken(&[input]);
        let (one, other) = input.split_at(input.len() / 2);
        assert_eq!(whole, taken(&[one, other]));
    },
    runs: 20_000,
};

/// Sessions need a keyspace; nothing is run in it.
static KEYSPACE: LazyLock<Arc<Keyspace>> = LazyLock::new(|| {
    let options = Options::new()
        .shape(Shape::Threadless)
        .memory_bytes_max(MEMORY_BYTES);
    let disk = SimulatedDisk::new(1, Faults::default());
    let tables = options.open_tables_on(Arc::new(disk)).expect("opens");
    Keyspace::open(Arc::new(tables)).expect("a keyspace")
});

/// The commands in bytes that arrive in portions, and the error after them.
fn taken(portions: &[&[u8]]) -> (Vec<String>, Option<String>) {
    let options = SessionOptions {
        command_bytes_max: 64 << 10,
        ..SessionOptions::default()
    };
    let mut session = Session::new(Arc::clone(&KEYSPACE), options);
    let (mut received, mut commands) = (BytesMut::new(), Vec::new());
    for portion in portions {
        received.extend_from_slice(portion);
        loop {
            match session.take(&mut received) {
                Ok(flight) if flight.is_empty() => break,
                Ok(flight) => {
                    commands.extend(flight.lines().iter().map(|line| format!("{line:?}")));
                }
                Err(error) => return (commands, Some(error.to_string())),
            }
        }
    }
    (commands, None)
}

fn commands() -> Vec<Vec<u8>> {
    vec![
        b"*3\r\n$3\r\nSET\r\n$1\r\na\r\n$5\r\nhello\r\n*2\r\n$3\r\nGET\r\n$1\r\na\r\n".to_vec(),
        b"PING\r\nset a \"b \\x41\" 'c'\r\n*0\r\n*-1\r\n\r\nECHO x\n".to_vec(),
        b"*1\r\n$4\r\nQUIT\r\n".to_vec(),
    ]
}
