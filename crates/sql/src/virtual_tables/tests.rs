//! Tests of the catalogue's tables.

/// The tables with the columns of PostgreSQL 15, in its order: `SELECT attname FROM pg_attribute`.
const COLUMNS: &str = include_str!("columns.txt");

#[test]
fn tables_have_the_columns_of_postgresql() {
    for table in super::all() {
        let name = format!("{}.{}", table.schema, table.name);
        let columns = COLUMNS.lines().find_map(|line| {
            let (known, columns) = line.split_once(' ')?;
            (known == name).then_some(columns)
        });
        let ours = table.columns.iter().map(|(column, _)| *column);
        assert_eq!(
            Some(&*ours.collect::<Vec<_>>().join(" ")),
            columns,
            "{name}"
        );
    }
}

#[test]
fn tables_have_numbers_of_their_own() {
    let mut numbers = std::collections::HashMap::new();
    for table in super::all() {
        let other = numbers.insert(table.oid, table.name);
        assert_eq!(other, None, "{} has the same number", table.name);
    }
}
