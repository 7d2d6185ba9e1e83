//! `copies:KEEPER;COPY;COPY`, as users write it: the place that keeps the register, then the places that have the log.

use sardonyx_storage::remote_log::store::StoreError;

/// The parts of a place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Spelling {
    /// The place that keeps the register.
    pub keeper: String,
    /// The places that have the log, at least two.
    pub copies: Vec<String>,
}

/// The most places that have the log.
const COPIES_MAX: usize = 8;

/// The fewest.
pub(super) const COPIES_LEAST: usize = 2;

/// The most bytes of one of them.
pub(super) const COPY_BYTES_MAX: usize = 1 << 10;

/// The reason for which this is no place that can have the log, if there is one.
fn fault_of(copy: &str) -> Option<String> {
    let is_part = |char: char| char.is_whitespace() || char.is_control() || char == ';';
    let reason = match copy {
        "" => "is empty".into(),
        _ if copy.len() > COPY_BYTES_MAX => {
            format!("is no place that can have the log: it has more than {COPY_BYTES_MAX} bytes")
        }
        _ if copy.starts_with("etcd:") || copy.starts_with("etcds:") => {
            "is no place that can have the log: etcd keeps registers alone; it may be the keeper, which is named first"
                .into()
        }
        _ if copy.starts_with("copies:") || copy.contains(is_part) => {
            "is no place that can have the log: it is a copies: itself, or has a space, a control character or a \
             semicolon"
                .into()
        }
        _ => return None,
    };
    Some(reason)
}

impl Spelling {
    pub fn place(&self) -> String {
        format!("copies:{};{}", self.keeper, self.copies.join(";"))
    }

    /// One place that is to have the log, exactly as it is spelled.
    ///
    /// # Errors
    /// [`StoreError::Place`], which does not show it.
    pub fn check_copy(copy: &str) -> Result<(), StoreError> {
        match fault_of(copy) {
            None => Ok(()),
            Some(reason) => Err(StoreError::Place {
                place: "the place to add".into(),
                reason: format!("it {reason}; name each place by an --add of its own"),
            }),
        }
    }

    /// Parses the part behind `copies:`.
    ///
    /// # Errors
    /// [`StoreError::Place`], which shows nothing of a part that may be a secret.
    pub fn parse(rest: &str) -> Result<Spelling, StoreError> {
        let wrong = |reason: String| StoreError::Place {
            place: "the place that begins with copies:".into(),
            reason,
        };
        let mut parts = rest.split(';').map(str::trim);
        let keeper = parts.next().unwrap_or_default();
        let copies: Vec<String> = parts.map(String::from).collect();
        if keeper.is_empty() || copies.iter().any(String::is_empty) {
            return Err(wrong(
                "a part is empty: give it the place that keeps the register, then those that have the log, as in \
                 'copies:s3://ledger/bank;tcp://host-1:7071;tcp://host-2:7071' (in quotes)"
                    .into(),
            ));
        }
        if !(COPIES_LEAST..=COPIES_MAX).contains(&copies.len()) {
            return Err(wrong(format!(
                "after the place that keeps the register it has {} places for the log, and needs {COPIES_LEAST} to {COPIES_MAX}",
                copies.len()
            )));
        }
        for (nth, copy) in copies.iter().enumerate() {
            if let Some(reason) = fault_of(copy) {
                return Err(wrong(format!("copy {} {reason}", nth + 1)));
            }
            if copy == keeper || copies.iter().take(nth).any(|before| before == copy) {
                return Err(wrong(format!(
                    "copy {} is named twice; each copy, and the register, needs a place of its own",
                    nth + 1
                )));
            }
        }
        match keeper.starts_with("copies:") {
            true => Err(wrong(
                "the register cannot be kept by a copies: place".into(),
            )),
            false => Ok(Spelling {
                keeper: keeper.into(),
                copies,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_taken_apart_and_malformed_ones_are_refused_by_name() {
        let spelling = Spelling::parse(
            "nats://a,b/S; tcp://h:1;file:/x y"
                .replace(" y", "")
                .as_str(),
        );
        let spelling = spelling.unwrap();
        assert_eq!(spelling.keeper, "nats://a,b/S");
        assert_eq!(spelling.copies, ["tcp://h:1", "file:/x"]);
        for (rest, says) in [
            ("", "a part is empty"),
            ("file:/k", "0 places for the log"),
            ("file:/k;tcp://h:1", "1 places for the log"),
            ("file:/k;tcp://h:1;", "a part is empty"),
            ("file:/k;tcp://h:1;tcp://h:1", "copy 2 is named twice"),
            ("file:/k;file:/k;tcp://h:1", "copy 1 is named twice"),
            ("copies:x;tcp://h:1;tcp://h:2", "register cannot be kept"),
            ("file:/k;copies:y;tcp://h:2", "copy 1 is no place"),
            ("file:/k;file:/a\u{7};tcp://h:2", "copy 1 is no place"),
            ("file:/k;etcd://h/x;tcp://h:2", "etcd keeps registers alone"),
            ("k;1;2;3;4;5;6;7;8;9", "9 places for the log"),
        ] {
            let error = Spelling::parse(rest).unwrap_err();
            assert!(matches!(error, StoreError::Place { .. }), "{error}");
            assert!(error.to_string().contains(says), "{rest}: {error}");
        }
    }
}
