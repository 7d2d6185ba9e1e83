//! Entries whose groups are at the server before their turn comes.

use super::TcpLog;
use super::message::{ENDING_BYTES, EntryRequest};
use super::tests::{options, serve, trust};
use sardonyx_base::greeting::send;
use sardonyx_storage::log::pool::{BufferPool, DurableGroup};
use sardonyx_storage::log::seal::{GroupBuilder, Sequencer};
use sardonyx_storage::log::writer::SendsAhead;
use sardonyx_storage::log::{LogLayout, LogPosition};
use sardonyx_storage::page::Address;
use sardonyx_storage::remote_log::entry::{Entry, EntryBuilder};
use sardonyx_storage::remote_log::memory::MemoryStore;
use sardonyx_storage::remote_log::position::{EntryPosition, Epoch};
use sardonyx_storage::remote_log::store::{Appended, RemoteStore, StoreError};
use std::io::Read;
use std::sync::Arc;

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

#[test]
fn an_entry_is_whole_whatever_part_of_it_came_ahead() {
    let store = Arc::new(MemoryStore::new());
    let (_server, log) = log(&store);
    let groups = groups();
    for ahead in 0..=groups.len() {
        let number = 1 + ahead as u64;
        groups[..ahead].iter().for_each(|group| log.send(group));
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
        sent.iter().for_each(|at| log.send(&groups[*at]));
        log.end();
        let entry = entry(number, &groups[..2]);
        assert_eq!(log.append_entry(number, &entry).unwrap(), Appended::Ok);
        assert!(store.read(number).unwrap() == Some(entry.bytes().into_owned()));
    }
    // They were sent for no entry.
    log.send(&groups[0]);
    log.end();
    log.end();
    let entry = entry(9, &groups);
    assert_eq!(log.append_entry(9, &entry).unwrap(), Appended::Ok);
    assert!(store.read(9).unwrap() == Some(entry.bytes().into_owned()));
}

#[test]
fn an_entry_whose_connection_broke_has_no_answer_and_is_sent_whole_then() {
    let store = Arc::new(MemoryStore::new());
    let (_server, log) = log(&store);
    let groups = groups();
    log.send(&groups[0]);
    log.end();
    let sent = log.ahead.take().unwrap();
    let socket = sent.link.connection.socket().try_clone().unwrap();
    socket.shutdown(std::net::Shutdown::Both).unwrap();
    log.ahead.put(sent);
    let entry = entry(1, &groups);
    let error = log.append_entry(1, &entry).unwrap_err();
    assert!(matches!(error, StoreError::Unclear { .. }), "{error}");
    assert_eq!(log.append_entry(1, &entry).unwrap(), Appended::Ok);
    assert!(store.read(1).unwrap() == Some(entry.bytes().into_owned()));
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
