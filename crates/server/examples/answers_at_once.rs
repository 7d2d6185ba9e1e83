//! A server without a database: it answers each message of PostgreSQL clients at once, as if a statement had run. The
//! rates of a client with it are the limit set by that client, the protocol and the machine's sockets.
//! `bench/clients/compare.py --floor` runs pgbench against it.
//!
//! ```text
//! cargo run --release -p sardonyx-server --example answers_at_once -- 127.0.0.1:5999
//! ```

use std::error::Error;
use std::io;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The codes that a client sends in place of a version to ask for TLS or for GSSAPI's encryption.
const ENCRYPTION: [u32; 2] = [80_877_103, 80_877_104];
/// The room that is reserved before a read, in bytes.
const READ_BYTES: usize = 16 << 10;

fn message(output: &mut Vec<u8>, kind: u8, body: &[u8]) {
    output.push(kind);
    output.extend((body.len() as u32 + 4).to_be_bytes());
    output.extend(body);
}

/// A row of texts with columns of one name, for the queries that pgbench sends first.
fn row(output: &mut Vec<u8>, values: &[Option<&str>]) {
    let count = (values.len() as u16).to_be_bytes();
    let mut described = count.to_vec();
    let mut data = count.to_vec();
    for value in values {
        described.extend(b"c\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0");
        match value {
            Some(text) => {
                data.extend((text.len() as u32).to_be_bytes());
                data.extend(text.as_bytes());
            }
            None => data.extend(u32::MAX.to_be_bytes()),
        }
    }
    message(output, b'T', &described);
    message(output, b'D', &data);
}

fn answer(kind: u8, body: &[u8], output: &mut Vec<u8>) {
    match kind {
        b'P' => message(output, b'1', b""),
        b'B' => message(output, b'2', b""),
        b'D' => message(output, b'n', b""),
        b'E' => message(output, b'C', b"UPDATE 1\0"),
        b'S' => message(output, b'Z', b"I"),
        b'Q' => {
            let text = String::from_utf8_lossy(body);
            if text.contains("pg_catalog") {
                row(output, &[Some("1"), None, Some("0")]);
            } else if text.contains("count(*)") {
                row(output, &[Some("1")]);
            }
            message(output, b'C', b"SELECT 1\0");
            message(output, b'Z', b"I");
        }
        _ => {}
    }
}

/// The number at the beginning of the bytes, if there are enough.
fn number(bytes: &[u8]) -> Option<u32> {
    bytes.first_chunk().map(|bytes| u32::from_be_bytes(*bytes))
}

async fn serve(mut stream: TcpStream) -> io::Result<()> {
    let (mut input, mut output) = (Vec::new(), Vec::new());
    let mut is_greeted = false;
    loop {
        input.reserve(READ_BYTES);
        if stream.read_buf(&mut input).await? == 0 {
            return Ok(());
        }
        let mut at = 0;
        loop {
            // The greeting has no kind before its length.
            let head = usize::from(is_greeted);
            let Some(length) = input.get(at + head..).and_then(number) else {
                break;
            };
            let end = at + head + length as usize;
            let Some(body) = input.get(at + head + 4..end) else {
                break;
            };
            if is_greeted {
                answer(input[at], body, &mut output);
            } else if number(body).is_some_and(|number| ENCRYPTION.contains(&number)) {
                output.push(b'N');
            } else {
                is_greeted = true;
                message(&mut output, b'R', &[0; 4]);
                message(&mut output, b'S', b"client_encoding\0UTF8\0");
                message(&mut output, b'S', b"server_version\x0015.0\0");
                message(&mut output, b'Z', b"I");
            }
            at = end;
        }
        input.drain(..at);
        stream.write_all(&output).await?;
        output.clear();
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args().nth(1);
    let listener = TcpListener::bind(address.as_deref().unwrap_or("127.0.0.1:5999")).await?;
    println!("{}", listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        // The end of a client has no effect on others.
        tokio::spawn(serve(stream));
    }
}
