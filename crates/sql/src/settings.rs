//! A session's parameters, as `SET` and `SHOW` know them.

mod constraints;
mod known;
mod planner;
mod shown;
mod time;
mod values;

use crate::error::{SqlError, code};
use crate::names::DATABASE;
use crate::search_path::SearchPath;
use crate::values::intervals::IntervalStyle;
use crate::values::random::Generator;
use crate::values::zones::{DateOrder, SessionZone};
pub(crate) use constraints::ConstraintModes;
pub(crate) use known::SEARCH_CONFIG;
use known::{
    APPLICATION, AUTHORIZATION, CHECK_BODIES, DATE_STYLE, FIXED, FOLLOWS, IDLE,
    IDLE_IN_TRANSACTION, INTERVAL_STYLE, ISOLATION, KNOWN, LOCK_TIMEOUT, READ_ONLY, REPORTED, ROLE,
    SEARCH_PATH, STATEMENT_TIMEOUT, TIME_ZONE, USUAL_ISOLATION, USUAL_PATH, UTC,
};
pub(crate) use shown::ShownSetting;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// A session's parameters. A copy is cheap as long as neither changes.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Settings {
    /// `None` while all are the usual ones: each statement takes and leaves such settings without memory of their own.
    values: Option<Arc<SettingValues>>,
    changed: Vec<&'static str>,
}

/// The usual values.
static USUAL: LazyLock<SettingValues> = LazyLock::new(SettingValues::default);

#[derive(Clone, PartialEq, Debug, Default)]
struct SettingValues {
    /// The values to which `RESET` goes back, if they are not the usual ones.
    initial: BTreeMap<&'static str, String>,
    set: BTreeMap<&'static str, String>,
    /// The same of names with a point.
    initial_own: BTreeMap<String, String>,
    /// The earlier values of parameters that are set until the transaction's end only.
    before_local: BTreeMap<String, Option<String>>,
    /// The values of names with a point, which belong to programs.
    own: BTreeMap<String, String>,
    /// `SET CONSTRAINTS`, until the transaction's end.
    constraints: ConstraintModes,
    limits: Limits,
    path: Arc<SearchPath>,
    /// The schema of the session's temporary tables, once it has one.
    temporary: Option<Arc<str>>,
    /// True if a commit has an effect on one of them.
    ends_at_commit: bool,
    /// The generator of random numbers, once `setseed` has chosen one.
    generator: Option<Generator>,
    /// The name by which the session connected to the database, if it is another one than the usual.
    database: Option<Arc<str>>,
}

/// The values that each statement needs, parsed.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Limits {
    statement: Option<Duration>,
    lock: Option<Duration>,
    idle: Option<Duration>,
    idle_in_transaction: Option<Duration>,
    reads_only: bool,
}

impl SettingValues {
    /// A value that was set, or with which the session began.
    fn get(&self, name: &str) -> Option<&String> {
        self.set.get(name).or_else(|| self.initial.get(name))
    }

    /// Parses again the values that statements need: one was set.
    fn read_limits(&mut self) {
        let limit = |name: &str| {
            let limit = time::milliseconds(self.get(name)?).unwrap_or_default();
            (limit > 0).then(|| Duration::from_millis(limit))
        };
        self.limits = Limits {
            statement: limit(STATEMENT_TIMEOUT),
            lock: limit(LOCK_TIMEOUT),
            idle: limit(IDLE),
            idle_in_transaction: limit(IDLE_IN_TRANSACTION),
            reads_only: self.get(READ_ONLY).is_some_and(|usual| usual == "on"),
        };
        let path = self.get(SEARCH_PATH).map_or(USUAL_PATH, String::as_str);
        let user = self.get(AUTHORIZATION).map_or("", String::as_str);
        let zone = self.get(TIME_ZONE).filter(|name| *name != UTC);
        let zone = match (zone, self.path.zone()) {
            (Some(name), Some(there)) if there.name() == name => Some(there.clone()),
            (Some(name), _) => SessionZone::of_setting(name).and_then(|(_, zone)| zone),
            (None, _) => None,
        };
        let order = self.get(DATE_STYLE).map_or("", String::as_str);
        let style = self
            .get(INTERVAL_STYLE)
            .and_then(|name| IntervalStyle::named(name));
        let order = DateOrder::of_setting(order);
        let zone = SessionZone::written(zone, order, style.unwrap_or_default());
        let path = SearchPath::of(path, user, self.temporary.clone());
        let skips = self.get(CHECK_BODIES).is_some_and(|checks| checks == "off");
        let path = path.skipping_bodies(skips);
        let path = path.in_zone(zone).in_database(self.database.clone());
        if path != *self.path {
            self.path = Arc::new(path);
        }
    }

    /// Replaces a value, until the transaction's end or for good.
    fn put(&mut self, name: &str, value: Option<String>, local: bool) {
        let before = match (known(name), value) {
            (Some((name, _)), Some(value)) => self.set.insert(name, value),
            (Some((name, _)), None) => self.set.remove(name),
            (None, Some(value)) => self.own.insert(name.to_string(), value),
            (None, None) => self.own.remove(name),
        };
        match local {
            true => {
                self.before_local.entry(name.to_string()).or_insert(before);
            }
            false => {
                self.before_local.remove(name);
            }
        }
        self.read_limits();
    }
}

/// All parameters: those with an effect or with one value, and those of the planner.
fn all_known() -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    let planner = planner::PARAMETERS.iter().map(|one| &one.known);
    KNOWN.iter().chain(planner)
}

fn known(name: &str) -> Option<&'static (&'static str, &'static str)> {
    all_known().find(|(known, _)| known.eq_ignore_ascii_case(name))
}

/// True for a name with a point that no extension has: programs keep values under such names.
fn is_of_program(name: &str) -> bool {
    name.contains('.') && known(name).is_none()
}

fn unknown(name: &str) -> SqlError {
    SqlError::new(
        code::UNKNOWN_OBJECT,
        format!("unrecognized configuration parameter \"{name}\""),
    )
}

impl Settings {
    pub fn of_user(user: &str) -> Settings {
        let mut values = SettingValues::default();
        values.initial.insert(AUTHORIZATION, user.to_string());
        values.read_limits();
        Settings {
            values: Some(Arc::new(values)),
            changed: Vec::new(),
        }
    }

    /// The database has this name for the session.
    pub fn connect_to(&mut self, database: &str) {
        if !database.is_empty() && database != DATABASE {
            let values = self.values_mut();
            values.database = Some(database.into());
            values.read_limits();
        }
    }

    /// The name of the database: the one by which the session connected.
    pub fn database(&self) -> &str {
        let values = self.values.as_ref();
        let named = values.and_then(|values| values.database.as_deref());
        named.unwrap_or(DATABASE)
    }

    /// The defaults of a session that follows: its transactions only read.
    pub fn follow(&mut self) {
        let values = self.values_mut();
        for name in [FOLLOWS, READ_ONLY] {
            values.initial.insert(name, "on".to_string());
        }
        values.read_limits();
    }

    /// True if they are of a session that follows.
    pub fn follows(&self) -> bool {
        self.values().initial.contains_key(FOLLOWS)
    }

    /// Takes a value with which a client begins, to which `RESET` goes back.
    ///
    /// # Errors
    /// As [`Settings::set`].
    pub fn begin_with(&mut self, name: &str, value: &str) -> Result<(), SqlError> {
        if is_of_program(name) {
            let name = name.to_lowercase();
            let values = self.values_mut();
            values.own.insert(name.clone(), value.to_string());
            values.initial_own.insert(name, value.to_string());
            return Ok(());
        }
        let (name, value) = self.settable(name, value)?;
        let values = self.values_mut();
        values.initial.insert(name, value);
        values.read_limits();
        Ok(())
    }

    /// A parameter and a value that is valid for it.
    fn settable(&self, name: &str, value: &str) -> Result<(&'static str, String), SqlError> {
        let (name, _) = known(name).ok_or_else(|| unknown(name))?;
        let is_own = || self.get(name).is_ok_and(|own| own == value);
        if FIXED.contains(name) {
            return Err(SqlError::new(
                "55P02",
                format!("parameter \"{name}\" cannot be changed"),
            ));
        }
        if *name == AUTHORIZATION && !is_own() {
            return Err(SqlError::unsupported(
                "SET SESSION AUTHORIZATION is not supported",
            ));
        }
        if *name == ROLE && value != "none" && self.get(AUTHORIZATION)? != value {
            return Err(SqlError::unsupported(
                "SET ROLE to another user is not supported: a session has the user with whom it connected",
            ));
        }
        let mut value = checked(name, value)?;
        if *name == DATE_STYLE && !value.contains(',') {
            // A style without an order keeps the order.
            let now = self.get(DATE_STYLE).unwrap_or_default();
            let order = now.rsplit(", ").next().unwrap_or_default();
            value = format!("{value}, {order}");
        }
        if *name == READ_ONLY && value == "off" && self.follows() {
            return Err(SqlError::no_read_write());
        }
        Ok((name, value))
    }

    /// The time for which its client may be idle, in a transaction or outside.
    pub fn idle_limit(&self, in_transaction: bool) -> Option<Duration> {
        let limits = &self.values().limits;
        if in_transaction {
            limits.idle_in_transaction
        } else {
            limits.idle
        }
    }

    /// True if transactions only read by default.
    pub fn reads_only(&self) -> bool {
        self.values().limits.reads_only
    }

    /// True if the client wants messages of a level.
    pub fn wants_messages(&self, level: &str) -> bool {
        let least = self.get("client_min_messages").unwrap_or_default();
        let place = |level: &str| values::MESSAGES.iter().position(|known| *known == level);
        place(&level.to_ascii_lowercase()) >= place(&least)
    }

    /// True if these are the same in memory.
    pub fn is_same(&self, other: &Settings) -> bool {
        std::ptr::eq(self.values(), other.values())
    }

    /// The bytes of the values, about.
    pub fn bytes(&self) -> usize {
        const ENTRY: usize = 64;
        let values = self.values();
        let known = values.initial.values().chain(values.set.values());
        let own = values.own.iter();
        known.map(|value| ENTRY + value.len()).sum::<usize>()
            + own
                .map(|(name, value)| ENTRY + name.len() + value.len())
                .sum::<usize>()
    }

    fn values(&self) -> &SettingValues {
        self.values.as_deref().unwrap_or_else(|| &USUAL)
    }

    fn values_mut(&mut self) -> &mut SettingValues {
        Arc::make_mut(self.values.get_or_insert_default())
    }

    /// The value of a parameter.
    ///
    /// # Errors
    /// `42704` if there is none of this name.
    pub fn get(&self, name: &str) -> Result<String, SqlError> {
        if is_of_program(name) {
            let value = self.values().own.get(&name.to_lowercase());
            return value.cloned().ok_or_else(|| unknown(name));
        }
        let (known, usual) = known(name).ok_or_else(|| unknown(name))?;
        let value = self.values().get(known);
        if value.is_none() && *known == ISOLATION {
            return self.get(USUAL_ISOLATION);
        }
        Ok(value.cloned().unwrap_or_else(|| usual.to_string()))
    }

    /// The most time of a statement; `None` for no limit.
    pub fn statement_timeout(&self) -> Option<Duration> {
        self.values().limits.statement
    }

    /// The most time of a wait for a lock; `None` for no limit.
    pub fn lock_timeout(&self) -> Option<Duration> {
        self.values().limits.lock
    }

    /// Its name, as it is written.
    pub fn name_of(name: &str) -> String {
        known(name).map_or_else(|| name.to_string(), |(name, _)| name.to_string())
    }

    /// Sets a parameter.
    ///
    /// # Errors
    /// `42704` if there is none of this name; `22023` if it cannot have the value; `55P02` if it cannot be set.
    pub fn set(&mut self, name: &str, value: &str, local: bool) -> Result<(), SqlError> {
        if is_of_program(name) {
            const OWN_MAX: usize = 100;
            let name = name.to_lowercase();
            if self.values().own.len() >= OWN_MAX && !self.values().own.contains_key(&name) {
                return Err(SqlError::new(
                    code::PROGRAM_LIMIT,
                    format!("a session has at most {OWN_MAX} parameters of its own"),
                ));
            }
            self.values_mut().put(&name, Some(value.to_string()), local);
            return Ok(());
        }
        let (name, value) = self.settable(name, value)?;
        self.values_mut().put(name, Some(value), local);
        self.note(name);
        Ok(())
    }

    /// Restores a parameter to its value at the beginning.
    ///
    /// # Errors
    /// `42704` if there is none of this name.
    pub fn reset(&mut self, name: &str, local: bool) -> Result<(), SqlError> {
        let own = name.to_lowercase();
        if self.values().own.contains_key(&own) {
            let first = self.values().initial_own.get(&own).cloned();
            self.values_mut().put(&own, first, local);
            return Ok(());
        }
        let (name, _) = known(name).ok_or_else(|| unknown(name))?;
        self.values_mut().put(name, None, local);
        self.note(name);
        Ok(())
    }

    /// Puts all back.
    pub fn reset_all(&mut self) {
        let values = self.values_mut();
        let names: Vec<_> = values.set.keys().copied().collect();
        values.set.clear();
        values.own = values.initial_own.clone();
        values.before_local.clear();
        values.read_limits();
        names.into_iter().for_each(|name| self.note(name));
    }

    /// The time zone in which moments are read and shown; UTC if there is none.
    pub fn zone(&self) -> Option<&SessionZone> {
        self.values().path.zone()
    }

    /// The schemas in which unqualified names are looked up.
    pub fn path(&self) -> &Arc<SearchPath> {
        &self.values().path
    }

    /// Sets the schema of the session's temporary tables; `None` without any.
    pub fn set_temporary(&mut self, schema: Option<Arc<str>>) {
        let values = self.values_mut();
        values.ends_at_commit &= schema.is_some();
        values.temporary = schema;
        values.read_limits();
    }

    /// Notes that a commit has an effect on a temporary table of the session.
    pub fn end_at_commit(&mut self) {
        self.values_mut().ends_at_commit = true;
    }

    /// The schema of the session's temporary tables, if a commit has an effect on one of them.
    pub fn ending_at_commit(&self) -> Option<&str> {
        let values = self.values();
        let schema = values.temporary.as_deref();
        schema.filter(|_| values.ends_at_commit)
    }

    /// Notes the level of isolation that the transaction requests, until its end.
    pub fn isolate(&mut self, level: &str) {
        self.values_mut()
            .put(ISOLATION, Some(level.to_string()), true);
    }

    /// Notes the level that later transactions request.
    pub fn isolate_usually(&mut self, level: &str) {
        self.values_mut()
            .put(USUAL_ISOLATION, Some(level.to_string()), false);
    }

    /// Begins the session's random numbers anew.
    pub fn seed(&mut self, generator: Generator) {
        self.values_mut().generator = Some(generator);
    }

    /// True if the session's random numbers follow from a seed of its own.
    pub fn is_seeded(&self) -> bool {
        self.values().generator.is_some()
    }

    /// The generator of the session's random numbers, if it has a seed of its own.
    pub fn generator(&self) -> Option<Generator> {
        self.values().generator
    }

    /// The next of the session's random numbers; `None` without a seed.
    pub fn next_random(&mut self) -> Option<f64> {
        self.values().generator?;
        self.values_mut().generator.as_mut().map(Generator::next)
    }

    /// The times at which constraints are checked.
    pub fn constraints(&self) -> &ConstraintModes {
        &self.values().constraints
    }

    /// Notes a `SET CONSTRAINTS`.
    pub fn set_constraints(&mut self, names: Option<Vec<String>>, is_deferred: bool) {
        self.values_mut().constraints.set(names, is_deferred);
    }

    /// Ends the transaction: restores values that were set until its end only.
    pub fn end_transaction(&mut self) {
        if self.values().constraints != ConstraintModes::default() {
            self.values_mut().constraints = ConstraintModes::default();
        }
        if self.values().before_local.is_empty() {
            return;
        }
        for (name, before) in std::mem::take(&mut self.values_mut().before_local) {
            self.values_mut().put(&name, before, false);
            if let Some((name, _)) = known(&name) {
                self.note(name);
            }
        }
    }

    /// Restores earlier values. Those that differ are reported to the client.
    pub fn return_to(&mut self, before: Settings) {
        let mut now = std::mem::replace(self, before);
        let mut changed = std::mem::take(&mut now.changed);
        for (name, _) in all_known() {
            if self.values().set.get(name) != now.values().set.get(name) {
                changed.push(name);
            }
        }
        self.changed.clear();
        changed.into_iter().for_each(|name| self.note(name));
    }

    /// All, by name.
    pub fn all(&self) -> Vec<(String, String)> {
        let mut names: Vec<&str> = all_known().map(|(name, _)| *name).collect();
        names.sort_unstable_by_key(|name| name.to_ascii_lowercase());
        names
            .into_iter()
            .map(|name| (name.to_string(), self.get(name).unwrap_or_default()))
            .collect()
    }

    /// The parameters that are reported to clients, with their values.
    pub fn reported(&self) -> Vec<(String, String)> {
        let names = REPORTED.iter();
        names
            .map(|name| (name.to_string(), self.get(name).unwrap_or_default()))
            .collect()
    }

    /// The name of the session's program.
    pub fn application(&self) -> &str {
        self.values().get(APPLICATION).map_or("", String::as_str)
    }

    /// True if that has changed, and the change was not taken yet.
    pub fn has_renamed(&self) -> bool {
        self.changed.contains(&APPLICATION)
    }

    /// Takes the reported parameters that changed.
    pub fn take_changed(&mut self) -> Vec<(String, String)> {
        let changed = std::mem::take(&mut self.changed);
        let changed = changed.into_iter();
        changed
            .map(|name| (name.to_string(), self.get(name).unwrap_or_default()))
            .collect()
    }

    fn note(&mut self, name: &'static str) {
        if REPORTED.contains(&name) && !self.changed.contains(&name) {
            self.changed.push(name);
        }
    }
}

/// The value in its kept form, if it is valid for the parameter.
fn checked(name: &str, value: &str) -> Result<String, SqlError> {
    let bare = value.trim().trim_matches('\'');
    let wrong = |what: &str| {
        SqlError::new(
            code::INVALID_PARAMETER_VALUE,
            format!("invalid value for parameter \"{name}\": \"{value}\""),
        )
        .hint(what.to_string())
    };
    let upper = bare.to_ascii_uppercase();
    let ok = |text: &str| Ok(text.to_string());
    match name {
        "client_encoding" => match upper.replace(['-', '_'], "").as_str() {
            "UTF8" | "UNICODE" => ok("UTF8"),
            _ => Err(wrong("texts are UTF-8")),
        },
        TIME_ZONE => match SessionZone::of_setting(bare) {
            Some((name, _)) => Ok(name),
            None => Err(wrong("a name such as Europe/Berlin, or hours from UTC")),
        },
        INTERVAL_STYLE => match IntervalStyle::named(bare) {
            Some(style) => ok(style.name()),
            None => Err(wrong("postgres, postgres_verbose or iso_8601")),
        },
        "standard_conforming_strings" => match upper.as_str() {
            "ON" | "TRUE" | "1" | "YES" => ok("on"),
            _ => Err(wrong("a backslash is an ordinary character, but in E''")),
        },
        "bytea_output" => match upper.as_str() {
            "HEX" => ok("hex"),
            _ => Err(wrong("bytes are written as hexadecimal digits")),
        },
        "synchronous_commit" => match upper.as_str() {
            "ON" | "TRUE" | "1" | "YES" | "LOCAL" | "REMOTE_WRITE" | "REMOTE_APPLY" => ok("on"),
            _ => Err(wrong("what is answered is durable, always")),
        },
        READ_ONLY => match upper.as_str() {
            "ON" | "TRUE" | "1" | "YES" => ok("on"),
            "OFF" | "FALSE" | "0" | "NO" => ok("off"),
            _ => Err(wrong("on or off")),
        },
        _ => match (values::of(name, value), value.len()) {
            (Some(known), _) => known.map_err(wrong),
            (None, 0..=1000) => ok(value),
            (None, _) => Err(wrong("at most 1000 bytes")),
        },
    }
}
