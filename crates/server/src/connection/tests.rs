//! Connections: their turns, their ends, and the end of the server.

use super::*;
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn a_client_that_sends_without_a_pause_lets_others_go_first() {
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().start_paused(true).build();
    runtime.unwrap().block_on(async {
        // It sends outside of the runtime, so that there are always more bytes than a read takes.
        let (mut client, server) = std::os::unix::net::UnixStream::pair().unwrap();
        client.set_nonblocking(true).unwrap();
        server.set_nonblocking(true).unwrap();
        let (_stop, stopped) = watch::channel(false);
        let stream = Stream::Unix(tokio::net::UnixStream::from_std(server).unwrap());
        let (memory, lease) = (Arc::default(), Lease::default());
        let connection = Connection::new(stream, Duration::MAX, stopped, memory, lease);
        let (mut receiver, _outgoing) = connection.shared();
        // Another task waits for its socket.
        let (mut other, mut others) = tokio::net::UnixStream::pair().unwrap();
        let served = Arc::new(AtomicBool::new(false));
        let serves = served.clone();
        tokio::spawn(async move {
            serves.store(others.read_u8().await.is_ok(), Ordering::Relaxed);
        });
        tokio::task::yield_now().await;
        let mut bytes = 0;
        while !served.load(Ordering::Relaxed) {
            while std::io::Write::write(&mut client, &[b'x'; READ_BYTES]).is_ok() {}
            assert_eq!(receiver.receive().await.unwrap(), Received::Bytes);
            if bytes == 0 {
                // The thread does not notice it until it looks.
                other.write_all(b"x").await.unwrap();
            }
            let mut incoming = receiver.incoming();
            bytes += incoming.input.len();
            incoming.input.clear();
            incoming.answered();
            assert!(bytes <= 3 * TURN_BYTES, "the other task was not served");
        }
    });
}

#[test]
fn a_client_that_reads_nothing_for_its_time_is_disconnected() {
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().start_paused(true).build();
    runtime.unwrap().block_on(async {
        let (_client, server) = tokio::net::UnixStream::pair().unwrap();
        let (_stop, stopped) = watch::channel(false);
        let (memory, lease) = (Arc::default(), Lease::default());
        let unread = Duration::from_millis(50);
        let stream = Stream::Unix(server);
        let mut connection = Connection::new(stream, unread, stopped, memory, lease);
        // The socket takes a short answer at once.
        let mut short = BytesMut::from(&b"x"[..]);
        connection.send(&mut short).await.unwrap();
        assert!(short.is_empty());
        let mut long = BytesMut::from(&vec![b'x'; 16 << 20][..]);
        let error = connection.send(&mut long).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    });
}

#[test]
fn a_client_that_waits_and_one_that_sends_without_a_pause_are_ended_when_the_server_stops() {
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().start_paused(true).build();
    runtime.unwrap().block_on(async {
        let (stop, stopped) = watch::channel(false);
        let connect = || {
            let (client, server) = tokio::net::UnixStream::pair().unwrap();
            let (memory, lease) = (Arc::default(), Lease::default());
            let stream = Stream::Unix(server);
            let connection = Connection::new(stream, Duration::MAX, stopped.clone(), memory, lease);
            (client, connection.shared())
        };
        let (mut sends, (mut sender, _)) = connect();
        let (_waits, (mut waiter, _)) = connect();
        for _ in 0..2 {
            sends.write_all(b"x").await.unwrap();
            assert_eq!(sender.receive().await.unwrap(), Received::Bytes);
        }
        sends.write_all(b"x").await.unwrap();
        let (received, ()) = tokio::join!(waiter.receive(), async {
            tokio::task::yield_now().await;
            stop.send(true).unwrap();
        });
        assert_eq!(received.unwrap(), Received::Stop);
        for receiver in [&mut sender, &mut waiter] {
            for _ in 0..2 {
                assert_eq!(receiver.receive().await.unwrap(), Received::Stop);
            }
        }
    });
}

#[test]
fn of_a_client_that_waits_bytes_are_received_up_to_a_bound_and_its_end_is_noticed_behind_them() {
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().start_paused(true).build();
    runtime.unwrap().block_on(async {
        let (mut client, server) = tokio::net::UnixStream::pair().unwrap();
        let (_stop, stopped) = watch::channel(false);
        let stream = Stream::Unix(server);
        let (memory, lease) = (Arc::default(), Lease::default());
        let connection = Connection::new(stream, Duration::MAX, stopped, memory, lease);
        let (mut receiver, _outgoing) = connection.shared();
        let sends =
            tokio::spawn(async move { client.write_all(&vec![b'x'; 4 * AHEAD_BYTES_MAX]).await });
        while receiver.incoming().input.len() < AHEAD_BYTES_MAX {
            assert_eq!(receiver.receive_ahead().await.unwrap(), Received::Bytes);
        }
        let there = receiver.incoming().input.len();
        assert!(there < 2 * AHEAD_BYTES_MAX);
        let waited = timeout(4 * BETWEEN_LOOKS, receiver.receive_ahead()).await;
        assert!(waited.is_err() && !sends.is_finished());
        // The client closes during the write.
        sends.abort();
        assert!(sends.await.is_err());
        assert_eq!(receiver.receive_ahead().await.unwrap(), Received::Closed);
        assert_eq!(receiver.incoming().input.len(), there);
    });
}
