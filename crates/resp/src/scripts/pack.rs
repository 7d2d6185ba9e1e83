//! MessagePack as the library `cmsgpack` reads and writes it.

use super::json::lua_type;
use super::limits::{Gathered, Limits, Stop};
use mlua::{Lua, Table, Value};
use smallvec::SmallVec;

/// Deeper values are written as nothing, and deeper texts refused.
const DEPTH_MAX: usize = 16;
const READ_DEPTH_MAX: usize = 200;

/// Writes values, one behind the other: the first `count` of a table.
///
/// # Errors
/// `count` is 0; the script exceeds its bounds.
pub(super) fn pack(values: &Table, count: usize, limits: &Limits) -> Result<Vec<u8>, String> {
    if count == 0 {
        return Err("bad argument #0 to 'pack' (MessagePack pack needs input.)".into());
    }
    let mut bytes = Gathered::new(limits);
    for place in 1..=count {
        let value = values.raw_get(place).unwrap_or(Value::Nil);
        write(&value, &mut bytes, 1)?;
    }
    Ok(bytes.into_bytes())
}

/// The head of something with a length: short, of 8 bits if it has that, of 16, and of 32.
fn head(
    length: usize,
    short: (u8, usize),
    long: [Option<u8>; 3],
    to: &mut Gathered<'_>,
) -> Result<(), Stop> {
    let mut bytes: SmallVec<[u8; 8]> = SmallVec::new();
    match (length, long) {
        (length, _) if length < short.1 => bytes.push(short.0 | length as u8),
        (0..=0xff, [Some(mark), ..]) => bytes.extend([mark, length as u8]),
        (0..=0xffff, [_, Some(mark), _]) => {
            bytes.push(mark);
            bytes.extend((length as u16).to_be_bytes());
        }
        (_, [_, _, mark]) => {
            bytes.extend(mark);
            bytes.extend((length as u32).to_be_bytes());
        }
    }
    to.extend(&bytes)
}

fn write(value: &Value, bytes: &mut Gathered<'_>, depth: usize) -> Result<(), Stop> {
    bytes.visit()?;
    match value {
        Value::String(string) => {
            let string = string.as_bytes();
            let long = [Some(0xd9), Some(0xda), Some(0xdb)];
            head(string.len(), (0xa0, 32), long, bytes)?;
            bytes.extend(&string)
        }
        Value::Boolean(value) => bytes.extend(&[if *value { 0xc3 } else { 0xc2 }]),
        Value::Integer(number) => write_whole(*number, bytes),
        Value::Number(number) if number.fract() == 0.0 && number.abs() < 9.2e18 => {
            write_whole(*number as i64, bytes)
        }
        Value::Number(number) => write_float(*number, bytes),
        Value::Table(table) if depth < DEPTH_MAX => write_table(table, bytes, depth + 1),
        // Functions, threads, and tables that are nested too deeply.
        other => {
            debug_assert_ne!(lua_type(other), "number");
            bytes.extend(&[0xc0])
        }
    }
}

fn write_float(number: f64, bytes: &mut Gathered<'_>) -> Result<(), Stop> {
    let single = number as f32;
    match f64::from(single) == number {
        true => marked(0xca, &single.to_be_bytes(), bytes),
        false => marked(0xcb, &number.to_be_bytes(), bytes),
    }
}

fn write_whole(number: i64, bytes: &mut Gathered<'_>) -> Result<(), Stop> {
    match number {
        -32..=0x7f => bytes.extend(&[number as u8]),
        0x80..=0xff => marked(0xcc, &[number as u8], bytes),
        0x100..=0xffff => marked(0xcd, &(number as u16).to_be_bytes(), bytes),
        0x1_0000..=0xffff_ffff => marked(0xce, &(number as u32).to_be_bytes(), bytes),
        0x1_0000_0000.. => marked(0xcf, &number.to_be_bytes(), bytes),
        -128..-32 => marked(0xd0, &[number as u8], bytes),
        -0x8000..-128 => marked(0xd1, &(number as i16).to_be_bytes(), bytes),
        -0x8000_0000..-0x8000 => marked(0xd2, &(number as i32).to_be_bytes(), bytes),
        _ => marked(0xd3, &number.to_be_bytes(), bytes),
    }
}

fn marked(mark: u8, number: &[u8], bytes: &mut Gathered<'_>) -> Result<(), Stop> {
    bytes.extend(&[mark])?;
    bytes.extend(number)
}

/// Pairs of a table are walked twice, and not held: there may be more than the interpreter can hold.
fn write_table(table: &Table, bytes: &mut Gathered<'_>, depth: usize) -> Result<(), Stop> {
    let place = |key: &Value| match key {
        Value::Integer(place) => usize::try_from(*place).ok(),
        Value::Number(place) if place.fract() == 0.0 && *place >= 1.0 => Some(*place as usize),
        _ => None,
    };
    // As many places from 1 on as there are items.
    let (mut count, mut last, mut are_places) = (0, 0, true);
    for pair in table.pairs::<Value, Value>() {
        bytes.visit()?;
        let Ok((key, _)) = pair else { break };
        count += 1;
        match place(&key) {
            Some(place) if place > 0 => last = last.max(place),
            _ => are_places = false,
        }
    }
    if are_places && last == count {
        head(count, (0x90, 16), [None, Some(0xdc), Some(0xdd)], bytes)?;
        for place in 1..=count {
            let item = table.raw_get(place).unwrap_or(Value::Nil);
            write(&item, bytes, depth)?;
        }
        return Ok(());
    }
    head(count, (0x80, 16), [None, Some(0xde), Some(0xdf)], bytes)?;
    for pair in table.pairs::<Value, Value>().take(count) {
        let Ok((key, value)) = pair else { break };
        write(&key, bytes, depth)?;
        write(&value, bytes, depth)?;
    }
    Ok(())
}

/// Reads all values.
///
/// # Errors
/// The bytes are no values; a lack of memory.
pub(super) fn unpack(lua: &Lua, bytes: &[u8]) -> mlua::Result<Result<Vec<Value>, String>> {
    /// So many go into the stack of a function that returns them.
    const VALUES_MAX: usize = 1000;
    let mut values = Vec::new();
    let mut reader = Reader { lua, rest: bytes };
    while !reader.rest.is_empty() {
        if values.len() == VALUES_MAX {
            return Ok(Err(format!("more than {VALUES_MAX} values to unpack")));
        }
        match reader.value(0)? {
            Ok(value) => values.push(value),
            Err(wrong) => return Ok(Err(wrong.into())),
        }
    }
    Ok(Ok(values))
}

struct Reader<'r> {
    lua: &'r Lua,
    rest: &'r [u8],
}

const BAD: &str = "Bad data format in input.";
const MISSING: &str = "Missing bytes in input.";

type Read<T> = mlua::Result<Result<T, &'static str>>;

impl<'r> Reader<'r> {
    fn bytes(&mut self, count: usize) -> Option<&'r [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(bytes)
    }

    fn fixed<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    fn length(&mut self, width: usize) -> Option<usize> {
        let bytes = self.bytes(width)?;
        Some(
            bytes
                .iter()
                .fold(0, |length, byte| length << 8 | usize::from(*byte)),
        )
    }

    fn value(&mut self, depth: usize) -> Read<Value> {
        if depth > READ_DEPTH_MAX {
            return Ok(Err(BAD));
        }
        let Some([mark]) = self.fixed() else {
            return Ok(Err(MISSING));
        };
        let number = |number: Option<f64>| Ok(number.map(Value::Number).ok_or(MISSING));
        match mark {
            0..=0x7f => number(Some(mark.into())),
            0xe0.. => number(Some((mark as i8).into())),
            0xc0 => Ok(Ok(Value::Nil)),
            0xc2 | 0xc3 => Ok(Ok(Value::Boolean(mark == 0xc3))),
            0xcc => number(self.fixed().map(|[byte]: [u8; 1]| byte.into())),
            0xcd => number(self.fixed().map(|bytes| u16::from_be_bytes(bytes).into())),
            0xce => number(self.fixed().map(|bytes| u32::from_be_bytes(bytes).into())),
            0xcf => number(self.fixed().map(|bytes| u64::from_be_bytes(bytes) as f64)),
            0xd0 => number(self.fixed().map(|bytes| i8::from_be_bytes(bytes).into())),
            0xd1 => number(self.fixed().map(|bytes| i16::from_be_bytes(bytes).into())),
            0xd2 => number(self.fixed().map(|bytes| i32::from_be_bytes(bytes).into())),
            0xd3 => number(self.fixed().map(|bytes| i64::from_be_bytes(bytes) as f64)),
            0xca => number(self.fixed().map(|bytes| f32::from_be_bytes(bytes).into())),
            0xcb => number(self.fixed().map(f64::from_be_bytes)),
            0xa0..=0xbf => self.string(Some(usize::from(mark & 31))),
            0xd9 | 0xc4 => {
                let length = self.length(1);
                self.string(length)
            }
            0xda | 0xc5 => {
                let length = self.length(2);
                self.string(length)
            }
            0xdb | 0xc6 => {
                let length = self.length(4);
                self.string(length)
            }
            0x90..=0x9f => self.array(Some(usize::from(mark & 15)), depth + 1),
            0xdc => {
                let length = self.length(2);
                self.array(length, depth + 1)
            }
            0xdd => {
                let length = self.length(4);
                self.array(length, depth + 1)
            }
            0x80..=0x8f => self.map(Some(usize::from(mark & 15)), depth + 1),
            0xde => {
                let length = self.length(2);
                self.map(length, depth + 1)
            }
            0xdf => {
                let length = self.length(4);
                self.map(length, depth + 1)
            }
            _ => Ok(Err(BAD)),
        }
    }

    fn string(&mut self, length: Option<usize>) -> Read<Value> {
        match length.and_then(|length| self.bytes(length)) {
            Some(bytes) => Ok(Ok(Value::String(self.lua.create_string(bytes)?))),
            None => Ok(Err(MISSING)),
        }
    }

    fn array(&mut self, length: Option<usize>, depth: usize) -> Read<Value> {
        let Some(length) = length else {
            return Ok(Err(MISSING));
        };
        let table = self.lua.create_table()?;
        for place in 1..=length {
            match self.value(depth)? {
                Ok(value) => table.raw_set(place, value)?,
                Err(wrong) => return Ok(Err(wrong)),
            }
        }
        Ok(Ok(Value::Table(table)))
    }

    fn map(&mut self, length: Option<usize>, depth: usize) -> Read<Value> {
        let Some(length) = length else {
            return Ok(Err(MISSING));
        };
        let table = self.lua.create_table()?;
        for _ in 0..length {
            let (key, value) = match (self.value(depth)?, self.value(depth)?) {
                (Ok(key), Ok(value)) => (key, value),
                (Err(wrong), _) | (_, Err(wrong)) => return Ok(Err(wrong)),
            };
            let is_no_key = match &key {
                Value::Nil => true,
                Value::Number(number) => number.is_nan(),
                _ => false,
            };
            if is_no_key {
                return Ok(Err(BAD));
            }
            table.raw_set(key, value)?;
        }
        Ok(Ok(Value::Table(table)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(lua: &Lua, values: Vec<Value>) -> Vec<u8> {
        let table = lua.create_table().unwrap();
        let count = values.len();
        for (place, value) in values.into_iter().enumerate() {
            table.raw_set(place + 1, value).unwrap();
        }
        pack(&table, count, &Limits::new(std::time::Instant::now)).unwrap()
    }

    #[test]
    fn values_are_written_in_the_shortest_form_and_read_again() {
        let lua = Lua::new();
        for (text, bytes) in [
            ("return {1, 2, 'x'}", &b"\x93\x01\x02\xa1x"[..]),
            ("return {a = 1.5}", b"\x81\xa1a\xca\x3f\xc0\0\0"),
            (
                "return 1, -1, -33, 128, 65536",
                b"\x01\xff\xd0\xdf\xcc\x80\xce\0\x01\0\0",
            ),
            ("return 2^33", b"\xcf\0\0\0\x02\0\0\0\0"),
            ("return 0.1", b"\xcb\x3f\xb9\x99\x99\x99\x99\x99\x9a"),
            ("return -2^31 - 1", b"\xd3\xff\xff\xff\xff\x7f\xff\xff\xff"),
            ("return {}", b"\x90"),
            ("return {[2] = 1}", b"\x81\x02\x01"),
            ("return true, false, nil, 1", b"\xc3\xc2\xc0\x01"),
        ] {
            let values: mlua::MultiValue = lua.load(text).eval().expect(text);
            assert_eq!(packed(&lua, values.into_iter().collect()), bytes, "{text}");
            let read = unpack(&lua, bytes).unwrap().expect(text);
            assert_eq!(packed(&lua, read), bytes, "{text}");
        }
        for (bytes, wrong) in [
            (&b"\xc1"[..], BAD),
            (b"\x92\x01", MISSING),
            (b"\xdd\xff\xff\xff\xff", MISSING),
            (b"\x81\xc0\x01", BAD),
            (&[0x91; 300], BAD),
        ] {
            assert_eq!(unpack(&lua, bytes).unwrap().unwrap_err(), wrong);
        }
    }
}
