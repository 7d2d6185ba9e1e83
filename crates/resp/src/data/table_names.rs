//! The names of the tables of keys and values.

/// The number of databases.
pub(crate) const DATABASES: u8 = 16;

/// The names of the tables of elements, which all databases share.
pub(crate) const ELEMENTS: [&str; 9] = [
    "pg_redis.kv_hash",
    "pg_redis.kv_set",
    "pg_redis.kv_zset",
    "pg_redis.kv_list",
    "pg_redis.kv_removed",
    "pg_redis.kv_stream",
    "pg_redis.kv_group",
    "pg_redis.kv_consumer",
    "pg_redis.kv_pending",
];

/// The names of the tables of functions' libraries, which no key has.
pub(crate) const LIBRARIES: [&str; 2] = ["pg_redis.kv_library", "pg_redis.kv_function"];

macro_rules! names {
    ($($number:literal)*) => {
        /// The names of each database's tables: of keys, and of their times.
        pub(crate) const PAIRS: [[&str; 2]; DATABASES as usize] = [
            ["pg_redis.kv", "pg_redis.kv_expiry"],
            $([concat!("pg_redis.kv_db", $number), concat!("pg_redis.kv_db", $number, "_expiry")],)*
        ];
        /// The names of all tables of keys and values, including the ones that are made when they are needed.
        pub const KEY_TABLES: [&str; 13 + 2 * (DATABASES as usize - 1)] = [
            "pg_redis.kv", "pg_redis.kv_hash", "pg_redis.kv_set", "pg_redis.kv_zset",
            "pg_redis.kv_list", "pg_redis.kv_expiry", "pg_redis.kv_removed",
            "pg_redis.kv_stream", "pg_redis.kv_group", "pg_redis.kv_consumer",
            "pg_redis.kv_pending", "pg_redis.kv_library", "pg_redis.kv_function",
            $(concat!("pg_redis.kv_db", $number), concat!("pg_redis.kv_db", $number, "_expiry"),)*
        ];
    };
}
names!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::older::older_name;

    #[test]
    fn all_names_are_different_and_are_those_of_the_pairs() {
        let mut names = KEY_TABLES.to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), KEY_TABLES.len());
        let of_pairs = PAIRS.iter().flatten();
        assert!(
            of_pairs
                .chain(&ELEMENTS)
                .chain(&LIBRARIES)
                .all(|name| names.binary_search(name).is_ok())
        );
        assert_eq!(PAIRS[15], ["pg_redis.kv_db15", "pg_redis.kv_db15_expiry"]);
        let older: Vec<&str> = names.iter().copied().map(older_name).collect();
        assert!(older.iter().all(|name| name.starts_with("kv")), "{older:?}");
    }
}
