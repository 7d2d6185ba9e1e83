//! What comes from the network and from users: frames of the standby's protocol, traces.

use bytes::Bytes;
use sardonyx_workload::reference::{Access, PageNumber, PageReference, Transaction};
use sardonyx_workload::trace::{Form, Header, Partition, Trace};

use crate::{Target, reseal};

pub(super) const STANDBY: Target = Target {
    name: "standby",
    what: "a frame between a primary and its standby",
    seeds: sardonyx_standby::fuzzing::frames,
    run: |input| {
        let decode = |bytes: &[u8]| {
            if let Some(again) = sardonyx_standby::fuzzing::decode(Bytes::copy_from_slice(bytes)) {
                assert!(again.len() <= bytes.len() + 64);
            }
        };
        decode(input);
        let mut bytes = input.to_vec();
        reseal::frame(&mut bytes);
        decode(&bytes);
    },
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

/// Reads a whole trace; what was read is written and reads back as the same.
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
