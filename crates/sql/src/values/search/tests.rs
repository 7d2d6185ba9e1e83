//! Values read back: `read(text(v)) == v` for values of every way that makes them, and the bounds of each way.

use super::query::ITEMS_MAX;
use super::vector::Position;
use super::{Asked, Config, DISTANCE_MAX, Item, Lexeme, Operand, Query, Vector, matches, question};
use crate::error::{SqlError, code};
use sardonyx_base::random::{Random, seeds};

/// Words with all characters that are escaped.
const WORDS: [&str; 12] = [
    "a", "b", "ab", "it's", "\\", "a b", "&", "( x )", ":*", "é\u{a0}", "<->", "!",
];

fn word(random: &mut Random) -> Item {
    Item::Word(Operand {
        word: WORDS[random.below(WORDS.len() as u64) as usize].to_string(),
        weights: random.below(16) as u8,
        is_prefix: random.chance(1, 4),
    })
}

fn operator(random: &mut Random) -> Item {
    match random.below(4) {
        0 => Item::And,
        1 => Item::Or,
        2 => Item::Phrase(1),
        _ => Item::Phrase(random.below(u64::from(DISTANCE_MAX) + 1) as u16),
    }
}

/// A question of random operators, made in one of the possible ways.
fn random_query(random: &mut Random) -> Query {
    let mut parts: Vec<Query> = Vec::new();
    for _ in 0..=random.below(12) {
        parts.push(Query::of(vec![word(random)]).expect("a word is a question"));
    }
    while parts.len() > 1 || random.chance(1, 3) {
        let at = random.below(parts.len() as u64) as usize;
        let one = parts.swap_remove(at);
        let made = match random.below(4) {
            0 => one.negated(),
            1 => {
                let mut bytes = Vec::new();
                one.send(&mut bytes);
                Query::receive(&bytes)
            }
            _ => match parts.pop() {
                Some(other) => one.with(other, operator(random)),
                None => Ok(one),
            },
        };
        parts.push(made.expect("it is within the bounds"));
    }
    parts.pop().unwrap_or_default()
}

/// A document of the words, with random places.
fn random_vector(random: &mut Random) -> Vector {
    let mut lexemes = Vec::new();
    for _ in 0..random.below(10) {
        let mut positions = Vec::new();
        for _ in 0..random.below(5) {
            let most = if random.chance(1, 8) { 16_383 } else { 6 };
            positions.push(Position {
                place: 1 + random.below(most) as u16,
                weight: random.below(4) as u8,
            });
        }
        let word = WORDS[random.below(WORDS.len() as u64) as usize].to_string();
        lexemes.push(Lexeme { word, positions });
    }
    Vector::of(lexemes).expect("it is within the bounds")
}

fn is_answer(vector: &Vector, query: &Query) -> bool {
    matches(vector, query, &|| Ok(())).expect("it is within the bounds")
}

#[test]
fn questions_read_back() {
    for seed in 0..seeds(400) {
        let mut random = Random::new(seed);
        let query = random_query(&mut random);
        let text = query.text();
        let read = Query::known(&text).unwrap_or_else(|error| panic!("{seed}: {text}: {error:?}"));
        assert_eq!(read.text(), text, "{seed}");
        assert_eq!(read.items().len(), query.items().len(), "{seed}: {text}");
        // Chains have their left part first when they are read back: the same question.
        assert_eq!(
            Query::known(&read.text()).ok(),
            Some(read.clone()),
            "{seed}"
        );
        let mut bytes = Vec::new();
        read.send(&mut bytes);
        assert_eq!(
            Query::receive(&bytes).ok(),
            Some(read.clone()),
            "{seed}: {text}"
        );
        for _ in 0..8 {
            let vector = random_vector(&mut random);
            let (one, other) = (is_answer(&vector, &query), is_answer(&vector, &read));
            assert_eq!(one, other, "{seed}: {text} of {}", vector.text());
        }
    }
}

#[test]
fn documents_read_back() {
    for seed in 0..seeds(400) {
        let mut random = Random::new(seed);
        let (one, other) = (random_vector(&mut random), random_vector(&mut random));
        let mut bytes = Vec::new();
        one.send(&mut bytes);
        let made = [
            Vector::receive(&bytes),
            one.clone().joined(other),
            Ok(one.clone().stripped()),
            Ok(one.clone().weighted(random.below(4) as u8, None)),
            Ok(one.with_weights(random.below(16) as u8)),
        ];
        for made in made {
            let made = made.expect("it is within the bounds");
            assert_eq!(
                Vector::known(&made.text()).ok(),
                Some(made.clone()),
                "{seed}"
            );
        }
    }
}

#[test]
fn questions_of_any_depth_are_read_walked_and_dropped() {
    // There are more levels than a thread's stack has room for.
    let texts = [
        format!("{}a{}", "(".repeat(30_000), ")".repeat(30_000)),
        format!("{}a", "!".repeat(60_000)),
        format!(
            "{}a{}",
            "(".repeat(60),
            ["&b".repeat(499), ")".into()].concat().repeat(60)
        ),
        format!("{}a", "a & ( b | ".repeat(15_000)) + &" )".repeat(15_000),
        format!("{}a", "a <-> ( b <-> ".repeat(15_000)) + &" )".repeat(15_000),
    ];
    let vector = Vector::read("a:1 b:2").expect("it is a document");
    for text in texts {
        let query = Query::read(&text).expect("it is a question");
        let written = query.text();
        let read = Query::known(&written).expect("it reads back");
        assert_eq!(read.text(), written);
        is_answer(&vector, &query);
        query.clone().without_nots();
        query.negated().expect("it is within the bounds");
    }
    let chain = vec!["w"; 601].join("|");
    assert_eq!(Query::read(&chain).expect("it is one").items().len(), 1201);
}

fn refused<T: std::fmt::Debug>(made: Result<T, SqlError>) -> &'static str {
    made.expect_err("it is past a bound").code
}

#[test]
fn words_and_questions_have_bounds_wherever_they_are_made() {
    let lexeme = |word: String| Lexeme {
        word,
        positions: Vec::new(),
    };
    let item = |word: String| {
        Item::Word(Operand {
            word,
            weights: 0,
            is_prefix: false,
        })
    };
    for length in [2046, 2047] {
        let word = "x".repeat(length);
        let mut vector = 1_u32.to_be_bytes().to_vec();
        vector.extend(word.as_bytes());
        vector.extend([0, 0, 0]);
        let mut query = 1_u32.to_be_bytes().to_vec();
        query.extend([1, 0, 0]);
        query.extend(word.as_bytes());
        query.push(0);
        let codes = [
            Vector::of(vec![lexeme(word.clone())]).err(),
            Vector::receive(&vector).err(),
            Vector::read(&word).err(),
            Query::of(vec![item(word.clone())]).err(),
            Query::receive(&query).err(),
            Query::read(&word).err(),
        ];
        for error in codes {
            let code = error.map(|error| error.code);
            assert_eq!(code, (length > 2046).then_some(code::PROGRAM_LIMIT));
        }
    }
    assert_eq!(refused(Vector::of(vec![lexeme(String::new())])), "2200F");
    let most = vec!["w"; ITEMS_MAX / 2].join("&");
    let query = Query::read(&most).expect("it is within the bounds");
    let more = query.clone().with(query.clone(), Item::Or);
    assert_eq!(refused(more), code::PROGRAM_LIMIT);
    let nots = "!".repeat(ITEMS_MAX) + "a";
    assert_eq!(refused(Query::read(&nots)), code::PROGRAM_LIMIT);
    let long = vec!["w".repeat(2000); 600].join("&");
    assert_eq!(refused(Query::read(&long)), code::PROGRAM_LIMIT);
    // Operators without their parts are no question.
    for bytes in [
        &[0, 0, 0, 1, 2, 1][..],
        &[0, 0, 0, 2, 2, 2, 1, 0, 0, b'a', 0],
        &[0, 0, 0, 2, 1, 0, 0, b'a', 0, 1, 0, 0, b'b', 0],
    ] {
        assert_eq!(refused(Query::receive(bytes)), code::INVALID_BINARY);
    }
}

#[test]
fn damaged_values_are_errors() {
    // A readable text in another form than the written one would be unequal to its own value.
    for text in ["a &", "a", "'a'  & 'b'"] {
        assert_eq!(refused(Query::known(text)), code::DATA_CORRUPTED);
    }
    for text in ["'a", "a", "'b' 'a'", "'a':01"] {
        assert_eq!(refused(Vector::known(text)), code::DATA_CORRUPTED);
    }
}

#[test]
fn an_answer_that_takes_long_is_looked_at_and_has_a_bound() {
    let all: Vec<String> = (1..=200).map(|place| (place * 80).to_string()).collect();
    let lexemes: Vec<String> = (0..1000)
        .map(|at| format!("a{at}:{}", all.join(",")))
        .collect();
    let vector = Vector::read(&lexemes.join(" ")).expect("it is a document");
    let query = Query::read(&vec!["a:*"; 1000].join("<->")).expect("it is a question");
    let ended = || Err(SqlError::unsupported("it is to end"));
    assert_eq!(refused(matches(&vector, &query, &ended)), "0A000");
    let endless = matches(&vector, &query, &|| Ok(()));
    assert_eq!(refused(endless), code::PROGRAM_LIMIT);
}

#[test]
fn questions_look_between_their_words() {
    let stop = || Err(SqlError::new(code::INTERNAL, "it is to end"));
    for (text, asked) in [("a b", Asked::Web), ("a & b", Asked::Operators)] {
        let error = question(Config::Simple, text, asked, &stop).expect_err("it looks");
        assert_eq!(error.message, "it is to end");
    }
}

#[test]
fn documents_end_at_their_bound() {
    // It is refused after about a third of its words.
    let text: Vec<String> = (0..300_000_u32).map(|word| format!("w{word}")).collect();
    let text = text.join(" ");
    let looks = std::cell::Cell::new(0);
    let look = || {
        looks.set(looks.get() + 1);
        Ok(())
    };
    let error = Config::Simple
        .vector(&text, &look)
        .expect_err("it is too long");
    assert_eq!(error.code, code::PROGRAM_LIMIT);
    assert!(looks.get() < 150, "{}", looks.get());
}
