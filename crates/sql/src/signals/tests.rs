use super::*;
use crate::database::Database;
use sardonyx::Tables;

fn payloads(inbox: &Inbox) -> Vec<String> {
    let text = |one: Arc<Message>| String::from_utf8_lossy(&one.payload).into_owned();
    inbox.take(usize::MAX).into_iter().map(text).collect()
}

fn signals(listener: &Arc<Inbox>, payloads: &[&str]) -> Signals {
    let mut signals = Signals::default();
    let to = Listening::To((*b"a").into());
    signals.listen(listener, to).unwrap();
    for payload in payloads {
        signals.notify("a", payload, 1).unwrap();
    }
    signals
}

#[test]
fn each_is_noted_once_and_a_copy_stays_as_it_was() {
    let hub = Arc::new(Hub::default());
    let listener = Arc::new(hub.enter(1));
    assert!(Signals::default().is_empty());
    let mut first = signals(&listener, &["1", "2", "1"]);
    let mark = first.clone();
    first.notify("a", "3", 1).unwrap();
    let mut later = Signals::default();
    later.append(mark.clone());
    later.append(signals(&listener, &["2", "4"]));
    hub.durable_to(later.committed(&hub).unwrap());
    assert_eq!(payloads(&listener), ["1", "2", "4"]);
    hub.durable_to(mark.committed(&hub).unwrap());
    assert_eq!(payloads(&listener), ["1", "2"]);
}

#[test]
fn channels_and_bytes_have_bounds() {
    let hub = Arc::new(Hub::default());
    let listener = Arc::new(hub.enter(1));
    let mut signals = Signals::default();
    for number in 0..CHANNELS_MAX {
        let to = Listening::To(number.to_string().as_bytes().into());
        signals.listen(&listener, to).unwrap();
    }
    let one_more = Listening::To((*b"more").into());
    let refused = signals.listen(&listener, one_more.clone()).unwrap_err();
    assert_eq!(refused.code, code::PROGRAM_LIMIT);
    signals.listen(&listener, Listening::ToNone).unwrap();
    signals.listen(&listener, one_more).unwrap();
    let payload = "x".repeat(PAYLOAD_BYTES - 10);
    let refused = (0..TRANSACTION_BYTES_MAX / payload.len())
        .find_map(|number| signals.notify("a", &format!("{payload}{number}"), 1).err());
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
fn what_is_lost_with_its_log_is_given_to_nobody() {
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
    // A closed log answers as one whose end is not known.
    tables.close().unwrap();
    let number = lost.number;
    std::mem::forget(lost);
    database.settle(&[number]);
    later.durable_alone();
    assert_eq!(payloads(&listener), ["later"]);
}
