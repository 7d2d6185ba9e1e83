//! JSON as the library `cjson` reads and writes it, with its texts of errors.

use super::convert::general;
use super::limits::{Gathered, Limits, Stop};
use mlua::{Lua, Table, Value};

/// Deeper tables, and deeper texts, are refused.
const DEPTH_MAX: usize = 200;
/// An array may have so many holes for each of its items,
const SPARSE_RATIO: usize = 2;
/// if its last place is beyond this.
const SPARSE_FROM: usize = 10;
/// Digits of numbers that are written.
const DIGITS: usize = 14;

/// Writes a value. Each table that is read takes steps; one in several places is read in each.
///
/// # Errors
/// The value cannot be written, or the script exceeds its bounds.
pub(super) fn encode(value: &Value, limits: &Limits) -> Result<Vec<u8>, String> {
    let mut text = Gathered::new(limits);
    write(value, &mut text, 0)?;
    Ok(text.into_bytes())
}

fn write(value: &Value, text: &mut Gathered<'_>, depth: usize) -> Result<(), String> {
    text.visit()?;
    match value {
        Value::String(string) => write_string(&string.as_bytes(), text)?,
        Value::Integer(number) => write_number(*number as f64, text)?,
        Value::Number(number) => write_number(*number, text)?,
        Value::Boolean(true) => text.extend(b"true")?,
        Value::Boolean(false) => text.extend(b"false")?,
        Value::Nil => text.extend(b"null")?,
        Value::LightUserData(data) if data.0.is_null() => text.extend(b"null")?,
        Value::Table(table) => write_table(table, text, depth + 1)?,
        other => {
            let kind = lua_type(other);
            return Err(format!("Cannot serialise {kind}: type not supported"));
        }
    }
    Ok(())
}

/// The name of a type in Lua.
pub(super) fn lua_type(value: &Value) -> &'static str {
    match value {
        Value::Integer(_) => "number",
        Value::LightUserData(_) | Value::UserData(_) | Value::Error(_) => "userdata",
        other => other.type_name(),
    }
}

fn write_number(number: f64, text: &mut Gathered<'_>) -> Result<(), String> {
    if !number.is_finite() {
        return Err("Cannot serialise number: must not be NaN or Inf".into());
    }
    Ok(text.extend(general(number, DIGITS).as_bytes())?)
}

fn write_string(string: &[u8], text: &mut Gathered<'_>) -> Result<(), Stop> {
    text.extend(b"\"")?;
    let is_escaped = |byte: &u8| matches!(byte, b'"' | b'\\' | b'/' | 0..32 | 127);
    let mut rest = string;
    while let Some(at) = rest.iter().position(is_escaped) {
        text.extend(&rest[..at])?;
        match rest[at] {
            byte @ (b'"' | b'\\' | b'/') => text.extend(&[b'\\', byte])?,
            8 => text.extend(b"\\b")?,
            9 => text.extend(b"\\t")?,
            10 => text.extend(b"\\n")?,
            12 => text.extend(b"\\f")?,
            13 => text.extend(b"\\r")?,
            byte => text.extend(format!("\\u{byte:04x}").as_bytes())?,
        }
        rest = &rest[at + 1..];
    }
    text.extend(rest)?;
    text.extend(b"\"")
}

/// The last place of a table that is an array.
fn array_length(table: &Table, text: &Gathered<'_>) -> Result<Option<usize>, String> {
    let (mut last, mut count) = (0_usize, 0_usize);
    for pair in table.pairs::<Value, Value>() {
        let Ok((key, _)) = pair else {
            return Ok(None);
        };
        text.visit()?;
        let place = match key {
            Value::Integer(place) => place as f64,
            Value::Number(place) => place,
            _ => return Ok(None),
        };
        if place < 1.0 || place.fract() != 0.0 || place > u32::MAX.into() {
            return Ok(None);
        }
        last = last.max(place as usize);
        count += 1;
    }
    if last > count * SPARSE_RATIO && last > SPARSE_FROM {
        return Err("Cannot serialise table: excessively sparse array".into());
    }
    Ok((count > 0).then_some(last))
}

fn write_table(table: &Table, text: &mut Gathered<'_>, depth: usize) -> Result<(), String> {
    if depth > DEPTH_MAX {
        return Err(format!("Cannot serialise, excessive nesting ({depth})"));
    }
    if let Some(length) = array_length(table, text)? {
        text.extend(b"[")?;
        for place in 1..=length {
            if place > 1 {
                text.extend(b",")?;
            }
            let item = table.raw_get(place).unwrap_or(Value::Nil);
            write(&item, text, depth)?;
        }
        text.extend(b"]")?;
        return Ok(());
    }
    text.extend(b"{")?;
    let mut is_first = true;
    for pair in table.pairs::<Value, Value>() {
        let Ok((key, value)) = pair else { break };
        if !std::mem::take(&mut is_first) {
            text.extend(b",")?;
        }
        match &key {
            Value::String(key) => write_string(&key.as_bytes(), text)?,
            Value::Integer(_) | Value::Number(_) => {
                text.extend(b"\"")?;
                write(&key, text, depth)?;
                text.extend(b"\"")?;
            }
            other => {
                let kind = lua_type(other);
                return Err(format!(
                    "Cannot serialise {kind}: table key must be a number or string"
                ));
            }
        }
        text.extend(b":")?;
        write(&value, text, depth)?;
    }
    text.extend(b"}")?;
    Ok(())
}

/// Reads a text.
///
/// # Errors
/// The text is not JSON, with the place and the reason; a lack of memory.
pub(super) fn decode(lua: &Lua, text: &[u8]) -> mlua::Result<Result<Value, String>> {
    let mut reader = Reader { lua, text, at: 0 };
    let value = match reader.value(0)? {
        Ok(value) => value,
        Err(wrong) => return Ok(Err(wrong)),
    };
    reader.skip();
    Ok(match reader.at < text.len() {
        true => Err(reader.expected("the end")),
        false => Ok(value),
    })
}

struct Reader<'r> {
    lua: &'r Lua,
    text: &'r [u8],
    at: usize,
}

/// The inner error is one in the text; the outer one is a lack of memory.
type Read<T> = mlua::Result<Result<T, String>>;

impl Reader<'_> {
    fn skip(&mut self) {
        while matches!(self.text.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// An error: the text has something else here than expected.
    fn expected(&self, what: &str) -> String {
        let found = match self.text.get(self.at) {
            None => "T_END",
            Some(b'{') => "T_OBJ_BEGIN",
            Some(b'}') => "T_OBJ_END",
            Some(b'[') => "T_ARR_BEGIN",
            Some(b']') => "T_ARR_END",
            Some(b'"') => "T_STRING",
            Some(b',') => "T_COMMA",
            Some(b':') => "T_COLON",
            Some(b'-' | b'0'..=b'9') => "T_NUMBER",
            Some(b't') if self.text[self.at..].starts_with(b"true") => "T_BOOLEAN",
            Some(b'f') if self.text[self.at..].starts_with(b"false") => "T_BOOLEAN",
            Some(b'n') if self.text[self.at..].starts_with(b"null") => "T_NULL",
            Some(_) => "invalid token",
        };
        self.wrong(what, found, self.at)
    }

    fn wrong(&self, what: &str, found: &str, at: usize) -> String {
        format!("Expected {what} but found {found} at character {}", at + 1)
    }

    fn value(&mut self, depth: usize) -> Read<Value> {
        self.skip();
        let rest = &self.text[self.at..];
        for (word, value) in [
            (&b"true"[..], Value::Boolean(true)),
            (b"false", Value::Boolean(false)),
            (b"null", Value::NULL),
        ] {
            if rest.starts_with(word) {
                self.at += word.len();
                return Ok(Ok(value));
            }
        }
        match rest.first() {
            Some(b'"') => {
                let string = match self.string("value") {
                    Ok(string) => string,
                    Err(wrong) => return Ok(Err(wrong)),
                };
                Ok(Ok(Value::String(self.lua.create_string(string)?)))
            }
            Some(b'-' | b'0'..=b'9') => Ok(self.number().map(Value::Number)),
            Some(b'[' | b'{') if depth >= DEPTH_MAX => Ok(Err(format!(
                "Found too many nested data structures ({})",
                depth + 1
            ))),
            Some(b'[') => self.array(depth + 1),
            Some(b'{') => self.object(depth + 1),
            _ => Ok(Err(self.expected("value"))),
        }
    }

    fn number(&mut self) -> Result<f64, String> {
        let start = self.at;
        let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
        while self.text.get(self.at).is_some_and(is_part) {
            self.at += 1;
        }
        let text = std::str::from_utf8(&self.text[start..self.at]).unwrap_or_default();
        text.parse()
            .map_err(|_| self.wrong("value", "invalid number", start))
    }

    fn string(&mut self, what: &str) -> Result<Vec<u8>, String> {
        let mut string = Vec::new();
        self.at += 1;
        loop {
            let Some(byte) = self.text.get(self.at) else {
                return Err(self.wrong(what, "unexpected end of string", self.at));
            };
            self.at += 1;
            match byte {
                b'"' => return Ok(string),
                b'\\' => self.escaped(what, &mut string)?,
                byte => string.push(*byte),
            }
        }
    }

    fn escaped(&mut self, what: &str, string: &mut Vec<u8>) -> Result<(), String> {
        let at = self.at;
        let byte = self.text.get(at).copied();
        self.at += 1;
        string.push(match byte {
            Some(byte @ (b'"' | b'\\' | b'/')) => byte,
            Some(b'b') => 8,
            Some(b't') => b'\t',
            Some(b'n') => b'\n',
            Some(b'f') => 12,
            Some(b'r') => b'\r',
            Some(b'u') => {
                let character = self.character();
                let character = character
                    .ok_or_else(|| self.wrong(what, "invalid unicode escape code", at - 1))?;
                string.extend(character.encode_utf8(&mut [0; 4]).bytes());
                return Ok(());
            }
            _ => return Err(self.wrong(what, "invalid escape code", at - 1)),
        });
        Ok(())
    }

    /// The character of the digits here, and of those of its second half.
    fn character(&mut self) -> Option<char> {
        let first = self.unit()?;
        if !(0xd800..0xdc00).contains(&first) {
            return char::from_u32(first);
        }
        if !self.text[self.at..].starts_with(b"\\u") {
            return None;
        }
        self.at += 2;
        let second = self
            .unit()?
            .checked_sub(0xdc00)
            .filter(|unit| *unit < 0x400)?;
        char::from_u32(0x10000 + ((first - 0xd800) << 10) + second)
    }

    fn unit(&mut self) -> Option<u32> {
        let digits = self.text.get(self.at..self.at + 4)?;
        if !digits.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        self.at += 4;
        u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    }

    fn array(&mut self, depth: usize) -> Read<Value> {
        let table = self.lua.create_table()?;
        self.at += 1;
        self.skip();
        if self.text.get(self.at) == Some(&b']') {
            self.at += 1;
            return Ok(Ok(Value::Table(table)));
        }
        for place in 1_usize.. {
            match self.value(depth)? {
                Ok(value) => table.raw_set(place, value)?,
                Err(wrong) => return Ok(Err(wrong)),
            }
            self.skip();
            match self.text.get(self.at) {
                Some(b']') => break,
                Some(b',') => self.at += 1,
                _ => return Ok(Err(self.expected("comma or array end"))),
            }
        }
        self.at += 1;
        Ok(Ok(Value::Table(table)))
    }

    fn object(&mut self, depth: usize) -> Read<Value> {
        let table = self.lua.create_table()?;
        self.at += 1;
        self.skip();
        if self.text.get(self.at) == Some(&b'}') {
            self.at += 1;
            return Ok(Ok(Value::Table(table)));
        }
        loop {
            self.skip();
            if self.text.get(self.at) != Some(&b'"') {
                return Ok(Err(self.expected("object key string")));
            }
            let key = match self.string("object key string") {
                Ok(key) => self.lua.create_string(key)?,
                Err(wrong) => return Ok(Err(wrong)),
            };
            self.skip();
            if self.text.get(self.at) != Some(&b':') {
                return Ok(Err(self.expected("colon")));
            }
            self.at += 1;
            match self.value(depth)? {
                Ok(value) => table.raw_set(key, value)?,
                Err(wrong) => return Ok(Err(wrong)),
            }
            self.skip();
            match self.text.get(self.at) {
                Some(b'}') => break,
                Some(b',') => self.at += 1,
                _ => return Ok(Err(self.expected("comma or object end"))),
            }
        }
        self.at += 1;
        Ok(Ok(Value::Table(table)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_written_and_what_is_wrong_is_told() {
        let lua = Lua::new();
        let limits = Limits::new(std::time::Instant::now);
        let encode = |value: &Value| encode(value, &limits);
        let read = |text: &str| decode(&lua, text.as_bytes()).expect("memory");
        for text in [
            "[1,2.5,true,false,null,\"x\\\"\"]",
            "{\"a\":{\"b\":[]}}",
            "\"\\u0001\\/\"",
            "1e+100",
            "[1,[2,[3]]]",
        ] {
            let written = encode(&read(text).expect(text)).expect(text);
            // An empty list is an empty table, which is written as an object.
            let expected = text.replace("[]", "{}");
            assert_eq!(String::from_utf8_lossy(&written), expected);
        }
        let emoji = encode(&read("\"\\ud83d\\ude00 \\u00e9\"").unwrap()).unwrap();
        assert_eq!(String::from_utf8_lossy(&emoji), "\"😀 é\"");
        for (text, wrong) in [
            ("", "Expected value but found T_END at character 1"),
            (
                "tru",
                "Expected value but found invalid token at character 1",
            ),
            ("1 2", "Expected the end but found T_NUMBER at character 3"),
            ("[1,]", "Expected value but found T_ARR_END at character 4"),
            (
                "[1,2",
                "Expected comma or array end but found T_END at character 5",
            ),
            (
                "\"abc",
                "Expected value but found unexpected end of string at character 5",
            ),
            (
                "{bad",
                "Expected object key string but found invalid token at character 2",
            ),
            (
                "{\"a\" 1}",
                "Expected colon but found T_NUMBER at character 6",
            ),
            (
                "\"\\ud83d\"",
                "Expected value but found invalid unicode escape code at character 2",
            ),
            (
                "[-]",
                "Expected value but found invalid number at character 2",
            ),
        ] {
            assert_eq!(read(text).expect_err(text), wrong);
        }
        let deep = "[".repeat(300);
        assert!(read(&deep).unwrap_err().starts_with("Found too many"));
    }
}
