//! Parameters of PostgreSQL 15's planner and of its memory and parallel workers.
//!
//! They change how PostgreSQL finds an answer, never the answer. So here they are checked as PostgreSQL checks them,
//! kept and shown, without an effect. Invariant: none of these parameters could change an answer.

use super::values::{Value, truth};

/// The valid values of a parameter.
enum Form {
    /// On or off.
    Truth,
    /// Any number from one to another.
    Number(f64, f64),
    /// A whole number from one to another.
    Whole(i64, i64),
    /// A size in units of the given kibibytes, at least and at most.
    Size(i64, i64, i64),
    /// One of these words.
    OneOf(&'static [&'static str]),
}

pub(super) struct Parameter {
    /// Its name, and its value at the beginning.
    pub known: (&'static str, &'static str),
    form: Form,
}

const fn of(name: &'static str, usual: &'static str, form: Form) -> Parameter {
    Parameter {
        known: (name, usual),
        form,
    }
}

/// The greatest number of kibibytes that PostgreSQL takes.
const KILOBYTES_MAX: i64 = i32::MAX as i64;
/// The greatest cost.
const COST_MAX: f64 = f64::MAX;
const COUNT_MAX: i64 = i32::MAX as i64;
const PARTITIONS: &[&str] = &[
    "partition",
    "on",
    "off",
    "true",
    "false",
    "yes",
    "no",
    "1",
    "0",
];
const PARALLEL: &[&str] = &[
    "off", "on", "regress", "true", "false", "yes", "no", "1", "0",
];

pub(super) static PARAMETERS: [Parameter; 58] = [
    of("constraint_exclusion", "partition", Form::OneOf(PARTITIONS)),
    of("cpu_index_tuple_cost", "0.005", Form::Number(0.0, COST_MAX)),
    of("cpu_operator_cost", "0.0025", Form::Number(0.0, COST_MAX)),
    of("cpu_tuple_cost", "0.01", Form::Number(0.0, COST_MAX)),
    of("cursor_tuple_fraction", "0.1", Form::Number(0.0, 1.0)),
    of("default_statistics_target", "100", Form::Whole(1, 10_000)),
    of("effective_cache_size", "4GB", Form::Size(8, 1, COUNT_MAX)),
    of("effective_io_concurrency", "1", Form::Whole(0, 1000)),
    of("enable_async_append", "on", Form::Truth),
    of("enable_bitmapscan", "on", Form::Truth),
    of("enable_gathermerge", "on", Form::Truth),
    of("enable_hashagg", "on", Form::Truth),
    of("enable_hashjoin", "on", Form::Truth),
    of("enable_incremental_sort", "on", Form::Truth),
    of("enable_indexonlyscan", "on", Form::Truth),
    of("enable_indexscan", "on", Form::Truth),
    of("enable_material", "on", Form::Truth),
    of("enable_memoize", "on", Form::Truth),
    of("enable_mergejoin", "on", Form::Truth),
    of("enable_nestloop", "on", Form::Truth),
    of("enable_parallel_append", "on", Form::Truth),
    of("enable_parallel_hash", "on", Form::Truth),
    of("enable_partition_pruning", "on", Form::Truth),
    of("enable_partitionwise_aggregate", "off", Form::Truth),
    of("enable_partitionwise_join", "off", Form::Truth),
    of("enable_seqscan", "on", Form::Truth),
    of("enable_sort", "on", Form::Truth),
    of("enable_tidscan", "on", Form::Truth),
    of("force_parallel_mode", "off", Form::OneOf(PARALLEL)),
    of("from_collapse_limit", "8", Form::Whole(1, COUNT_MAX)),
    of("geqo", "on", Form::Truth),
    of("geqo_effort", "5", Form::Whole(1, 10)),
    of("geqo_generations", "0", Form::Whole(0, COUNT_MAX)),
    of("geqo_pool_size", "0", Form::Whole(0, COUNT_MAX)),
    of("geqo_seed", "0", Form::Number(0.0, 1.0)),
    of("geqo_selection_bias", "2", Form::Number(1.5, 2.0)),
    of("geqo_threshold", "12", Form::Whole(2, COUNT_MAX)),
    of("hash_mem_multiplier", "2", Form::Number(1.0, 1000.0)),
    of("jit_above_cost", "100000", Form::Number(-1.0, COST_MAX)),
    of(
        "jit_inline_above_cost",
        "500000",
        Form::Number(-1.0, COST_MAX),
    ),
    of(
        "jit_optimize_above_cost",
        "500000",
        Form::Number(-1.0, COST_MAX),
    ),
    of("join_collapse_limit", "8", Form::Whole(1, COUNT_MAX)),
    of(
        "maintenance_work_mem",
        "64MB",
        Form::Size(1, 1024, KILOBYTES_MAX),
    ),
    of(
        "max_parallel_maintenance_workers",
        "2",
        Form::Whole(0, 1024),
    ),
    of("max_parallel_workers", "8", Form::Whole(0, 1024)),
    of("max_parallel_workers_per_gather", "2", Form::Whole(0, 1024)),
    of(
        "min_parallel_index_scan_size",
        "512kB",
        Form::Size(8, 0, 715_827_882),
    ),
    of(
        "min_parallel_table_scan_size",
        "8MB",
        Form::Size(8, 0, 715_827_882),
    ),
    of("parallel_leader_participation", "on", Form::Truth),
    of("parallel_setup_cost", "1000", Form::Number(0.0, COST_MAX)),
    of("parallel_tuple_cost", "0.1", Form::Number(0.0, COST_MAX)),
    of(
        "plan_cache_mode",
        "auto",
        Form::OneOf(&["auto", "force_generic_plan", "force_custom_plan"]),
    ),
    of("random_page_cost", "4", Form::Number(0.0, COST_MAX)),
    of(
        "recursive_worktable_factor",
        "10",
        Form::Number(0.001, 1_000_000.0),
    ),
    of("seq_page_cost", "1", Form::Number(0.0, COST_MAX)),
    of("temp_buffers", "8MB", Form::Size(8, 100, 1_073_741_823)),
    of("track_io_timing", "off", Form::Truth),
    of("work_mem", "4MB", Form::Size(1, 64, KILOBYTES_MAX)),
];

/// The kept value of a parameter; `None` if it is none of the planner's.
pub(super) fn value(name: &str, lower: &str) -> Option<Value> {
    let parameter = PARAMETERS.iter().find(|one| one.known.0 == name)?;
    Some(match parameter.form {
        Form::Truth => truth(lower),
        Form::Number(least, most) => number(lower, least, most),
        Form::Whole(least, most) => match lower.parse::<i64>() {
            Ok(value) if (least..=most).contains(&value) => Ok(value.to_string()),
            _ => Err("a whole number that PostgreSQL 15 takes for it"),
        },
        Form::Size(unit, least, most) => size(lower, unit, least, most),
        Form::OneOf(words) => match words.contains(&lower) {
            true => Ok(match lower {
                "true" | "yes" | "1" => "on".to_string(),
                "false" | "no" | "0" => "off".to_string(),
                word => word.to_string(),
            }),
            false => Err("one of the words that PostgreSQL 15 takes for it"),
        },
    })
}

fn number(text: &str, least: f64, most: f64) -> Value {
    let value = text.parse::<f64>().ok();
    match value.filter(|value| (least..=most).contains(value)) {
        Some(value) => {
            let mut shown = String::new();
            let value = sardonyx::schema::ValueRef::Float(value);
            crate::text::encode_text(crate::types::SqlType::Float8, &value, &mut shown);
            Ok(shown)
        }
        None => Err("a number that PostgreSQL 15 takes for it"),
    }
}

/// Units of memory, the largest first, with their bytes.
const UNITS: [(&str, i64); 5] = [
    ("TB", 1 << 40),
    ("GB", 1 << 30),
    ("MB", 1 << 20),
    ("kB", 1 << 10),
    ("B", 1),
];

/// Memory with a unit, or in the parameter's own. It is shown in the largest unit in which it is a whole number.
fn size(text: &str, kilobytes: i64, least: i64, most: i64) -> Value {
    const WRONG: &str =
        "memory that PostgreSQL 15 takes for it, with one of the units B, kB, MB, GB and TB";
    let end = text.find(|one: char| !matches!(one, '0'..='9' | '.' | '+' | '-'));
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let number: f64 = number.parse().map_err(|_| WRONG)?;
    let own = kilobytes << 10;
    let unit = match unit.trim() {
        "" => own,
        unit => {
            let found = UNITS
                .iter()
                .find(|(name, _)| name.eq_ignore_ascii_case(unit));
            found.ok_or(WRONG)?.1
        }
    };
    let units = (number * unit as f64 / own as f64).round_ties_even();
    let is_taken = (least as f64..=most as f64).contains(&units);
    let bytes = is_taken.then_some(units as i64 * own).ok_or(WRONG)?;
    let whole = |(_, unit): &&(&str, i64)| bytes % unit == 0;
    Ok(match UNITS.iter().find(whole) {
        Some((name, unit)) if bytes > 0 => format!("{}{name}", bytes / unit),
        _ => "0".to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::{PARAMETERS, value};

    #[test]
    fn usual_values_are_taken_and_shown_as_they_are() {
        for parameter in &PARAMETERS {
            let (name, usual) = parameter.known;
            let lower = usual.to_ascii_lowercase();
            assert_eq!(value(name, &lower), Some(Ok(usual.to_string())), "{name}");
        }
    }

    #[test]
    fn values_are_checked_and_shown_as_postgresql_does() {
        // `SET … TO …; SHOW …` of PostgreSQL 15.
        for (name, given, shown) in [
            ("work_mem", "64", Some("64kB")),
            ("work_mem", "63", None),
            ("work_mem", "1.5mb", Some("1536kB")),
            ("work_mem", "1 parsec", None),
            ("effective_cache_size", "128", Some("1MB")),
            ("min_parallel_table_scan_size", "0", Some("0")),
            ("enable_seqscan", "no", Some("off")),
            ("enable_seqscan", "perhaps", None),
            ("random_page_cost", "1.10", Some("1.1")),
            ("random_page_cost", "-1", None),
            ("geqo_threshold", "1", None),
            ("geqo_threshold", "2.5", None),
            (
                "plan_cache_mode",
                "force_generic_plan",
                Some("force_generic_plan"),
            ),
            ("plan_cache_mode", "never", None),
            ("constraint_exclusion", "yes", Some("on")),
        ] {
            let kept = value(name, given).and_then(Result::ok);
            assert_eq!(kept.as_deref(), shown, "{name} = {given}");
        }
    }
}
