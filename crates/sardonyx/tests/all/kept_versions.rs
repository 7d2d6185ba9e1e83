//! An older database opens: a kept one of each version of the files, which programs of those days made.
//!
//! The example `bank` made versions 1 to 3, as it was at the last commit of each version. It had 20 coffees in the
//! place of a thousand. Version 4 is debit-credit's (`columns`). Version 5 has rows of SQL and Redis, compacted; the
//! tests of the command (`crates/cli/tests/all/kept_databases.rs`) read it, too.

use crate::kept::{pack, unpack};
use sardonyx::{Error, Journal, Tables, record};
use sardonyx_storage::manifest::FORMAT_VERSION;
use std::fs;
use std::path::{Path, PathBuf};

record! {
    #[table("accounts", key = number)]
    struct Account {
        number: u64,
        cents: i64,
    }
}

record! {
    #[journal("entries")]
    struct Entry {
        from: u64,
        to: u64,
        cents: i64,
    }
}

/// The kept database of each version, from 1 on.
const KEPT: [&[u8]; 5] = [
    include_bytes!("data/version-1"),
    include_bytes!("data/version-2"),
    include_bytes!("data/version-3"),
    include_bytes!("data/version-0.1"),
    include_bytes!("data/version-5"),
];

/// Unpacks the kept database of a version, which its manifest must have.
fn kept(version: usize, directory: &Path) -> PathBuf {
    let path = directory.join("kept.sdx");
    unpack(KEPT[version - 1], &path);
    assert_eq!(written_version(&path), version);
    path
}

/// The version in a manifest.
fn written_version(path: &Path) -> usize {
    let manifest = fs::read_to_string(path.join("MANIFEST")).unwrap();
    let first = manifest.lines().next().unwrap();
    let version = first.strip_prefix("format_version = ").unwrap();
    version.parse().unwrap()
}

#[test]
fn a_bank_of_versions_1_to_3_opens_with_all_its_rows_and_goes_on() {
    for version in 1..=3 {
        let directory = tempfile::tempdir().unwrap();
        let path = kept(version, directory.path());
        for coffee in [0, 1] {
            let bank = Tables::open(&path).unwrap();
            let accounts = bank.table::<Account>().unwrap();
            let cents = |number| {
                let account =
                    bank.read(|view| Ok(view.get(accounts, number)?.map(|one| one.cents)));
                account.unwrap()
            };
            let found = [1, 2, 3, 4].map(cents);
            let expected = [
                Some(998_750),
                Some(1_001_230 - coffee),
                Some(1_000_020 + coffee),
                None,
            ];
            assert_eq!(found, expected, "version {version}");
            let entries: Journal<Entry> = bank.journal().unwrap();
            let mut moved = Vec::new();
            bank.journal_rows(entries, |entry| {
                moved.push((entry.from, entry.to, entry.cents));
                true
            })
            .unwrap();
            // The lunch, and the coffees.
            let mut booked = vec![(1, 2, 1_250)];
            booked.extend(vec![(2, 3, 1); 20 + coffee as usize]);
            assert_eq!(moved, booked, "version {version}");
            let done: Result<(), Error> = bank.run(|tx| {
                tx.update(accounts, 2, |account| account.cents -= 1)?;
                tx.update(accounts, 3, |account| account.cents += 1)?;
                tx.append(
                    entries,
                    &Entry {
                        from: 2,
                        to: 3,
                        cents: 1,
                    },
                )
            });
            done.unwrap();
            bank.close().unwrap();
        }
        assert_eq!(written_version(&path), 4, "as docs/format.md says");
    }
}

#[test]
fn every_version_of_the_files_has_a_kept_database_that_opens() {
    // A new version: keep a database of it here, made by `keep_a_database`.
    assert_eq!(KEPT.len(), FORMAT_VERSION as usize);
    for version in 1..=KEPT.len() {
        let directory = tempfile::tempdir().unwrap();
        let path = kept(version, directory.path());
        let tables = Tables::open(&path).unwrap();
        let count = tables.read(|view| Ok(view.definitions().len())).unwrap();
        assert!(count >= 2, "version {version}");
        tables.close().unwrap();
    }
}

#[test]
fn a_later_version_is_refused_by_its_number_and_nothing_is_changed() {
    let directory = tempfile::tempdir().unwrap();
    let path = kept(5, directory.path());
    let manifest = path.join("MANIFEST");
    let text = fs::read_to_string(&manifest).unwrap();
    let later = FORMAT_VERSION + 1;
    let head = format!("format_version = {FORMAT_VERSION}\n");
    let text = text.replacen(&head, &format!("format_version = {later}\n"), 1);
    // The checksum of the lines before is the last one.
    let lines = &text[..text.trim_end().rfind('\n').unwrap() + 1];
    let sealed = format!(
        "{lines}checksum = {:08x}\n",
        sardonyx_base::crc32c::crc32c(lines.as_bytes())
    );
    fs::write(&manifest, &sealed).unwrap();
    let refused = Tables::open(&path).unwrap_err().to_string();
    assert!(refused.contains(&later.to_string()), "{refused}");
    assert_eq!(fs::read_to_string(&manifest).unwrap(), sealed);
}

#[test]
fn a_packed_database_unpacks_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("bank.sdx");
    let bank = Tables::open(&path).unwrap();
    let accounts = bank.table::<Account>().unwrap();
    let done: Result<(), Error> = bank.run(|tx| {
        tx.insert(
            accounts,
            &Account {
                number: 7,
                cents: 8,
            },
        )
    });
    done.unwrap();
    bank.close().unwrap();
    let packed = pack(&path);
    assert!(packed.len() < 16 << 10, "{} bytes", packed.len());
    let again = directory.path().join("again.sdx");
    unpack(&packed, &again);
    let bank = Tables::open(&again).unwrap();
    let accounts = bank.table::<Account>().unwrap();
    let cents = bank.read(|view| Ok(view.get(accounts, 7)?.map(|one| one.cents)));
    assert_eq!(cents.unwrap(), Some(8));
    bank.close().unwrap();
}

/// Packs a closed database, to be kept (docs/testing.md); without its variables it ends at once.
#[test]
#[ignore = "writes a file"]
fn keep_a_database() {
    let named = |name| std::env::var_os(name).map(PathBuf::from);
    if let (Some(from), Some(to)) = (named("SARDONYX_KEEP"), named("SARDONYX_KEPT")) {
        fs::write(to, pack(&from)).unwrap();
    }
}
