//! A link over a connection that keeps bytes back which its socket has not taken, as one that encrypts does.

use crate::node::loose::frame::Frame;
use crate::node::loose::link::Link;
use crate::node::loose::wire::{self, Hello, Trust, Welcome};
use crate::protocol::NodeId;
use sardonyx_base::transport::{Connection, Plain, Transport, TransportError};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

/// Takes no more than so much at once, and reports that it is full. At the third flush it gives its socket everything;
/// it takes nothing more meanwhile.
#[derive(Debug)]
struct HoldingBack {
    socket: TcpStream,
    held: Vec<u8>,
    asked: u32,
}

const HELD_MAX: usize = 1000;

impl Read for HoldingBack {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.socket.read(into)
    }
}

impl Write for HoldingBack {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.held.is_empty() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let taken = bytes.len().min(HELD_MAX);
        self.held.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.asked += 1;
        if !self.asked.is_multiple_of(3) && !self.held.is_empty() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.socket.write_all(&self.held)?;
        self.held.clear();
        Ok(())
    }
}

impl Connection for HoldingBack {
    fn socket(&self) -> &TcpStream {
        &self.socket
    }
}

#[derive(Debug)]
struct HoldsBack;

impl Transport for HoldsBack {
    fn call(&self, socket: TcpStream, _: Duration) -> Result<Box<dyn Connection>, TransportError> {
        Ok(Box::new(HoldingBack {
            socket,
            held: Vec::new(),
            // The greeting goes at once.
            asked: 2,
        }))
    }

    fn answer(
        &self,
        socket: TcpStream,
        within: Duration,
    ) -> Result<Box<dyn Connection>, TransportError> {
        Plain.answer(socket, within)
    }
}

#[test]
fn what_a_connection_keeps_back_is_flushed_without_another_message() {
    let trust = Trust {
        transport: Arc::new(HoldsBack),
        token: None,
    };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let link = Link::new(NodeId(1), NodeId(2), trust.clone());
    link.is_at(listener.local_addr().unwrap());
    std::thread::scope(|scope| {
        let (told, connected) = std::sync::mpsc::channel();
        scope.spawn(|| {
            link.run(move || {
                let _ = told.send(());
            })
        });
        let (socket, _) = listener.accept().unwrap();
        let (mut stream, hello) = wire::accept(socket, &trust, |_| Ok(Welcome::default())).unwrap();
        assert!(matches!(hello, Hello::Node { from, .. } if from == NodeId(1)));
        connected.recv().unwrap();
        let limit = Some(Duration::from_secs(60));
        stream.socket().set_read_timeout(limit).unwrap();
        // Shorter and longer than the bytes kept back at once.
        for length in [1, HELD_MAX - 100, 5 * HELD_MAX, 7] {
            let frame = Frame {
                kind: 9,
                content: vec![length as u8; length],
                ..Frame::default()
            };
            let mut bytes = Vec::new();
            frame.encode(&mut bytes);
            link.send(&bytes);
            let heard = Frame::read(&mut stream);
            // Before the assertion, as the link's thread would be waited for.
            if heard.is_err() {
                link.stop();
            }
            assert_eq!(heard.unwrap(), frame);
        }
        link.stop();
    });
}
