//! The wish of a person that another host serves: `promote`, `drain`. Without I/O.
//!
//! Its replacement of the register may be done without an answer, or may conflict with a sign of the serving host. Then
//! it is made again, of the register as that is by now. If the hand-over that it asked for has happened meanwhile, it is
//! not repeated: the next host would be drained, too. The next host may be the same one, if no other came. Its process has
//! another number in each term.

use super::{ANY_OTHER, Primary, Replacement};
use crate::remote_log::RemoteLogError;
use crate::remote_log::store::StoredRegister;

/// A wish that a host of this name serves, or [`ANY_OTHER`].
#[derive(Debug)]
pub struct Wish {
    identity: u64,
    to: String,
    /// The first record of a serving host on which the wish was put.
    put_on: Option<Primary>,
}

/// The next act for a wish.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Wished {
    /// No host ever served.
    NoHost,
    /// The register is to be replaced so.
    Put(Replacement),
    /// A host serves that is as wanted.
    Done,
}

impl Wish {
    /// A wish for the database of this identity.
    pub fn new(identity: u64, to: &str) -> Wish {
        Wish {
            identity,
            to: to.into(),
            put_on: None,
        }
    }

    /// The next act after the register was read.
    ///
    /// # Errors
    /// The record is damaged, or another database's.
    pub fn found(&mut self, stored: Option<&StoredRegister>) -> Result<Wished, RemoteLogError> {
        let Some(record) = Primary::decode(self.identity, stored)? else {
            return Ok(Wished::NoHost);
        };
        let put_on = self.put_on.as_ref();
        let is_as_wanted = match &*self.to {
            ANY_OTHER => put_on.is_some_and(|of| !is_term_of(of, &record)),
            // A wish that it has by now is a later one, of another person.
            wanted => record.host == wanted && (record.wanted.is_none() || put_on.is_some()),
        };
        if is_as_wanted && !record.released {
            return Ok(Wished::Done);
        }
        // A host that comes after a released record has not seen the wish, if that met the host's claim.
        if !record.released {
            self.put_on.get_or_insert_with(|| record.clone());
        }
        Ok(Wished::Put(Replacement {
            expected: stored.map(|stored| stored.version.clone()),
            record: Primary {
                wanted: Some(self.to.clone()),
                ..record
            },
        }))
    }
}

/// True if two records are of one term of a host's process.
fn is_term_of(one: &Primary, other: &Primary) -> bool {
    (&one.host, one.process) == (&other.host, other.process)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::remote_log::store::RegisterVersion;
    use std::time::Duration;

    fn stored(host: &str, released: bool, wanted: Option<&str>) -> StoredRegister {
        stored_of(1, host, released, wanted)
    }

    fn stored_of(process: u64, host: &str, released: bool, wanted: Option<&str>) -> StoredRegister {
        let record = Primary {
            identity: 7,
            host: host.into(),
            process,
            count: 1,
            wait: Duration::from_secs(2),
            released,
            wanted: wanted.map(String::from),
        };
        StoredRegister {
            bytes: record.encode().into(),
            version: RegisterVersion("1".into()),
        }
    }

    fn wanted(wish: &mut Wish, stored: &StoredRegister) -> Option<String> {
        match wish.found(Some(stored)).unwrap() {
            Wished::Put(replacement) => replacement.record.wanted,
            _ => None,
        }
    }

    #[test]
    fn a_wish_without_an_answer_is_repeated_until_another_host_serves_and_drains_that_no_more() {
        let mut drain = Wish::new(7, ANY_OTHER);
        assert_eq!(drain.found(None).unwrap(), Wished::NoHost);
        for found in [
            stored("a", false, None),
            stored("a", false, Some("*")),
            stored("a", true, Some("*")),
        ] {
            assert_eq!(wanted(&mut drain, &found).as_deref(), Some(ANY_OTHER));
        }
        let other = stored("b", false, None);
        assert_eq!(drain.found(Some(&other)).unwrap(), Wished::Done);
        // No other host came: the same process has begun another term.
        let mut drain = Wish::new(7, ANY_OTHER);
        let [before, after] = [1, 2].map(|process| stored_of(process, "a", false, None));
        assert_eq!(wanted(&mut drain, &before).as_deref(), Some(ANY_OTHER));
        assert_eq!(drain.found(Some(&after)).unwrap(), Wished::Done);
        // No host served at first, and one came before the wish was put.
        let mut drain = Wish::new(7, ANY_OTHER);
        for found in [&stored("a", true, None), &other] {
            assert_eq!(wanted(&mut drain, found).as_deref(), Some(ANY_OTHER));
        }
        let third = stored("c", false, None);
        assert_eq!(drain.found(Some(&third)).unwrap(), Wished::Done);
        // Another person's wish is another one.
        let mut again = Wish::new(7, ANY_OTHER);
        assert_eq!(wanted(&mut again, &other).as_deref(), Some(ANY_OTHER));
    }

    #[test]
    fn a_named_host_that_serves_is_not_asked_and_one_that_was_released_is() {
        let mut promote = Wish::new(7, "b");
        assert_eq!(
            wanted(&mut promote, &stored("a", false, None)).as_deref(),
            Some("b")
        );
        assert_eq!(
            wanted(&mut promote, &stored("b", true, None)).as_deref(),
            Some("b")
        );
        // Another host came, since that one could not: it is asked, too.
        let another = stored("c", false, None);
        assert_eq!(wanted(&mut promote, &another).as_deref(), Some("b"));
        // It is asked to hand over: that wish is the later one, unless this one was not put yet.
        let asked = stored("b", false, Some("a"));
        assert_eq!(promote.found(Some(&asked)).unwrap(), Wished::Done);
        let mut later = Wish::new(7, "b");
        assert_eq!(wanted(&mut later, &asked).as_deref(), Some("b"));
        let serves = stored("b", false, None);
        assert_eq!(promote.found(Some(&serves)).unwrap(), Wished::Done);
    }
}
