//! Keys of searches from values: written as a value, a tuple or a slice of values.

use super::{BadKey, KeyBytes, KeyShape, NULL, Part, SearchKey, THERE, has_zero, push_escaped};
use crate::row::{encode, shown, variable_bytes};
use crate::schema::{KEY_BYTES_MAX, Value, ValueRef};

/// Values of the columns of a key, or of its first columns: a value, a tuple of values, a slice of them.
///
/// Integers may be of any type that has the value; [`Value`] and [`ValueRef`] can be any value.
pub trait KeyValues {
    /// Calls `each` with the values in the order of the columns.
    #[doc(hidden)]
    fn each(&self, each: &mut dyn FnMut(ValueRef<'_>));

    /// The value, if these are bytes and nothing else.
    #[doc(hidden)]
    #[inline]
    fn as_bytes(&self) -> Option<&[u8]> {
        None
    }
}

macro_rules! values {
    ($($type:ty: $value:ident => $as:expr;)*) => {$(
        impl KeyValues for $type {
            #[inline]
            fn each(&self, each: &mut dyn FnMut(ValueRef<'_>)) {
                let $value = self;
                each($as);
            }
        }
    )*};
}

values! {
    bool: value => ValueRef::Bool(*value);
    i8: value => ValueRef::Int(i128::from(*value));
    i16: value => ValueRef::Int(i128::from(*value));
    i32: value => ValueRef::Int(i128::from(*value));
    i64: value => ValueRef::Int(i128::from(*value));
    i128: value => ValueRef::Int(*value);
    u8: value => ValueRef::Int(i128::from(*value));
    u16: value => ValueRef::Int(i128::from(*value));
    u32: value => ValueRef::Int(i128::from(*value));
    u64: value => ValueRef::Int(i128::from(*value));
    u128: value => ValueRef::U128(*value);
    f32: value => ValueRef::Float(f64::from(*value));
    f64: value => ValueRef::Float(*value);
    str: value => ValueRef::Text(value);
    String: value => ValueRef::Text(value);
}

impl KeyValues for Value {
    #[inline]
    fn each(&self, each: &mut dyn FnMut(ValueRef<'_>)) {
        each(self.as_ref());
    }

    #[inline]
    fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Value::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }
}

impl KeyValues for ValueRef<'_> {
    #[inline]
    fn each(&self, each: &mut dyn FnMut(ValueRef<'_>)) {
        each(*self);
    }

    #[inline]
    fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            ValueRef::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }
}

impl KeyValues for [u8] {
    #[inline]
    fn each(&self, each: &mut dyn FnMut(ValueRef<'_>)) {
        each(ValueRef::Bytes(self));
    }

    #[inline]
    fn as_bytes(&self) -> Option<&[u8]> {
        Some(self)
    }
}

impl<T: KeyValues + ?Sized> KeyValues for &T {
    #[inline]
    fn each(&self, each: &mut dyn FnMut(ValueRef<'_>)) {
        (**self).each(each);
    }

    #[inline]
    fn as_bytes(&self) -> Option<&[u8]> {
        (**self).as_bytes()
    }
}

impl<T: KeyValues> KeyValues for Option<T> {
    fn each(&self, each: &mut dyn FnMut(ValueRef<'_>)) {
        match self {
            Some(value) => value.each(each),
            None => each(ValueRef::Null),
        }
    }
}

macro_rules! sequences {
    ($($type:ty),*) => {$(
        impl KeyValues for $type {
            fn each(&self, each: &mut dyn FnMut(ValueRef<'_>)) {
                self.iter().for_each(|value| value.each(each));
            }

            #[inline]
            fn as_bytes(&self) -> Option<&[u8]> {
                match &self[..] {
                    [one] => one.as_bytes(),
                    _ => None,
                }
            }
        }
    )*};
}

sequences!([Value], [ValueRef<'_>], Vec<Value>, Vec<ValueRef<'_>>);

macro_rules! tuples {
    ($($name:ident)*) => {
        impl<$($name: KeyValues),*> KeyValues for ($($name,)*) {
            #[inline]
            #[allow(non_snake_case, unused_variables)]
            fn each(&self, each: &mut dyn FnMut(ValueRef<'_>)) {
                let ($($name,)*) = self;
                $($name.each(each);)*
            }
        }
    };
}

tuples!();
tuples!(A);
tuples!(A B);
tuples!(A B C);
tuples!(A B C D);
tuples!(A B C D E);
tuples!(A B C D E F);

impl KeyShape {
    /// The key of these values: all columns', or the first ones'.
    ///
    /// # Errors
    /// [`BadKey`].
    pub fn of_values(&self, values: &(impl KeyValues + ?Sized)) -> Result<SearchKey, BadKey> {
        self.encode(values, false)
    }

    /// The key of a value that is bytes, of a key of one such column that is ascending and never null: as
    /// [`KeyShape::of_values`], in less time. `None` of other keys, and of one that is too long.
    #[inline]
    pub fn of_bytes(&self, values: &(impl KeyValues + ?Sized)) -> Option<KeyBytes> {
        let bytes = values.as_bytes()?;
        if !self.bytes_alone()?.is_plain_bytes() || bytes.len() > KEY_BYTES_MAX {
            return None;
        }
        let mut key = KeyBytes::default();
        push_escaped(bytes, &mut key);
        (key.len() <= KEY_BYTES_MAX).then_some(key)
    }

    /// A value of bytes whose key is these bytes and two zeroes, of a key as [`KeyShape::of_bytes`] takes it. `None` of other
    /// keys, and of bytes with a zero among them.
    #[inline]
    pub fn bytes_before_end<'v>(&self, values: &'v (impl KeyValues + ?Sized)) -> Option<&'v [u8]> {
        let bytes = values.as_bytes()?;
        let is_it = self.bytes_alone()?.is_plain_bytes()
            && bytes.len() + 2 <= KEY_BYTES_MAX
            && !has_zero(bytes);
        is_it.then_some(bytes)
    }

    /// The whole key of a row whose columns have these values: as [`KeyShape::of_values`], in less time. `None` if a column
    /// cannot have its value, or the key is too long.
    #[inline]
    pub fn of_columns<'v>(&self, value_of: impl Fn(usize) -> ValueRef<'v>) -> Option<KeyBytes> {
        let mut key = KeyBytes::default();
        for part in &self.parts {
            match (value_of(part.column), part.integers) {
                (ValueRef::Int(number), Some(integers)) if part.is_short_and_ascending() => {
                    part.bits_of(ValueRef::Int(number))?;
                    let bytes = number.to_le_bytes();
                    let (short, length) = part.short(&bytes[..integers.bits as usize / 8]);
                    key.extend(&short[..length]);
                }
                (ValueRef::Bytes(bytes), _) if part.is_plain_bytes() => {
                    if bytes.len() > KEY_BYTES_MAX {
                        return None;
                    }
                    push_escaped(bytes, &mut key);
                }
                (value, _) => {
                    let fits = length_of(value) <= KEY_BYTES_MAX && part.push(value, &mut key);
                    if !fits {
                        return None;
                    }
                }
            }
        }
        self.check_length(&key).is_ok().then_some(key)
    }

    /// The key of these values as an entry of an index has it. `None` unless the entry has the whole key and the
    /// values are integers of all its columns; then use [`KeyShape::of_values`].
    #[inline(always)]
    pub fn word_of(&self, values: &(impl KeyValues + ?Sized)) -> Option<u64> {
        if !self.is_exact {
            return None;
        }
        let (mut word, mut free) = (0, u64::BITS);
        let (mut at, mut fits) = (0, true);
        values.each(&mut |value| {
            let part = self.parts.get(at);
            at += 1;
            match part.and_then(|part| part.bits_of(value)) {
                Some((value, bits)) => {
                    free -= bits;
                    word |= value << free;
                }
                None => fits = false,
            }
        });
        (fits && at == self.parts.len()).then_some(word)
    }

    /// The beginning of keys whose last column here, a text or bytes, begins with the value.
    ///
    /// # Errors
    /// [`BadKey`].
    pub fn of_beginning(&self, values: &(impl KeyValues + ?Sized)) -> Result<SearchKey, BadKey> {
        self.encode(values, true)
    }

    fn encode(
        &self,
        values: &(impl KeyValues + ?Sized),
        beginning: bool,
    ) -> Result<SearchKey, BadKey> {
        let mut key = SearchKey::default();
        let (mut at, mut bad) = (0, None);
        let mut last = 0;
        values.each(&mut |value| {
            let part = self.parts.get(at);
            at += 1;
            let Some(part) = part.filter(|_| bad.is_none()) else {
                return;
            };
            last = key.bytes.len();
            key.has_null |= matches!(value, ValueRef::Null);
            let bytes = length_of(value);
            if bytes > KEY_BYTES_MAX {
                // Not encoded: it may have megabytes, and its encoding is not shorter.
                bad = Some(BadKey::TooLong { bytes });
            } else if !part.push(value, &mut key.bytes) {
                let value = shown(value);
                bad = Some(BadKey::Value {
                    column: part.column,
                    value,
                });
            }
        });
        if at > self.parts.len() {
            return Err(BadKey::Columns { values: at });
        }
        if let Some(bad) = bad {
            return Err(bad);
        }
        if beginning
            && at > 0
            && self.parts[at - 1].kind.is_variable()
            && !key.ends_in_null(last, &self.parts[at - 1])
        {
            key.bytes.shorten(2);
        }
        key.is_whole = at == self.parts.len() && !beginning;
        self.check_length(&key.bytes)?;
        Ok(key)
    }
}

/// The length of a text or of bytes; 0 of other values.
fn length_of(value: ValueRef<'_>) -> usize {
    match value {
        ValueRef::Text(text) => text.len(),
        ValueRef::Bytes(bytes) => bytes.len(),
        _ => 0,
    }
}

impl SearchKey {
    /// Returns true if the last column, whose bytes start at `from`, is null.
    fn ends_in_null(&self, from: usize, part: &Part) -> bool {
        let marker = if part.descending { !NULL } else { NULL };
        part.null.is_some() && self.bytes[from] == marker
    }
}

impl Part {
    /// An integer that fits, and how many bits it has.
    #[inline(always)]
    fn bits_of(&self, value: ValueRef<'_>) -> Option<(u64, u32)> {
        let (ValueRef::Int(value), Some(integers)) = (value, self.integers) else {
            return None;
        };
        let all = u64::MAX >> (u64::BITS - integers.bits);
        let distance = u64::try_from(value - integers.least).ok();
        let distance = distance.filter(|distance| *distance <= all)?;
        let flip = if self.descending { all } else { 0 };
        Some((distance ^ flip, integers.bits))
    }

    /// Appends a value; false if this column cannot have it.
    #[inline]
    pub(super) fn push(&self, value: ValueRef<'_>, key: &mut KeyBytes) -> bool {
        let from = key.len();
        let is_null = matches!(value, ValueRef::Null);
        if self.null.is_some() {
            key.push(if is_null { NULL } else { THERE });
        } else if is_null {
            return false;
        }
        let pushed = is_null || self.push_value(value, key);
        self.finish(from, key);
        pushed
    }

    fn push_value(&self, value: ValueRef<'_>, key: &mut KeyBytes) -> bool {
        if self.kind.is_variable() {
            let bytes = variable_bytes(self.kind, value);
            return bytes.map(|bytes| push_escaped(bytes, key)).is_ok();
        }
        let (mut short, mut long) = ([0; 16], Vec::new());
        let place = match short.get_mut(..self.kind.bytes()) {
            Some(place) => place,
            None => {
                long.resize(self.kind.bytes(), 0);
                &mut long[..]
            }
        };
        let fits = encode(self.kind, value, place).is_ok();
        if fits {
            self.push_fixed(place, key);
        }
        fits
    }
}
