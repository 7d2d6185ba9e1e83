use super::noted::{CHANGES_MAX, CHANNELS_MAX, TRANSACTION_BYTES_MAX};
use super::*;
use crate::database::Database;
use sardonyx::Tables;

fn payloads(inbox: &Inbox) -> Vec<String> {
    let text = |one: Arc<Message>| String::from_utf8_lossy(&one.payload).into_owned();
    inbox.take(usize::MAX).into_iter().map(text).collect()
}

/// A posting without unsettled transactions.
fn posting() -> Arc<Posting> {
    Posting::new(|| true, drop)
}

fn signals(listener: &Arc<Inbox>, payloads: &[&str]) -> Signals {
    let mut signals = Signals::default();
    let to = Listening::To((*b"a").into());
    signals.listen(listener, to, &Arc::default()).unwrap();
    for payload in payloads {
        let memory = Arc::default();
        signals.notify("a", payload, 1, &memory).unwrap();
    }
    signals
}

#[test]
fn each_is_noted_once_and_what_is_behind_a_mark_is_forgotten() {
    let posting = posting();
    let listener = Arc::new(posting.hub().enter(1));
    let memory = Arc::new(Budget::default());
    assert!(Signals::default().is_empty());
    let mut first = signals(&listener, &["1", "2", "1"]);
    let mark = first.mark();
    first.notify("a", "3", 1, &memory).unwrap();
    first.listen(&listener, Listening::ToNone, &memory).unwrap();
    first.return_to(mark);
    // It was forgotten, so it is added again, in its new place.
    for payload in ["4", "3", "2"] {
        first.notify("a", payload, 1, &memory).unwrap();
    }
    let mut later = Signals::default();
    later.append(first);
    later.append(signals(&listener, &["2", "5"]));
    later.committed(&posting).unwrap().durable();
    assert_eq!(payloads(&listener), ["1", "2", "4", "3", "5"]);
    let mut none = signals(&listener, &["1"]);
    none.return_to(Signals::default().mark());
    assert!(none.is_empty());
}

#[test]
fn only_the_last_change_of_a_channel_is_kept_if_it_is_the_same() {
    let posting = posting();
    let listener = Arc::new(posting.hub().enter(1));
    let memory = Arc::new(Budget::default());
    let mut signals = Signals::default();
    let (to, no_more) = (
        Listening::To((*b"a").into()),
        Listening::NoMore((*b"a").into()),
    );
    signals.listen(&listener, to.clone(), &memory).unwrap();
    let mark = signals.mark();
    for change in [
        &to,
        &no_more,
        &no_more,
        &Listening::ToNone,
        &Listening::ToNone,
        &no_more,
    ] {
        signals.listen(&listener, change.clone(), &memory).unwrap();
    }
    let mut expected = signals.mark();
    signals.listen(&listener, to, &memory).unwrap();
    assert_ne!(signals.mark(), expected);
    signals.return_to(expected);
    signals.listen(&listener, no_more.clone(), &memory).unwrap();
    assert_eq!(signals.mark(), expected);
    for _ in 0..2 {
        signals.return_to(mark);
        signals.listen(&listener, no_more.clone(), &memory).unwrap();
        expected = signals.mark();
    }
    signals.listen(&listener, no_more, &memory).unwrap();
    assert_eq!(signals.mark(), expected);
    assert!(signals.committed(&posting).is_none());
    assert_eq!(listener.count(), 0);
}

#[test]
fn channels_changes_and_bytes_have_bounds() {
    let posting = posting();
    let listener = Arc::new(posting.hub().enter(1));
    let memory = Arc::new(Budget::default());
    let to = |number: usize| Listening::To(number.to_string().as_bytes().into());
    let mut signals = Signals::default();
    for number in 0..CHANNELS_MAX {
        signals.listen(&listener, to(number), &memory).unwrap();
    }
    let more = to(CHANNELS_MAX);
    let refused = |signals: &mut Signals, change: &Listening| {
        let refused = signals.listen(&listener, change.clone(), &memory);
        assert_eq!(refused.unwrap_err().code, code::PROGRAM_LIMIT);
    };
    refused(&mut signals, &more);
    signals.listen(&listener, to(1), &memory).unwrap();
    signals
        .listen(&listener, Listening::ToNone, &memory)
        .unwrap();
    signals.listen(&listener, more, &memory).unwrap();
    let toggled = (0..CHANGES_MAX).find_map(|number| {
        let change = match (to(1), number % 2) {
            (Listening::To(channel), 1) => Listening::NoMore(channel),
            (to, _) => to,
        };
        signals.listen(&listener, change, &memory).err()
    });
    assert_eq!(toggled.unwrap().code, code::PROGRAM_LIMIT);
    let mut signals = Signals::default();
    let payload = "x".repeat(PAYLOAD_BYTES - 10);
    let refused = (0..TRANSACTION_BYTES_MAX / payload.len()).find_map(|number| {
        signals
            .notify("a", &format!("{payload}{number}"), 1, &memory)
            .err()
    });
    assert_eq!(refused.unwrap().code, code::PROGRAM_LIMIT);
}

#[test]
fn what_is_not_waited_for_is_given_out_by_a_thread() {
    let directory = tempfile::tempdir().unwrap();
    let tables = Tables::open(directory.path().join("x.sdx")).unwrap();
    let database = Database::over(Arc::new(tables)).unwrap();
    let listener = Arc::new(database.hub().enter(1));
    let effects = Effects {
        signals: signals(&listener, &["1"]),
        ..Effects::default()
    };
    drop(database.effects_committed(effects));
    let event = std::future::poll_fn(|context| listener.poll(true, context));
    sardonyx_base::parking::wait(event);
    assert_eq!(payloads(&listener), ["1"]);
}

#[test]
fn what_is_lost_with_its_log_is_given_to_no_listener() {
    let directory = tempfile::tempdir().unwrap();
    let tables = Arc::new(Tables::open(directory.path().join("x.sdx")).unwrap());
    let database = Database::over(tables.clone()).unwrap();
    let listener = Arc::new(database.hub().enter(1));
    let post = |payload| {
        let effects = Effects {
            signals: signals(&listener, &[payload]),
            ..Effects::default()
        };
        database.effects_committed(effects).unwrap()
    };
    let (lost, later) = (post("lost"), post("later"));
    // A closed log answers that the fate is unknown.
    tables.close().unwrap();
    later.durable_alone();
    drop(lost);
    let event = std::future::poll_fn(|context| listener.poll(true, context));
    sardonyx_base::parking::wait(event);
    assert_eq!(payloads(&listener), ["later"]);
}
