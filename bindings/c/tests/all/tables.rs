//! Tables, used from C and from C++, and the example `shop.c`.

use crate::programs::{Link, Program, in_directory};
use std::process::Command;

#[test]
fn schemas_transactions_types_ranges_and_views() {
    let program = Program::compile("tables");
    in_directory(|directory| program.run(directory, "1", &[]));
}

#[test]
fn a_process_follows_the_tables_of_another_one() {
    let program = Program::compile("followers");
    in_directory(|directory| program.run(directory, "1", &[]));
}

#[test]
fn tables_in_a_program_that_has_the_library_in_it() {
    let program = Program::compile_with("tables", Link::Static);
    in_directory(|directory| program.run(directory, "1", &[]));
}

#[test]
fn the_shop_sells_until_the_credit_is_used_up_and_finds_its_orders_again() {
    let program = Program::compile("../../examples/shop");
    in_directory(|directory| {
        let run = || {
            let mut command = Command::new(program.path());
            let outcome = command.current_dir(directory).output().unwrap();
            assert!(outcome.status.success(), "{outcome:?}");
            String::from_utf8(outcome.stdout).unwrap()
        };
        let said = run();
        let lines: Vec<&str> = said.lines().collect();
        assert!(
            lines[0].starts_with("refused: ") && lines[0].contains("solvent"),
            "{said}"
        );
        let found = [
            "order 3 for 900 cents: gift wrapped",
            "order 2 for 600 cents",
            "Ada Lovelace has 200 cents left",
        ];
        assert_eq!(lines[1..], found);
        assert!(run().contains("order 6 for 900 cents: gift wrapped"));
    });
}

#[test]
fn the_program_of_the_readme_compiles_and_opens_its_database_again() {
    let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");
    let readme = std::fs::read_to_string(readme).unwrap();
    let (_, program) = readme
        .split_once("```c\n")
        .expect("README.md has a program");
    let (program, _) = program.split_once("```").expect("the program ends");
    in_directory(|directory| {
        let source = directory.join("bank");
        std::fs::write(source.with_extension("c"), program).unwrap();
        let program = Program::compile(source.to_str().unwrap());
        program.run(directory, "1", &[]);
        program.run(directory, "1", &[]);
        assert!(directory.join("bank.sdx").is_dir());
    });
}

/// With a C++ compiler, if there is one: the header is valid C++, too.
#[test]
fn the_header_is_one_for_cpp() {
    let home = env!("CARGO_MANIFEST_DIR");
    let compiler = std::env::var_os("CXX").unwrap_or("c++".into());
    let outcome = Command::new(compiler)
        .args(["-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"])
        .args(["-x", "c++", "-I"])
        .arg(format!("{home}/include"))
        .arg(format!("{home}/tests/c/header.cpp"))
        .output();
    match outcome {
        Ok(outcome) => assert!(outcome.status.success(), "{outcome:?}"),
        Err(error) => eprintln!("left out, without a C++ compiler: {error}"),
    }
}
