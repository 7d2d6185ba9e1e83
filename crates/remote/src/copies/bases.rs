//! Bases that a copy in the set lacks. A copy that was restored to a moment before a base was made has the same entries as
//! the others, so their comparison ([`ends`](super::ends)) does not show it. Once the log before the base is deleted, no
//! database can be made of that copy alone.
//!
//! A process may be making or deleting a base meanwhile. So a copy that seems to lack one is asked once more, and then the
//! copy that has it.

use super::life::Life;
use super::members::{Members, Wait};
use super::record::SetRecord;
use sardonyx_storage::remote_log::base::{BaseName, list_bases};
use std::fmt;
use std::sync::Arc;

/// A base that one copy of a set lacks, and another one has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LackingBase {
    /// The copy's place.
    pub place: String,
    /// The number of the first entry that is not in the base.
    pub next_entry: u64,
    /// The place of a copy that has the base.
    pub at: String,
}

impl fmt::Display for LackingBase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LackingBase {
            place,
            next_entry,
            at,
        } = self;
        write!(
            f,
            "the copy {place} lacks the base before entry {next_entry}, which {at} has: it was restored from a backup, or the \
             base is made or deleted at this moment. If the next look shows this, too, have the copy filled: `sardonyx store \
             copies PLACE --remove {place}`, and then `--add {place}`"
        )
    }
}

/// A whole base, and its bytes.
type Base = (BaseName, u64);

/// The whole bases of a copy, if it answers.
fn bases_of(life: &Life) -> Option<Vec<Base>> {
    list_bases(life).ok().map(|listed| listed.whole)
}

/// The bases that copies in the set lack, as far as they answer.
pub(super) fn lacking_bases(members: &Members, record: &SetRecord) -> Vec<LackingBase> {
    let mut copies: Vec<(&str, Arc<Life>, Vec<Base>)> = Vec::new();
    for copy in record.in_sync() {
        let member = members.get(record, copy, Wait::Short);
        if let Ok(member) = member
            && let Some(bases) = bases_of(&member)
        {
            copies.push((&copy.place, member, bases));
        }
    }
    let mut lacking: Vec<LackingBase> = Vec::new();
    for (place, member, has) in &copies {
        for (at, other, bases) in &copies {
            for base in bases.iter().filter(|base| !has.contains(base)) {
                let is_known = |lacking: &LackingBase| {
                    lacking.place == *place && lacking.next_entry == base.0.next_entry
                };
                let has_it = |life: &Life| bases_of(life).map(|bases| bases.contains(base));
                if !lacking.iter().any(is_known)
                    && has_it(member) == Some(false)
                    && has_it(other) == Some(true)
                {
                    lacking.push(LackingBase {
                        place: (*place).into(),
                        next_entry: base.0.next_entry,
                        at: (*at).into(),
                    });
                }
            }
        }
    }
    lacking
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::copies::sites::Sites;
    use crate::copies::tests::Host;
    use sardonyx_storage::remote_log::objects::RemoteObjects;

    fn store_base(host: &Host, next_entry: u64) -> BaseName {
        let base = BaseName { next_entry, by: 7 };
        for name in [base.part(0), base.head()] {
            host.copies.create_object(&name, b"bytes").unwrap();
        }
        base
    }

    fn lacking(host: &Host, sites: &Sites) -> Vec<(String, u64)> {
        let lacking = lacking_bases(&host.copies.members, &sites.record());
        let lacking = lacking.into_iter();
        lacking.map(|one| (one.place, one.next_entry)).collect()
    }

    #[test]
    fn a_copy_that_was_restored_to_a_moment_before_a_base_is_shown_until_it_is_filled() {
        let sites = Sites::new(&["a", "b", "c"]);
        let host = Host::new(&sites);
        host.appends(1, "one");
        store_base(&host, 2);
        let backup = sites.backup("b");
        let base = store_base(&host, 2_000);
        assert_eq!(lacking(&host, &sites), []);
        sites.restore("b", &backup);
        assert_eq!(lacking(&host, &sites), [("b".into(), 2_000)]);
        let shown = &lacking_bases(&host.copies.members, &sites.record())[0];
        assert!(shown.to_string().contains("--remove b"), "{shown}");
        // A copy that gives no answer says nothing, and needs another look.
        host.cut(&["b"]);
        assert_eq!(lacking(&host, &sites), []);
        host.cut(&[]);
        host.change(&[], &["b"]).unwrap();
        host.change(&["b"], &[]).unwrap();
        host.maintain();
        assert_eq!(sites.in_sync().len(), 3);
        assert_eq!(lacking(&host, &sites), []);
        let read = host.copies.read_object(&base.head()).unwrap();
        assert_eq!(read.as_deref(), Some(&b"bytes"[..]));
    }

    /// One that is made while the copies are asked, from the first one on, is on all of them when they are asked again.
    #[test]
    fn a_base_that_is_made_or_deleted_at_that_moment_is_not_lacking() {
        let sites = Sites::new(&["a", "b", "c"]);
        let host = Host::new(&sites);
        host.appends(1, "one");
        let other = Host::new(&sites);
        let made = move || {
            store_base(&other, 2);
        };
        host.net.then.set("a", made);
        assert_eq!(lacking(&host, &sites), []);
        let other = Host::new(&sites);
        let deleted = move || {
            let base = BaseName {
                next_entry: 2,
                by: 7,
            };
            let names = [base.head(), base.part(0)];
            other.copies.remove_objects(&names).unwrap();
        };
        host.net.then.set("a", deleted);
        assert_eq!(lacking(&host, &sites), []);
    }
}
