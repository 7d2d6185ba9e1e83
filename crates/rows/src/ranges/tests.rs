use super::*;
use proptest::prelude::*;

const KINDS: [RangeOf; 6] = [
    RangeOf::Int4,
    RangeOf::Int8,
    RangeOf::Numeric,
    RangeOf::Date,
    RangeOf::Timestamp,
    RangeOf::Timestamptz,
];

fn value(of: RangeOf, number: i64, digits: u8) -> Value {
    match of {
        RangeOf::Int4 => Value::Int((number as i32).into()),
        RangeOf::Int8 => Value::Int(number.into()),
        RangeOf::Numeric => Value::Decimal(number.into(), digits % 39),
        RangeOf::Date => Value::Date(number as i32),
        _ => Value::Timestamp(number),
    }
}

fn given(value: Option<Value>, is_inclusive: bool) -> Given {
    Given {
        value,
        is_inclusive,
    }
}

fn ints(low: Option<i32>, high: Option<i32>, flags: &str) -> Vec<u8> {
    let value = |number: Option<i32>| number.map(|number| Value::Int(number.into()));
    let lower = given(value(low), flags.starts_with('['));
    let upper = given(value(high), flags.ends_with(']'));
    Range::of_bounds(RangeOf::Int4, lower, upper).expect("a range")
}

#[test]
fn whole_numbers_have_one_form() {
    let wanted = ints(Some(1), Some(5), "[)");
    for same in [
        ints(Some(0), Some(5), "()"),
        ints(Some(1), Some(4), "[]"),
        ints(Some(0), Some(4), "(]"),
    ] {
        assert_eq!(same, wanted);
    }
    assert_eq!(wanted, [2, 0x80, 0, 0, 1, 0, 1, 0x80, 0, 0, 5, 0]);
    assert_eq!(ints(Some(1), Some(2), "()"), [EMPTY]);
    assert_eq!(ints(Some(1), Some(1), "[)"), [EMPTY]);
    assert_eq!(ints(None, None, "[]"), [LOWER_NONE, UPPER_NONE]);
    // The form with the bound on its other side is refused.
    let mut other = wanted.clone();
    other[5] = 1;
    assert_eq!(Range::decode(RangeOf::Int4, &other), None);
    other = wanted;
    other[11] = 1;
    assert_eq!(Range::decode(RangeOf::Int4, &other), None);
}

#[test]
fn bounds_that_give_no_range_are_refused() {
    let int = |number: i32| given(Some(Value::Int(number.into())), true);
    let of = |lower, upper| Range::of_bounds(RangeOf::Int4, lower, upper);
    assert_eq!(of(int(2), int(1)), Err(NotARange::Order));
    assert_eq!(of(int(1), int(i32::MAX)), Err(NotARange::Beyond));
    assert!(of(int(i32::MAX), given(None, false)).is_ok());
    let text = given(Some(Value::Text("1".into())), true);
    assert_eq!(of(text, int(1)), Err(NotARange::Value));
    let last = given(Some(Value::Date(2_145_042_905)), true);
    let days = Range::of_bounds(RangeOf::Date, last.clone(), last);
    assert_eq!(days, Err(NotARange::Beyond));
    let endless = given(Some(Value::Date(i32::MAX)), true);
    let days = Range::of_bounds(RangeOf::Date, endless.clone(), endless).expect("a range");
    assert!(Range::decode(RangeOf::Date, &days).is_some());
    // Days and moments that PostgreSQL has not.
    for (of, beyond) in [
        (RangeOf::Date, Value::Date(i32::MAX - 1)),
        (RangeOf::Date, Value::Date(i32::MIN + 1)),
        (RangeOf::Timestamp, Value::Timestamp(i64::MIN + 1)),
    ] {
        let mut bytes = vec![LOWER_NONE, UPPER];
        bytes.extend(of.bytes(beyond.as_ref()).expect("bytes"));
        bytes.push(0);
        assert_eq!(Range::decode(of, &bytes), None, "{of:?}");
        let range = Range::of_bounds(of, given(None, false), given(Some(beyond), false));
        assert_eq!(range, Err(NotARange::Value), "{of:?}");
    }
}

#[test]
fn numbers_at_the_ends_of_their_type() {
    let of = RangeOf::Numeric;
    for units in [i128::MIN, i128::MIN + 1, -1, 0, 1, i128::MAX - 1, i128::MAX] {
        for scale in [0, 1, 2, 19, 37, 38] {
            let bytes = of
                .bytes(Value::Decimal(units, scale).as_ref())
                .expect("bytes");
            let Some(Value::Decimal(found, digits)) = of.read(&bytes) else {
                panic!("{units} {scale}");
            };
            assert!(digits <= scale, "{units} {scale}");
            let power = 10_i128.pow((scale - digits).into());
            assert_eq!(found.checked_mul(power), Some(units), "{units} {scale}");
        }
    }
    assert_eq!(
        of.bytes(Value::Decimal(150, 2).as_ref()),
        Some(vec![129, 1, 51, 0])
    );
    assert_eq!(
        of.bytes(Value::Decimal(-15, 1).as_ref()),
        Some(vec![126, 254, 51, 0])
    );
    assert_eq!(of.bytes(Value::Int(0).as_ref()), Some(vec![128, 0]));
}

/// A bound, by a small number, so that many are equal.
fn bound() -> impl Strategy<Value = (Option<i64>, u8, bool)> {
    (
        proptest::option::weighted(0.8, -9..9_i64),
        0..3_u8,
        any::<bool>(),
    )
}

fn range_of(of: RangeOf) -> impl Strategy<Value = Vec<u8>> {
    (bound(), bound(), 0..9_u8).prop_map(move |(lower, upper, empty)| {
        if empty == 0 {
            return Range::EMPTY.encode();
        }
        let part = |(number, digits, flag): (Option<i64>, u8, bool)| {
            let number = number.map(|number| value(of, number, digits));
            given(number, flag)
        };
        let (lower, upper) = (part(lower), part(upper));
        let turned = Range::of_bounds(of, upper.clone(), lower.clone());
        let found = Range::of_bounds(of, lower, upper);
        found.or(turned).expect("one of both is a range")
    })
}

fn pair() -> impl Strategy<Value = (RangeOf, Vec<u8>, Vec<u8>)> {
    (0..KINDS.len()).prop_flat_map(|at| {
        let of = KINDS[at];
        (Just(of), range_of(of), range_of(of))
    })
}

/// The order of PostgreSQL's `range_cmp`, by the values.
fn order(of: RangeOf, one: Range<'_>, other: Range<'_>) -> Ordering {
    let by_value = |a: Bound<'_>, b: Bound<'_>| {
        let (a, b) = (a.value(of).expect("a value"), b.value(of).expect("a value"));
        crate::condition::compare(a.as_ref(), b.as_ref()).expect("an order")
    };
    let (Some((low, high)), Some((lower, upper))) = (one.bounds(), other.bounds()) else {
        return other.is_empty().cmp(&one.is_empty());
    };
    let lowest = match (low.bytes(), lower.bytes()) {
        (None, None) => Ordering::Equal,
        (None, _) => Ordering::Less,
        (_, None) => Ordering::Greater,
        _ => by_value(low, lower).then(lower.is_inclusive().cmp(&low.is_inclusive())),
    };
    lowest.then_with(|| match (high.bytes(), upper.bytes()) {
        (None, None) => Ordering::Equal,
        (None, _) => Ordering::Greater,
        (_, None) => Ordering::Less,
        _ => by_value(high, upper).then(high.is_inclusive().cmp(&upper.is_inclusive())),
    })
}

proptest! {
    #[test]
    fn bytes_have_the_order_of_ranges((of, a, b) in pair()) {
        let one = Range::decode(of, &a).expect("a range");
        let other = Range::decode(of, &b).expect("a range");
        prop_assert_eq!(one.encode(), a.clone());
        prop_assert_eq!(a.cmp(&b), order(of, one, other));
    }

    #[test]
    fn values_have_the_order_of_their_bytes(
        at in 0..KINDS.len(), a in (any::<i64>(), 0..39_u8), b in (any::<i64>(), 0..39_u8), near in -3..3_i64,
    ) {
        let of = KINDS[at];
        for (number, digits) in [b, (a.0.wrapping_add(near), a.1), (a.0 % 1000, b.1)] {
            let (one, other) = (value(of, a.0, a.1), value(of, number, digits));
            let bytes = |value: &Value| of.bytes(value.as_ref()).expect("bytes");
            let (left, right) = (bytes(&one), bytes(&other));
            let order = crate::condition::compare(one.as_ref(), other.as_ref());
            prop_assert_eq!(Some(left.cmp(&right)), order);
            // Neither begins with the other.
            prop_assert!(left == right || !left.starts_with(&right) && !right.starts_with(&left));
            let read = of.read(&left).expect("a value");
            prop_assert!(crate::condition::compare(read.as_ref(), one.as_ref()) == Some(Ordering::Equal));
        }
    }

    #[test]
    fn operations_are_those_of_sets((of, a, b) in pair()) {
        let one = Range::decode(of, &a).expect("a range");
        let other = Range::decode(of, &b).expect("a range");
        // Between two values of the bounds is another one: of numbers with more digits.
        let points: Vec<Vec<u8>> = match of {
            RangeOf::Numeric => (-10_000..10_000_i64)
                .step_by(5)
                .filter_map(|units| of.bytes(Value::Decimal(units.into(), 3).as_ref()))
                .collect(),
            _ => (-10..11).filter_map(|number| of.bytes(value(of, number, 0).as_ref())).collect(),
        };
        let whole = one.merged(other);
        prop_assert!(whole.contains(one) && whole.contains(other));
        let both = one.intersection(other);
        let (union, difference) = (one.union(other), one.difference(other));
        for point in &points {
            let (in_one, in_other) = (one.has(point), other.has(point));
            prop_assert_eq!(both.has(point), in_one && in_other);
            if let Ok(union) = union {
                prop_assert_eq!(union.has(point), in_one || in_other);
            }
            if let Ok(difference) = difference {
                prop_assert_eq!(difference.has(point), in_one && !in_other);
            }
        }
        for result in [Some(whole), Some(both), union.ok(), difference.ok()].into_iter().flatten() {
            let bytes = result.encode();
            prop_assert_eq!(Range::decode(of, &bytes), Some(result));
        }
        prop_assert_eq!(one.overlaps(other), !both.is_empty());
        prop_assert_eq!(one.is_adjacent(other), other.is_adjacent(one));
    }

    #[test]
    fn bytes_that_are_changed_have_one_form_or_are_refused((of, mut a, b) in pair(), at: usize, byte in 0..4_u8) {
        let at = at % a.len();
        a[at] = byte;
        for bytes in [&a, &b] {
            if let Some(range) = Range::decode(of, bytes)
                && let Some((lower, upper)) = range.bounds()
            {
                let [lower, upper] = [lower, upper]
                    .map(|bound| given(bound.value(of), bound.is_inclusive()));
                let again = Range::of_bounds(of, lower, upper);
                prop_assert_eq!(again.as_ref(), Ok(bytes));
            }
        }
    }

    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40), small in proptest::collection::vec(0..3_u8, 0..24)) {
        for of in KINDS {
            for bytes in [&bytes, &small] {
                if let Some(range) = Range::decode(of, bytes) {
                    prop_assert_eq!(&range.encode(), bytes);
                    if let Some((lower, upper)) = range.bounds() {
                        let [lower, upper] = [lower, upper].map(|bound| {
                            assert_eq!(bound.bytes().is_some(), bound.value(of).is_some());
                            given(bound.value(of), bound.is_inclusive())
                        });
                        let again = Range::of_bounds(of, lower, upper);
                        prop_assert_eq!(again.as_ref(), Ok(bytes));
                    }
                }
            }
        }
    }
}
