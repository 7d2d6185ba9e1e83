//! Entries whose groups are at the server before their turn comes.

use super::ahead::{SEND_MAX, WHOLE_AFTER_FAILURE};
use super::link::{Link, Socket};
use super::message::{ENDING_BYTES, EntryRequest};
use super::receiving::{Received, Receiver};
use super::tests::{options, serve, trust};
use super::{BODY_BYTES_MAX, TcpLog};
use sardonyx_base::frame;
use sardonyx_base::greeting::send;
use sardonyx_base::transport::Connection;
use sardonyx_storage::log::pool::{BufferPool, DurableGroup};
use sardonyx_storage::log::seal::{GroupBuilder, Sequencer};
use sardonyx_storage::log::writer::SendsAhead;
use sardonyx_storage::log::{LogLayout, LogPosition};
use sardonyx_storage::page::Address;
use sardonyx_storage::remote_log::entry::{Entry, EntryBuilder};
use sardonyx_storage::remote_log::memory::MemoryStore;
use sardonyx_storage::remote_log::position::{EntryPosition, Epoch};
use sardonyx_storage::remote_log::store::{Appended, RemoteStore};
use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

/// Groups as a log hands them over, of some lengths.
fn groups() -> Vec<Arc<DurableGroup>> {
    let pool = Arc::new(BufferPool::new(4096, None, || ()));
    let mut sequencer = Sequencer::new(LogLayout::new(7, 1 << 20), 1, LogPosition::START);
    let mut group = |records: u8| {
        let mut builder = GroupBuilder::from_buffer(pool.take());
        for record in 0..records {
            builder.push_write(Address(0), &[record; 1000]);
            builder.end_transaction();
        }
        let mut sealed = sequencer.seal(builder);
        sealed.finish(0);
        Arc::new(DurableGroup::new(sealed, pool.clone()))
    };
    [1, 90, 200].map(&mut group).to_vec()
}

fn entry(number: u64, groups: &[Arc<DurableGroup>]) -> Entry {
    let mut builder = EntryBuilder::new();
    let groups = groups.iter().cloned();
    groups.for_each(|group| builder.push_shared(group));
    let at = EntryPosition {
        next: number,
        epoch: Epoch(1),
        ..EntryPosition::START
    };
    builder.seal(7, at, 0).unwrap()
}

fn log(store: &Arc<MemoryStore>) -> (super::StoreServer, TcpLog) {
    let (server, address) = serve(store, None);
    let log = TcpLog::open(&address, &options(trust(None))).unwrap();
    assert!(log.ahead().is_some());
    (server, log)
}

/// Sends a group ahead, on a connection that is made if there is none.
fn send_ahead(log: &TcpLog, group: &Arc<DurableGroup>) {
    assert!(log.prepare());
    log.send(group);
}

#[test]
fn an_entry_is_whole_whatever_part_of_it_came_ahead() {
    let store = Arc::new(MemoryStore::new());
    let (_server, log) = log(&store);
    let groups = groups();
    for ahead in 0..=groups.len() {
        let number = 1 + ahead as u64;
        groups[..ahead]
            .iter()
            .for_each(|group| send_ahead(&log, group));
        log.end();
        let entry = entry(number, &groups);
        assert_eq!(log.append_entry(number, &entry).unwrap(), Appended::Ok);
        let again = log.append_entry(number, &entry).unwrap();
        assert_eq!(again, Appended::Conflict, "it is sent whole");
        assert!(store.read(number).unwrap() == Some(entry.bytes().into_owned()));
    }
}

#[test]
fn groups_of_another_entry_are_left_aside() {
    let store = Arc::new(MemoryStore::new());
    let (_server, log) = log(&store);
    let groups = groups();
    let others: [&[usize]; 3] = [&[1], &[1, 0], &[0, 1, 2]];
    for (sent, number) in others.into_iter().zip(1..) {
        sent.iter().for_each(|at| send_ahead(&log, &groups[*at]));
        log.end();
        let entry = entry(number, &groups[..2]);
        assert_eq!(log.append_entry(number, &entry).unwrap(), Appended::Ok);
        assert!(store.read(number).unwrap() == Some(entry.bytes().into_owned()));
    }
    // They were sent for no entry.
    send_ahead(&log, &groups[0]);
    log.end();
    log.end();
    let entry = entry(9, &groups);
    assert_eq!(log.append_entry(9, &entry).unwrap(), Appended::Ok);
    assert!(store.read(9).unwrap() == Some(entry.bytes().into_owned()));
}

/// Appends an entry whose groups may have come ahead, on a connection that has ended: it is whole at once. No other connection is
/// made for such groups, until many entries were sent.
fn is_sent_whole_and_no_other_connection_is_made(store: &MemoryStore, log: &TcpLog) {
    let groups = groups();
    let entry = entry(1, &groups);
    assert_eq!(log.append_entry(1, &entry).unwrap(), Appended::Ok);
    assert!(store.read(1).unwrap() == Some(entry.bytes().into_owned()));
    let mut entries = 0;
    while !log.prepare() {
        log.end();
        entries += 1;
    }
    assert!(entries + 1 >= WHOLE_AFTER_FAILURE, "{entries}");
}

#[test]
fn an_entry_whose_connection_broke_is_sent_whole_at_once() {
    let store = Arc::new(MemoryStore::new());
    let (_server, log) = log(&store);
    let groups = groups();
    send_ahead(&log, &groups[0]);
    log.end();
    let sent = log.ahead.take().unwrap();
    let socket = sent.link.connection.socket().unwrap().try_clone().unwrap();
    socket.shutdown(std::net::Shutdown::Both).unwrap();
    log.ahead.put(sent);
    is_sent_whole_and_no_other_connection_is_made(&store, &log);
}

#[test]
fn a_server_without_a_place_for_another_connection_gets_entries_whole() {
    let store = Arc::new(MemoryStore::new());
    let (_server, log) = log(&store);
    let request = super::message::Request::List(0);
    let mut links: Vec<_> = (0..64).map(|_| log.link(&request).unwrap()).collect();
    // They are served when they are answered.
    let (head, content) = request.parts();
    for link in &mut links {
        send(&mut link.connection, &[&head, content]).unwrap();
        frame::read(&mut link.connection, &(1..=BODY_BYTES_MAX)).unwrap();
    }
    // It is greeted, and then closed.
    assert!(log.prepare());
    let mut link = log.ahead.link().lock().take().unwrap();
    let read = link.connection.read(&mut [0]);
    assert!(matches!(read, Ok(0) | Err(_)), "{read:?}");
    *log.ahead.link().lock() = Some(link);
    log.send(&groups()[0]);
    log.end();
    log.keep(links.swap_remove(0));
    is_sent_whole_and_no_other_connection_is_made(&store, &log);
}

#[test]
fn a_connection_that_takes_no_more_groups_is_given_up_before_the_time_of_a_request_is_over() {
    let store = Arc::new(MemoryStore::new());
    let (_server, log) = log(&store);
    let limit_of = |link: &Link| link.connection.socket().unwrap().write_timeout().unwrap();
    assert!(log.prepare());
    let whole = log.ahead.link().lock().take().unwrap();
    assert_eq!(limit_of(&whole), Some(SEND_MAX));
    // The other end of this one reads nothing. The limit is a shorter one, not to wait for it here.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let _stalled = listener.accept().unwrap();
    client
        .set_write_timeout(Some(Duration::from_millis(1)))
        .unwrap();
    *log.ahead.link().lock() = Some(Link {
        connection: Box::new(Socket(Box::new(client))),
        takes_ahead: true,
    });
    let groups = groups();
    // More than the system takes.
    (0..200).for_each(|_| log.send(&groups[2]));
    log.end();
    is_sent_whole_and_no_other_connection_is_made(&store, &log);
    // A connection that took its groups is one for any request, with the time of one.
    *log.ahead.link().lock() = Some(whole);
    log.send(&groups[0]);
    log.end();
    let entry = entry(2, &groups);
    assert_eq!(log.append_entry(2, &entry).unwrap(), Appended::Ok);
    let request_limit = options(trust(None)).request_limit;
    assert_eq!(log.kept_limits().unwrap().1, Some(request_limit));
}

#[test]
fn a_group_for_which_there_is_no_connection_makes_none() {
    let store = Arc::new(MemoryStore::new());
    let (_server, log) = log(&store);
    log.send(&groups()[0]);
    log.end();
    assert!(log.ahead.take().is_none());
}

#[test]
fn what_was_sent_is_let_go_at_the_end_of_a_log() {
    let (_server, log) = log(&Arc::default());
    let groups = groups();
    send_ahead(&log, &groups[0]);
    log.end();
    send_ahead(&log, &groups[1]);
    log.give_up();
    assert!(groups.iter().all(|group| Arc::strong_count(group) == 1));
    assert!(log.ahead.take().is_none());
}

#[test]
fn i10_parts_of_an_entry_are_not_in_memory_beside_another_request() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let mut stream: Box<dyn Connection> = Box::new(listener.accept().unwrap().0);
    let mut receiver = Receiver::default();
    let part = EntryRequest::Ahead { behind: 0 }.encode(1000);
    send(&mut client, &[&part, &[7; 1000]]).unwrap();
    let received = receiver.next(&mut stream).unwrap();
    assert!(matches!(received, Received::Part), "{received:?}");
    assert!(receiver.bytes() > 1000);
    let (head, content) = super::message::Request::List(0).parts();
    send(&mut client, &[&head, content]).unwrap();
    let received = receiver.next(&mut stream).unwrap();
    assert!(matches!(received, Received::Request(Ok(_))), "{received:?}");
    assert_eq!(receiver.bytes(), head.len() + content.len());
}

#[test]
fn parts_that_do_not_belong_together_end_the_connection_and_create_nothing() {
    let store = Arc::new(MemoryStore::new());
    let (_server, log) = log(&store);
    let ahead = |behind| EntryRequest::Ahead { behind }.encode(3);
    let finish = |behind: u64| {
        let request = EntryRequest::Finish { number: 1 };
        let head = request.encode(ENDING_BYTES);
        [&head[..], &behind.to_le_bytes(), &[0; ENDING_BYTES - 8]].concat()
    };
    let ahead = |behind| [&ahead(behind)[..], b"abc"].concat();
    for frames in [
        vec![ahead(3)],
        vec![ahead(0), ahead(2)],
        vec![ahead(0), finish(2)],
        vec![finish(1)],
        vec![finish(0)],
    ] {
        let mut link = log.link(&super::message::Request::List(0)).unwrap();
        for frame in frames {
            send(&mut link.connection, &[&frame]).unwrap();
        }
        let read = link.connection.read(&mut [0]);
        assert!(matches!(read, Ok(0) | Err(_)), "{read:?}");
    }
    assert_eq!(store.entries(), 0);
}
