//! Both forms of a trace: written traces are read, and damage is found and never a panic.

use proptest::prelude::*;
use sardonyx_base::crc32c;
use sardonyx_workload::reference::{Access, PageNumber, PageReference, Transaction};
use sardonyx_workload::trace::{
    Fault, Form, Header, MAX_REFERENCES, Partition, Place, Trace, TraceError, TraceReader,
};

fn header(types: u16, sizes: &[u64]) -> Header {
    let types = (0..types).map(|number| format!("type-{number}")).collect();
    let partitions = sizes.iter().enumerate().map(|(number, &pages)| {
        let name = format!("file_{number}");
        Partition { name, pages }
    });
    Header::new(4096, types, partitions.collect()).unwrap()
}

fn reference(partition: u16, page: u32, access: Access) -> PageReference {
    let page = PageNumber::new(partition, page);
    PageReference { page, access }
}

/// A small trace that has everything: several types, an empty transaction, the first and the last
/// page, and a partition left and met again.
fn sample() -> Trace {
    use Access::{Read, Write};
    let mut trace = Trace::new(header(3, &[10, 1 << 32, 500]));
    let lists: [&[(u16, u32, Access)]; 4] = [
        &[
            (0, 3, Read),
            (1, u32::MAX, Write),
            (1, 0, Read),
            (0, 9, Read),
        ],
        &[],
        &[(2, 499, Write), (2, 499, Read), (2, 0, Read)],
        &[(0, 0, Read)],
    ];
    for (number, list) in lists.iter().enumerate() {
        let references = list
            .iter()
            .map(|&(file, page, access)| reference(file, page, access));
        trace
            .push(&Transaction {
                kind: number as u16 % 3,
                references: references.collect(),
            })
            .unwrap();
    }
    trace
}

fn encoded(trace: &Trace, form: Form) -> Vec<u8> {
    trace.write(form, Vec::new(), "memory").unwrap()
}

fn decoded(bytes: &[u8]) -> Result<Trace, TraceError> {
    Trace::read(bytes, "memory")
}

fn fault_of(bytes: &[u8]) -> (Place, Fault) {
    match decoded(bytes) {
        Err(TraceError::Wrong { file, place, fault }) => {
            assert_eq!(file, "memory");
            (place, fault)
        }
        other => panic!("not refused as wrong: {other:?}"),
    }
}

/// The text of `docs/trace-format.md` between a line of three backticks and the next, if it starts so.
fn documented(start: &str) -> &'static str {
    let mut blocks = include_str!("../../../../docs/trace-format.md").split("```\n");
    blocks.find(|block| block.starts_with(start)).unwrap()
}

#[test]
fn the_documented_example_is_what_is_written_and_read() {
    let partition = |name: &str, pages| Partition {
        name: name.into(),
        pages,
    };
    let partitions = vec![partition("p", 300), partition("q", 2)];
    let mut trace = Trace::new(Header::new(4096, vec!["t".into()], partitions).unwrap());
    let mut transaction = Transaction::new(0);
    transaction.references.push(reference(0, 200, Access::Read));
    transaction.references.push(reference(1, 1, Access::Write));
    transaction.references.push(reference(1, 0, Access::Read));
    trace.push(&transaction).unwrap();
    let text = documented("sardonyx-trace 1\n");
    assert_eq!(encoded(&trace, Form::Text), text.as_bytes());
    assert_eq!(decoded(text.as_bytes()).unwrap(), trace);
    let dump = documented("00000000  ")
        .lines()
        .flat_map(|line| line.split_whitespace().skip(1));
    let bytes: Vec<u8> = dump
        .map(|byte| u8::from_str_radix(byte, 16).unwrap())
        .collect();
    assert_eq!(encoded(&trace, Form::Binary), bytes);
    assert_eq!(decoded(&bytes).unwrap(), trace);
}

#[test]
fn the_text_form_has_a_line_for_each_run_of_accesses() {
    let text = String::from_utf8(encoded(&sample(), Form::Text)).unwrap();
    let (body, end) = text.split_at(text.find("end").unwrap());
    assert_eq!(
        body,
        "sardonyx-trace 1\npage-bytes 4096\ntype type-0\ntype type-1\ntype type-2\n\
         partition file_0 10\npartition file_1 4294967296\npartition file_2 500\n\
         transaction type-0\nr file_0 3\nw file_1 4294967295\nr file_1 0\nr file_0 9\n\
         transaction type-1\ntransaction type-2\nw file_2 499\nr file_2 499 0\n\
         transaction type-0\nr file_0 0\n"
    );
    assert_eq!(
        end,
        format!("end 4 8 {:08x}\n", crc32c::crc32c(body.as_bytes()))
    );
}

#[test]
fn each_form_is_told_by_its_start_and_converts_into_the_other() {
    for form in [Form::Binary, Form::Text] {
        let bytes = encoded(&sample(), form);
        assert_eq!(TraceReader::new(&bytes[..], "x").unwrap().form(), form);
        let read = decoded(&bytes).unwrap();
        assert_eq!(read, sample());
        assert_eq!(encoded(&read, form), bytes);
    }
}

#[test]
fn a_flipped_byte_is_found_or_changes_nothing() {
    for form in [Form::Binary, Form::Text] {
        let bytes = encoded(&sample(), form);
        let mut found = 0;
        for place in 0..bytes.len() {
            for flip in [1, 0x10, 0x80, 0xff] {
                let mut damaged = bytes.clone();
                damaged[place] ^= flip;
                match decoded(&damaged) {
                    Ok(read) => {
                        assert_eq!(form, Form::Text, "byte {place} ^ {flip:#x} went unseen");
                        assert_eq!(read, sample(), "byte {place} ^ {flip:#x}");
                    }
                    Err(error) => {
                        assert!(error.is_damage(), "byte {place} ^ {flip:#x}: {error}");
                        found += 1;
                    }
                }
            }
        }
        // In the text a blank may become another, and the end of the last line go.
        assert!(
            found + 8 >= bytes.len() * 4,
            "{form:?}: {found} of {}",
            bytes.len() * 4
        );
    }
}

#[test]
fn a_trace_cut_off_anywhere_is_found() {
    for form in [Form::Binary, Form::Text] {
        let bytes = encoded(&sample(), form);
        for length in 0..bytes.len() {
            match decoded(&bytes[..length]) {
                Err(error) => assert!(error.is_damage(), "{length}: {error}"),
                Ok(read) => {
                    // The text's last line without its checksum, or without its line feed.
                    assert!(form == Form::Text && read == sample(), "{length} bytes");
                }
            }
        }
        let mut longer = bytes;
        longer.extend(b"x\n");
        assert_eq!(fault_of(&longer).1, Fault::Behind, "{form:?}");
    }
}

#[test]
fn frames_that_are_missing_doubled_or_exchanged_are_found() {
    // 60,000 references of three bytes or so: several frames.
    let mut trace = Trace::new(header(1, &[1 << 20]));
    let page = |number: u32| number.wrapping_mul(2_654_435_761) >> 12;
    let references = (0..60_000).map(|number| reference(0, page(number), Access::Read));
    let references = references.collect();
    trace
        .push(&Transaction {
            kind: 0,
            references,
        })
        .unwrap();
    let bytes = encoded(&trace, Form::Binary);
    assert_eq!(decoded(&bytes).unwrap(), trace);
    let mut frames = Vec::new();
    let mut rest = &bytes[12..];
    while !rest.is_empty() {
        let length = u32::from_le_bytes(rest[..4].try_into().unwrap()) as usize;
        let (frame, later) = rest.split_at(8 + length);
        frames.push(frame);
        rest = later;
    }
    assert!(frames.len() >= 4, "{} frames", frames.len());
    let orders: [&[usize]; 4] = [&[0, 2], &[0, 1, 1, 2], &[1, 0, 2], &[0]];
    for order in orders {
        let mut other = bytes[..12].to_vec();
        order.iter().for_each(|&frame| other.extend(frames[frame]));
        other.extend(frames[frames.len() - 1]);
        let (_, fault) = fault_of(&other);
        assert!(
            matches!(fault, Fault::Checksum { .. }),
            "{order:?}: {fault}"
        );
    }
}

/// A binary trace whose frames are right around any bytes.
fn framed(payload: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93SDXTRC\n\x01\0\0\0".to_vec();
    let frames = payload.chunks(1 << 16).chain([&[][..]]);
    for (number, payload) in frames.enumerate() {
        let checksum = crc32c::crc32c(&(number as u64).to_le_bytes());
        bytes.extend((payload.len() as u32).to_le_bytes());
        bytes.extend(crc32c::crc32c_append(checksum, payload).to_le_bytes());
        bytes.extend(payload);
    }
    bytes
}

#[test]
fn what_a_right_checksum_covers_is_checked_too() {
    let header = b"\x80\x20\x01\x01t\x01\x01p\x0a";
    let with = |more: &[u8]| [&header[..], more].concat();
    let range = |what, found, least, most| Fault::Range {
        what,
        found,
        least,
        most,
    };
    let references = 1 << 22;
    let page = |page: i64| Fault::Page {
        partition: "p".into(),
        page: page as u64,
        pages: 10,
    };
    // Offset 20 is the first byte of the payload.
    for (payload, offset, fault) in [
        (with(&[2, 0]), 29, range("the type and one", 2, 0, 1)),
        (
            with(&[1, 0x81, 0x80, 0x80, 0x02]),
            30,
            range("the number of references", references + 1, 0, references),
        ),
        (with(&[1, 1, 10 << 3 | 2]), 31, page(10)),
        (with(&[1, 1, 1 << 2 | 2]), 31, page(-1)),
        (with(&[1, 1, 0, 1]), 32, range("the partition", 1, 0, 0)),
        (
            with(&[1, 0x80, 0]),
            30,
            Fault::Varint {
                what: "the number of references",
            },
        ),
        (
            with(&[0, 1, 0]),
            30,
            Fault::Count {
                what: "transactions",
                found: 1,
                expected: 0,
            },
        ),
        (
            with(&[0, 0, 5]),
            31,
            Fault::Count {
                what: "references",
                found: 5,
                expected: 0,
            },
        ),
        (
            vec![0x80, 0x20, 0],
            22,
            range("the number of types", 0, 1, 4096),
        ),
        (
            vec![0x80, 0x20, 1, 65],
            23,
            range("a name's length", 65, 1, 64),
        ),
        (
            b"\x80\x20\x01\x01 ".to_vec(),
            23,
            Fault::Name { found: " ".into() },
        ),
        (with(&[0, 0, 0, 0]), 32, Fault::Behind),
    ] {
        assert_eq!(
            fault_of(&framed(&payload)),
            (Place::Offset(offset), fault),
            "{payload:x?}"
        );
    }
}

#[test]
fn a_claim_of_many_references_allocates_nothing_before_they_come() {
    // The most references claimed, none there: cut off, in no time and no memory.
    let payload = b"\x80\x20\x01\x01t\x01\x01p\x0a\x01\x80\x80\x80\x02";
    assert!(matches!(fault_of(&framed(payload)).1, Fault::CutOff { .. }));
    let mut transaction = Transaction::default();
    let bytes = framed(payload);
    let mut reader = TraceReader::new(&bytes[..], "claim").unwrap();
    assert!(reader.read_into(&mut transaction).is_err());
    assert_eq!(transaction.references.capacity(), 0);
}

#[test]
fn every_wrong_line_is_named_with_what_would_be_right() {
    let good = "sardonyx-trace 1\npage-bytes 4096 # a comment\n\ntype t\npartition p 10\n\
                transaction t\nr p 1\nend 1 1\n";
    assert!(decoded(good.as_bytes()).is_ok());
    for (old, new, line, said) in [
        ("sardonyx-trace 1", "sardonyx-trace 2", 1, "reads version 1"),
        ("sardonyx-trace 1", "something", 0, "this is no trace"),
        (
            "4096",
            "0",
            2,
            "the page size in bytes is 0: allowed is 1 to 1073741824",
        ),
        (
            "page-bytes 4096",
            "pages 4096",
            2,
            "\"pages\" is not expected here",
        ),
        (
            "page-bytes 4096",
            "",
            6,
            "a line \"page-bytes\" before this one",
        ),
        ("type t\n", "type t t\n", 4, "the end of the line is"),
        (
            "type t\n",
            "type t\ntype t\n",
            7,
            "the type \"t\" exists already",
        ),
        ("type t\n", "type t$\n", 4, "\"t$\" is no name"),
        ("p 10", "p 4294967297", 5, "allowed is 1 to 4294967296"),
        (
            "p 10",
            "p ten",
            5,
            "\"ten\" is not expected here: a decimal number",
        ),
        ("p 10", "p +1", 5, "\"+1\" is not expected here"),
        (
            "transaction t",
            "transaction u",
            6,
            "there is no type \"u\"",
        ),
        ("r p 1", "r q 1", 7, "there is no partition \"q\""),
        (
            "r p 1",
            "r p 10",
            7,
            "page 10 of partition \"p\" does not exist: it has 10 pages",
        ),
        ("r p 1", "r p", 7, "a page number is"),
        ("r p 1", "x p 1", 7, "\"transaction\" or \"end\" is"),
        (
            "end 1 1",
            "end 2 1",
            8,
            "counts 2 transactions where the trace has 1",
        ),
        (
            "end 1 1",
            "end 1 2",
            8,
            "counts 2 references where the trace has 1",
        ),
        (
            "end 1 1",
            "end 1 1 00000000",
            8,
            "remove the checksum from the last line",
        ),
        ("end 1 1", "end 1 1 xyz", 8, "a checksum of 8 hex digits"),
        ("end 1 1\n", "", 7, "which a line \"end\" closes"),
        ("end 1 1\n", "end 1 1\nr p 1\n", 9, "bytes behind the end"),
    ] {
        let error = decoded(good.replacen(old, new, 1).as_bytes())
            .unwrap_err()
            .to_string();
        assert!(error.contains(said), "{new:?}: {error}");
        let place = format!("memory, in line {line}:");
        assert!(line == 0 || error.starts_with(&place), "{new:?}: {error}");
    }
    let long = good.replace("r p 1", &format!("r p{}", " 1".repeat(2_100)));
    assert!(
        decoded(long.as_bytes())
            .unwrap_err()
            .to_string()
            .contains("more than 4096 bytes")
    );
}

#[test]
fn a_trace_refuses_what_it_cannot_hold() {
    let mut trace = sample();
    let before = trace.clone();
    let with = |kind, references| Transaction { kind, references };
    for (transaction, said) in [
        (with(3, vec![]), "the type is 3: allowed is 0 to 2"),
        (
            with(0, vec![reference(3, 0, Access::Read)]),
            "the partition is 3",
        ),
        (
            with(0, vec![reference(0, 10, Access::Read)]),
            "page 10 of partition \"file_0\"",
        ),
        (
            with(0, vec![reference(0, 0, Access::Append)]),
            "an append has none",
        ),
        (
            with(0, vec![reference(0, 0, Access::Read); MAX_REFERENCES + 1]),
            "the number of references is 4194305",
        ),
    ] {
        let error = trace.push(&transaction).unwrap_err().to_string();
        assert!(
            error.contains(said) && error.contains("in transaction 4"),
            "{error}"
        );
    }
    assert_eq!(trace, before);
}

fn traces() -> impl Strategy<Value = Trace> {
    let sizes = prop::collection::vec(1u64..=1 << 32, 1..6);
    (1u16..6, sizes).prop_flat_map(|(types, sizes)| {
        let count = sizes.len() as u16;
        let one = (0..count, any::<u32>(), any::<bool>());
        let references = prop::collection::vec(one, 0..60);
        let transactions = prop::collection::vec((0..types, references), 0..20);
        transactions.prop_map(move |transactions| {
            let mut trace = Trace::new(header(types, &sizes));
            for (kind, list) in transactions {
                let references = list.into_iter().map(|(file, page, write)| {
                    let page = (u64::from(page) % sizes[usize::from(file)]) as u32;
                    let access = if write { Access::Write } else { Access::Read };
                    reference(file, page, access)
                });
                let references = references.collect();
                trace.push(&Transaction { kind, references }).unwrap();
            }
            trace
        })
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read(trace in traces()) {
        for form in [Form::Binary, Form::Text] {
            prop_assert_eq!(&decoded(&encoded(&trace, form)).unwrap(), &trace);
        }
    }

    #[test]
    fn any_bytes_end_in_a_trace_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = decoded(&bytes);
        // Behind right checksums and behind a right first line.
        if let Ok(trace) = decoded(&framed(&bytes)) {
            prop_assert_eq!(encoded(&trace, Form::Binary), framed(&bytes));
        }
        let _ = decoded(&[b"sardonyx-trace 1\n", &bytes[..]].concat());
    }

    #[test]
    fn damaged_content_behind_right_checksums_is_an_error_or_a_valid_trace(
        trace in traces(), place: prop::sample::Index, flip in 1u8..,
    ) {
        let bytes = encoded(&trace, Form::Binary);
        let length = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
        let mut payload = bytes[20..20 + length].to_vec();
        let place = place.index(payload.len());
        payload[place] ^= flip;
        match decoded(&framed(&payload)) {
            Ok(read) => prop_assert_eq!(encoded(&read, Form::Binary), framed(&payload)),
            Err(error) => prop_assert!(error.is_damage()),
        }
    }
}
