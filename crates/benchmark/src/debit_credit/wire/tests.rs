//! Clients and a server in one process, over real sockets. No test depends on speed: every awaited event comes.

use super::address::{Address, Stream};
use super::client::{Client, ClientError};
use super::frame::ProtocolError;
use super::load::{ClientLoad, run_clients};
use super::message::{Answer, Farewell, Message, VERSION};
use super::server::{Bank, Limits, Stop, serve};
use super::visit::{as_decoded, located};
use crate::debit_credit::load::load;
use crate::debit_credit::prelocated::{Directory, Prelocated};
use crate::debit_credit::proof::prove;
use crate::debit_credit::requests::{Generator, Request, Scale};
use crate::debit_credit::run::{Outcome, Progress, Until};
use crate::debit_credit::schema::Schema;
use crate::debit_credit::transaction::DebitCredit;
use sardonyx::{Options, Shape};
use std::io::{Read, Write};
use std::time::Duration;

const PIPELINED: Shape = Shape::Pipelined {
    input_threads: 2,
    output_threads: 2,
};

fn scale() -> Scale {
    Scale::new(1_000, 10, 2).unwrap()
}

/// Serves a bank while `clients` runs, and then proves that all answered transactions are found once.
fn served(
    shape: Shape,
    limits: Limits,
    tcp: bool,
    clients: impl FnOnce(&Address, &Stop),
) -> Outcome {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("bank");
    let options = || Options::new().shape(shape).log_bytes_prepared(0);
    let database = options().open_tables(&path).unwrap();
    let schema = Schema::of(&database).unwrap();
    load(&database, &schema, &scale(), |_| {}).unwrap();
    let listener = match tcp {
        true => Address::parse("127.0.0.1:0").unwrap(),
        false => Address::Path(directory.path().join("bank.sock")),
    };
    let listener = listener.listen().unwrap();
    let address = listener.address().unwrap();
    let stop = Stop::new().unwrap();
    let bank = Bank {
        database: &database,
        scale: scale(),
        limits,
        output_threads: 2,
        time: None,
    };
    let procedure = database.register(DebitCredit::new(schema)).unwrap();
    let decoded = bank.service(&procedure, as_decoded());
    let prelocated = database.register(Prelocated::new(schema)).unwrap();
    let directory = Directory::of(&database, &schema, &scale()).unwrap();
    let prelocated = bank.service(&prelocated, located(directory));
    let progress = Default::default();
    let outcome = std::thread::scope(|scope| {
        let serve = || match shape {
            // In one of the shapes the input stage locates, too.
            PIPELINED => serve(&prelocated, listener, &stop, &progress),
            _ => serve(&decoded, listener, &stop, &progress),
        };
        let serving = scope.spawn(serve);
        // Also if a client panics; otherwise the scope would wait for ever.
        let _stop = Stopping(&stop);
        clients(&address, &stop);
        stop.stop();
        serving.join().unwrap().unwrap()
    });
    if let Address::Path(path) = &address {
        assert!(!path.exists(), "the socket's file is removed");
    }
    database.close().unwrap();
    let database = options().open_tables(&path).unwrap();
    let schema = Schema::of(&database).unwrap();
    let proof = prove(&database, &schema, &outcome.acknowledged, outcome.refused).unwrap();
    assert!(proof.holds() && proof.unacknowledged == 0, "{proof:?}");
    assert_eq!(proof.rows, outcome.committed);
    outcome
}

struct Stopping<'a>(&'a Stop);

impl Drop for Stopping<'_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

fn client_load(until: Until, arrival_rate: Option<f64>) -> ClientLoad {
    ClientLoad {
        clients: 3,
        batch: 50,
        batches_in_flight: 4,
        until,
        arrival_rate,
        other_branch_percent: 15,
        wrong_code_percent: 0,
        seed: 3,
    }
}

#[test]
fn clients_of_both_loops_are_served_in_every_shape_over_both_sockets() {
    for (shape, tcp) in [
        (Shape::Coalesced, false),
        (PIPELINED, true),
        (PIPELINED, false),
    ] {
        let mut answered = 0;
        let outcome = served(shape, Limits::default(), tcp, |address, _| {
            let run = |load| run_clients(address, &load, &Progress::default()).unwrap();
            let (closed, of) = run(client_load(Until::Transactions(5_000), None));
            assert_eq!((closed.committed, closed.refused), (5_000, 0));
            assert_eq!(closed.responses.count(), 5_000);
            assert_eq!(of, scale());
            let until = Until::Time(Duration::from_millis(100));
            let (open, _) = run(client_load(until, Some(20_000.0)));
            let point = open.points[0];
            assert_eq!(point.arrivals - point.given_up, open.committed);
            assert_eq!(point.responses.unwrap().count, point.arrivals);
            answered = closed.committed + open.committed;
        });
        assert_eq!(outcome.committed, answered);
        assert_eq!(outcome.acknowledged.len(), 6);
        assert_eq!(outcome.responses.count(), answered);
    }
}

fn requests(count: usize) -> impl Iterator<Item = Request> {
    Generator::standard(scale(), 9).take(count)
}

#[test]
fn every_refusal_is_told_and_undone() {
    let outcome = served(PIPELINED, Limits::default(), false, |address, _| {
        let mut client = Client::connect(address).unwrap();
        let good = requests(1).next().unwrap();
        let account = 1_000_000;
        client
            .send([
                good,
                Request { account, ..good },
                Request { teller: 11, ..good },
                Request {
                    code: good.code + 1,
                    ..good
                },
            ])
            .unwrap();
        client.send([Request { branch: 3, ..good }, good]).unwrap();
        let mut answers = Vec::new();
        while client.unanswered() > 0 {
            client.receive(|answer| answers.push(answer)).unwrap();
        }
        let expected = [
            Answer::Committed,
            Answer::UnknownAccount,
            Answer::UnknownTeller,
            Answer::Denied,
            Answer::UnknownBranch,
            Answer::Committed,
        ];
        assert_eq!(answers, expected);
    });
    assert_eq!((outcome.committed, outcome.refused), (2, 4));
}

/// The bytes that the server sends until it ends the connection.
fn said(stream: &Stream) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = (&*stream).read_to_end(&mut bytes);
    bytes
}

fn framed(message: Message) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.put(&mut bytes);
    bytes
}

#[test]
fn hostile_and_dead_clients_harm_nobody() {
    let limits = Limits {
        stall: Duration::from_millis(50),
        ..Limits::default()
    };
    for shape in [Shape::Coalesced, PIPELINED] {
        served(shape, limits, false, |address, _| {
            let connect = || address.connect().unwrap();
            let (garbage, late, half) = (connect(), connect(), connect());
            (&garbage).write_all(&[0xff; 5000]).unwrap();
            let mut bytes = framed(Message::Hello { version: 9 });
            (&late).write_all(&bytes).unwrap();
            // Half a frame, and then the end.
            bytes = framed(Message::Hello { version: VERSION });
            (&half).write_all(&bytes[..bytes.len() - 1]).unwrap();
            drop(half);
            // Sends and never reads an answer: as much as fits into the sockets, until the server ends it.
            let mut deaf = Client::connect(address).unwrap();
            let many: Vec<Request> = requests(10_000).collect();
            while deaf.send(many.iter().copied()).is_ok() {}
            let mut good = Client::connect(address).unwrap();
            good.send(requests(1_000)).unwrap();
            while good.unanswered() > 0 {
                good.receive(|answer| assert_eq!(answer, Answer::Committed))
                    .unwrap();
            }
            let misunderstood = framed(Message::Farewell(Farewell::Misunderstood));
            assert_eq!(said(&garbage), misunderstood);
            let version = framed(Message::Farewell(Farewell::Version));
            assert_eq!(said(&late), version);
        });
    }
}

#[test]
fn who_says_nothing_is_ended() {
    let limits = Limits {
        silence: Duration::from_millis(50),
        ..Limits::default()
    };
    served(PIPELINED, limits, true, |address, _| {
        let silent = address.connect().unwrap();
        assert_eq!(said(&silent), b"", "without a word");
    });
}

#[test]
fn a_silent_connection_makes_room_and_one_that_greeted_keeps_its_place() {
    let limits = Limits {
        connections: 2,
        ..Limits::default()
    };
    served(PIPELINED, limits, false, |address, _| {
        let silent = address.connect().unwrap();
        let mut one = Client::connect(address).unwrap();
        let mut other = Client::connect(address).unwrap();
        assert_eq!(said(&silent), b"", "it made room");
        let ended = Client::connect(address).unwrap_err();
        let crowded = ProtocolError::Ended(Farewell::Crowded);
        assert!(
            matches!(ended, ClientError::Protocol(error) if error == crowded),
            "{ended}"
        );
        for client in [&mut one, &mut other] {
            client.send(requests(10)).unwrap();
            while client.unanswered() > 0 {
                client.receive(|_| ()).unwrap();
            }
        }
    });
}

#[test]
fn the_end_answers_what_was_received_and_says_so() {
    served(PIPELINED, Limits::default(), false, |address, stop| {
        let mut client = Client::connect(address).unwrap();
        client.send(requests(2_000)).unwrap();
        // One answer: the rest that came with its request was received, too.
        client.receive(|_| ()).unwrap();
        stop.stop();
        let ended = loop {
            if let Err(ended) = client.receive(|_| ()) {
                break ended;
            }
        };
        assert!(ended.is_closing(), "{ended}");
        assert!(address.connect().is_err());
    });
}

#[test]
fn an_abandoned_socket_is_replaced_and_a_used_one_is_not() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.sock");
    // A killed server left its file.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let address = Address::parse(path.to_str().unwrap()).unwrap();
    let listener = address.listen().unwrap();
    assert!(address.listen().is_err(), "somebody listens there");
    drop(listener);
    std::fs::write(&path, "a file").unwrap();
    assert!(address.listen().is_err());
    assert_eq!(std::fs::read(&path).unwrap(), b"a file");
    assert_eq!(Address::parse("a.sock"), Ok(Address::Path("a.sock".into())));
    assert_eq!(Address::parse("host:5"), Ok(Address::Host("host:5".into())));
    assert_eq!(Address::parse("./a:5"), Ok(Address::Path("./a:5".into())));
    assert!(Address::parse("").is_err());
}
