//! Bytes from the network and from users: requests to a store over TCP, frames of terminals, traces.

use sardonyx_benchmark::debit_credit::requests::{Generator, Scale};
use sardonyx_benchmark::debit_credit::wire::message::{
    Answer, DEBIT_CREDIT, Farewell, Message, VERSION, Welcome,
};
use sardonyx_benchmark::debit_credit::wire::session::{ClientSession, ServerSession};
use sardonyx_workload::reference::{Access, PageNumber, PageReference, Transaction};
use sardonyx_workload::trace::{Form, Header, Partition, Trace};

use crate::{Target, reseal};

pub(super) const STORE: Target = Target {
    name: "store",
    what: "a request to a store over TCP, and an answer",
    seeds: sardonyx_remote::fuzzing::bodies,
    run: sardonyx_remote::fuzzing::decode,
    runs: 20_000,
};

pub(super) const TRACE: Target = Target {
    name: "trace",
    what: "a trace, as text and in binary form",
    seeds: traces,
    run: |input| {
        read(input);
        let mut bytes = input.to_vec();
        reseal::trace(&mut bytes);
        read(&bytes);
    },
    runs: 5_000,
};

pub(super) const TERMINAL: Target = Target {
    name: "terminal",
    what: "what a debit-credit server and its clients say",
    seeds: conversations,
    run: |input| {
        hear(input);
        let mut bytes = input.to_vec();
        reseal::terminal(&mut bytes);
        hear(&bytes);
    },
    runs: 20_000,
};

/// Reads bytes as a server and as a client; in two portions the result is the same as in one.
fn hear(bytes: &[u8]) {
    let whole = hear_in(&[bytes]);
    let (one, other) = bytes.split_at(bytes.len() / 2);
    let cut = hear_in(&[one, other]);
    assert_eq!(whole, cut);
}

fn hear_in(portions: &[&[u8]]) -> (Vec<u64>, u64, bool) {
    let (mut server, mut calls) = (ServerSession::new(1), Vec::new());
    let mut client = ClientSession::default();
    let (mut to_server, mut to_client) = (Vec::new(), Vec::new());
    let (mut server_fails, mut client_fails) = (false, false);
    for portion in portions {
        to_server.extend_from_slice(portion);
        to_client.extend_from_slice(portion);
        if !server_fails {
            match server.hear(&to_server, &mut calls) {
                Ok(heard) => drop(to_server.drain(..heard)),
                Err(_) => server_fails = true,
            }
        }
        if !client_fails {
            match client.hear(&to_client, |_| ()) {
                Ok(heard) => drop(to_client.drain(..heard)),
                Err(_) => client_fails = true,
            }
        }
    }
    let calls = calls.iter().map(|call| call.transaction).collect();
    (calls, client.answered(), server_fails)
}

/// The messages of each side.
fn conversations() -> Vec<Vec<u8>> {
    let (mut client, mut server) = (Vec::new(), Vec::new());
    Message::Hello { version: VERSION }.put(&mut client);
    let welcome = Welcome {
        version: VERSION,
        client: 1,
        window: 100,
        scale: [15_000, 150, 15],
    };
    Message::Welcome(welcome).put(&mut server);
    let requests = Generator::standard(Scale::paper(), 1);
    for (number, request) in (0..).zip(requests.take(5)) {
        let procedure = DEBIT_CREDIT;
        Message::Call {
            number,
            procedure,
            request,
        }
        .put(&mut client);
        let outcome = Answer::ALL[number as usize];
        Message::Answer { number, outcome }.put(&mut server);
    }
    Message::Farewell(Farewell::Closing).put(&mut server);
    vec![client, server]
}

/// Reads a whole trace; what it read is written and reads back as the same.
fn read(bytes: &[u8]) {
    let Ok(trace) = Trace::read(bytes, "input") else {
        return;
    };
    let written = trace.write(Form::Binary, Vec::new(), "again");
    let written = written.expect("a trace that was read can be written");
    let again = Trace::read(&*written, "again").expect("what was written can be read");
    assert_eq!(again.len(), trace.len());
    assert_eq!(again.reference_count(), trace.reference_count());
}

/// The same small trace in both forms.
fn traces() -> Vec<Vec<u8>> {
    let partition = |name: &str, pages| Partition {
        name: name.into(),
        pages,
    };
    let partitions = vec![partition("accounts", 1000), partition("log", 64)];
    let types = vec!["transfer".into(), "look".into()];
    let header = Header::new(4096, types, partitions).expect("a possible header");
    let mut trace = Trace::new(header);
    for n in 0..20 {
        let mut transaction = Transaction::new(n % 2);
        for page in 0..n % 5 + 1 {
            transaction.references.push(PageReference {
                page: PageNumber {
                    partition: page % 2,
                    page: u32::from(page) * 3,
                },
                access: if page == 2 {
                    Access::Write
                } else {
                    Access::Read
                },
            });
        }
        trace.push(&transaction).expect("fits");
    }
    [Form::Binary, Form::Text]
        .map(|form| trace.write(form, Vec::new(), "seed").expect("written"))
        .into()
}
