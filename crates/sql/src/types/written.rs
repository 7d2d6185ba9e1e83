//! Types as SQL writes them, with lengths, precisions and scales.

use super::{SqlType, TypeSpec, interval_fields};
use crate::error::{SqlError, code};
use crate::names::qualified;
use crate::path::{OF_CATALOGUE, PUBLIC};
use sardonyx::schema::VALUE_BYTES_MAX;
use sqlparser::ast::{
    ArrayElemTypeDef, CharacterLength, DataType, ExactNumberInfo, ObjectName, TimezoneInfo,
    TypeModifier,
};

/// The user-defined types that a statement may name.
pub(crate) trait NamedTypes {
    /// The type of a name; for a domain, that of its values.
    ///
    /// # Errors
    /// `42704` if there is none.
    fn named(&self, schema: Option<&str>, name: &str) -> Result<TypeSpec, SqlError>;

    fn is_domain(&self, of: &DataType) -> bool;
}

/// PostgreSQL's own types only.
#[derive(Debug)]
pub(crate) struct OwnTypes;

impl NamedTypes for OwnTypes {
    fn named(&self, schema: Option<&str>, name: &str) -> Result<TypeSpec, SqlError> {
        Err(unknown_type(schema, name))
    }

    fn is_domain(&self, _of: &DataType) -> bool {
        false
    }
}

pub(crate) fn unknown_type(schema: Option<&str>, name: &str) -> SqlError {
    let shown = match schema {
        Some(schema) if schema != PUBLIC => format!("{schema}.{name}"),
        _ => name.to_string(),
    };
    SqlError::new(
        code::UNKNOWN_OBJECT,
        format!("type \"{shown}\" does not exist"),
    )
}

impl TypeSpec {
    /// The type of a cast. Its scale may be one that columns do not have.
    ///
    /// # Errors
    /// As [`TypeSpec::of_data_type`].
    pub(crate) fn of_cast(
        data_type: &DataType,
        names: &dyn NamedTypes,
    ) -> Result<TypeSpec, SqlError> {
        match data_type {
            DataType::Numeric(info) | DataType::Decimal(info) | DataType::Dec(info) => {
                numeric(info, true)
            }
            other => TypeSpec::of_data_type(other, names),
        }
    }

    /// The type that a text of SQL names.
    ///
    /// # Errors
    /// `0A000` if there is no such type here, `22023` if its length or precision cannot be.
    pub(crate) fn of_data_type(
        data_type: &DataType,
        names: &dyn NamedTypes,
    ) -> Result<TypeSpec, SqlError> {
        let plain = |kind| Ok(TypeSpec::plain(kind));
        match data_type {
            DataType::SmallInt(Some(_))
            | DataType::Int2(Some(_))
            | DataType::Int(Some(_))
            | DataType::Integer(Some(_))
            | DataType::Int4(Some(_))
            | DataType::BigInt(Some(_))
            | DataType::Int8(Some(_))
            | DataType::Double(ExactNumberInfo::Precision(_))
            | DataType::Double(ExactNumberInfo::PrecisionAndScale(..))
            | DataType::Float(ExactNumberInfo::PrecisionAndScale(..)) => {
                Err(no_modifier(data_type))
            }
            DataType::Bool | DataType::Boolean => plain(SqlType::Bool),
            DataType::SmallInt(_) | DataType::Int2(_) => plain(SqlType::Int2),
            DataType::Int(_) | DataType::Integer(_) | DataType::Int4(_) => plain(SqlType::Int4),
            DataType::BigInt(_) | DataType::Int8(_) => plain(SqlType::Int8),
            DataType::Real | DataType::Float4 => plain(SqlType::Float4),
            DataType::Float(ExactNumberInfo::Precision(0)) => Err(invalid(
                "precision for type float must be at least 1 bit".into(),
            )),
            DataType::Float(ExactNumberInfo::Precision(54..)) => Err(invalid(
                "precision for type float must be less than 54 bits".into(),
            )),
            DataType::Float(ExactNumberInfo::Precision(digits)) if *digits <= 24 => {
                plain(SqlType::Float4)
            }
            DataType::Float(_)
            | DataType::Float8
            | DataType::DoublePrecision
            | DataType::Double(_) => plain(SqlType::Float8),
            DataType::Numeric(info) | DataType::Decimal(info) | DataType::Dec(info) => {
                numeric(info, false)
            }
            DataType::Text => plain(SqlType::Text),
            DataType::Varchar(length)
            | DataType::CharacterVarying(length)
            | DataType::CharVarying(length) => text(SqlType::Varchar, length.as_ref(), None),
            DataType::Char(length) | DataType::Character(length) => {
                text(SqlType::Char, length.as_ref(), Some(1))
            }
            DataType::Bytea => plain(SqlType::Bytea),
            DataType::Bit(length) => bits(SqlType::Bit, Some(length.unwrap_or(1))),
            DataType::BitVarying(length) | DataType::VarBit(length) => {
                bits(SqlType::Varbit, *length)
            }
            DataType::Date => plain(SqlType::Date),
            DataType::Time(digits, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => {
                moment(SqlType::Time, *digits)
            }
            DataType::Time(digits, TimezoneInfo::WithTimeZone | TimezoneInfo::Tz) => {
                moment(SqlType::Timetz, *digits)
            }
            DataType::Timestamp(digits, zone) => {
                let kind = match zone {
                    TimezoneInfo::WithTimeZone | TimezoneInfo::Tz => SqlType::Timestamptz,
                    TimezoneInfo::None | TimezoneInfo::WithoutTimeZone => SqlType::Timestamp,
                };
                moment(kind, *digits)
            }
            DataType::Interval { fields, precision } => {
                let fields = fields.as_ref().map(ToString::to_string);
                let modifier = interval_fields::modifier_of(fields.as_deref(), *precision);
                let modifier = modifier.ok_or_else(|| {
                    SqlError::syntax(format!(
                        "{data_type} is no type: these fields have no digits"
                    ))
                })?;
                Ok(TypeSpec::new(SqlType::Interval, modifier))
            }
            DataType::Uuid => plain(SqlType::Uuid),
            DataType::Regclass => plain(SqlType::Regclass),
            DataType::JSON => plain(SqlType::Json),
            DataType::JSONB => plain(SqlType::Jsonb),
            DataType::TsVector => plain(SqlType::Tsvector),
            DataType::TsQuery => plain(SqlType::Tsquery),
            DataType::Array(
                ArrayElemTypeDef::SquareBracket(element, _)
                | ArrayElemTypeDef::Qualified(element, _),
            ) => {
                if names.is_domain(element) {
                    return Err(SqlError::unsupported(format!(
                        "arrays of domains are not supported: {data_type}"
                    )));
                }
                let element = TypeSpec::of_data_type(element, names)?;
                let is_dimension = element.kind.element().is_some();
                match is_dimension {
                    // All dimensions have one type.
                    true => Ok(element),
                    // Elements of an array have no blanks at their ends.
                    false if element.kind == SqlType::Char && element.modifier >= 0 => {
                        Err(SqlError::unsupported(format!(
                            "an array whose elements are {} is not supported",
                            element.to_sql()
                        )))
                    }
                    // The length, or the digits, of its elements.
                    false => Ok(TypeSpec::new(element.kind.array(), element.modifier)),
                }
            }
            DataType::Custom(name, modifiers) => named(name, modifiers, data_type, names),
            other => Err(SqlError::unsupported(format!(
                "the type {other} is not supported"
            ))),
        }
    }
}

/// The dimensions of an array that a type declares; 0 of another type.
pub(crate) fn dimensions_of(data_type: &DataType) -> u8 {
    let (mut count, mut rest) = (0_u8, data_type);
    while let DataType::Array(
        ArrayElemTypeDef::SquareBracket(element, _) | ArrayElemTypeDef::Qualified(element, _),
    ) = rest
    {
        (count, rest) = (count.saturating_add(1), element);
    }
    count
}

fn invalid(message: String) -> SqlError {
    SqlError::new(code::INVALID_PARAMETER_VALUE, message)
}

fn no_modifier(of: &DataType) -> SqlError {
    let name = of.to_string().to_ascii_lowercase();
    let name = name.split('(').next().unwrap_or_default();
    SqlError::syntax(format!("type modifier is not allowed for type \"{name}\""))
}

/// A time with the given digits of a second's fraction, at most six.
fn moment(kind: SqlType, digits: Option<u64>) -> Result<TypeSpec, SqlError> {
    let modifier = digits.map_or(-1, |digits| digits.min(6) as i32);
    Ok(TypeSpec::new(kind, modifier))
}

fn named(
    name: &ObjectName,
    modifiers: &[TypeModifier],
    whole: &DataType,
    names: &dyn NamedTypes,
) -> Result<TypeSpec, SqlError> {
    let (schema, text) = qualified(name)?;
    let schema = schema.filter(|schema| schema != OF_CATALOGUE[0]);
    if schema.is_some() {
        // Extensions are in `public`.
        let is_of_extension = schema.as_deref() == Some("public") && text == SqlType::Hstore.name();
        return match names.named(schema.as_deref(), &text) {
            Err(_) if is_of_extension => {
                without_modifiers(TypeSpec::plain(SqlType::Hstore), modifiers, whole)
            }
            spec => of_user(spec?, modifiers, whole),
        };
    }
    let number = modifiers.first().and_then(|modifier| match modifier {
        TypeModifier::Number(digits, _) => digits.parse::<u64>().ok(),
        _ => None,
    });
    let length = number.map(|length| CharacterLength::IntegerLength { length, unit: None });
    // A type of an extension is not in the catalogue of types, which is searched first.
    if text == SqlType::Hstore.name()
        && let Ok(spec) = names.named(None, &text)
    {
        return of_user(spec, modifiers, whole);
    }
    let spec = match text.as_str() {
        "nchar" if !is_quoted(name) => self::text(SqlType::Char, None, Some(1))?,
        "bpchar" => self::text(SqlType::Char, length.as_ref(), None)?,
        "varchar" => self::text(SqlType::Varchar, length.as_ref(), None)?,
        "bit" => bits(SqlType::Bit, number)?,
        "varbit" => bits(SqlType::Varbit, number)?,
        "oid" => TypeSpec::plain(SqlType::Oid),
        "name" => TypeSpec::plain(SqlType::Name),
        "char" => TypeSpec::plain(SqlType::OneChar),
        _ => {
            let timed = ["time", "timetz", "timestamp", "timestamptz"].contains(&text.as_str());
            let mut kinds = SqlType::all();
            let found = kinds.find(|kind| kind.internal_name() == text || kind.name() == text);
            match found {
                Some(kind) if timed => moment(kind, number)?,
                Some(kind) => TypeSpec::plain(kind),
                None => {
                    let spec = names.named(None, &text);
                    let spec =
                        spec.map_err(|error| match is_multirange(&text) || text == "citext" {
                            true => {
                                SqlError::unsupported(format!("the type {text} is not supported"))
                            }
                            false => error,
                        })?;
                    return of_user(spec, modifiers, whole);
                }
            }
        }
    };
    without_modifiers(spec, modifiers, whole)
}

/// True for a name in quotes, which is no word of the grammar.
fn is_quoted(name: &ObjectName) -> bool {
    let mut parts = name.0.iter().filter_map(|part| part.as_ident());
    parts.any(|part| part.quote_style.is_some())
}

/// True for the name of a type of PostgreSQL's for sets of ranges.
fn is_multirange(name: &str) -> bool {
    let of = name.strip_suffix("multirange");
    of.is_some_and(|of| ["date", "int4", "int8", "num", "ts", "tstz"].contains(&of))
}

/// A type of a user, which has no length or digits.
fn of_user(
    spec: TypeSpec,
    modifiers: &[TypeModifier],
    whole: &DataType,
) -> Result<TypeSpec, SqlError> {
    match modifiers.is_empty() {
        true => Ok(spec),
        false => Err(no_modifier(whole)),
    }
}

/// A type without a length or digits, unless it has them.
fn without_modifiers(
    spec: TypeSpec,
    modifiers: &[TypeModifier],
    whole: &DataType,
) -> Result<TypeSpec, SqlError> {
    match modifiers.is_empty() || spec.modifier >= 0 {
        true => Ok(spec),
        false => Err(no_modifier(whole)),
    }
}

fn text(
    kind: SqlType,
    length: Option<&CharacterLength>,
    otherwise: Option<u64>,
) -> Result<TypeSpec, SqlError> {
    const LENGTH_MAX: u64 = 10_485_760;
    let length = match length {
        Some(CharacterLength::IntegerLength { length, .. }) => Some(*length),
        Some(CharacterLength::Max) => None,
        None => otherwise,
    };
    match length {
        None => Ok(TypeSpec::plain(kind)),
        Some(length @ 1..=LENGTH_MAX) => Ok(TypeSpec::new(kind, length as i32 + 4)),
        Some(length) => {
            let name = match kind {
                SqlType::Char => "char",
                _ => "varchar",
            };
            Err(invalid(match length {
                0 => format!("length for type {name} must be at least 1"),
                _ => format!("length for type {name} cannot exceed {LENGTH_MAX}"),
            }))
        }
    }
}

/// Strings of so many bits.
fn bits(kind: SqlType, length: Option<u64>) -> Result<TypeSpec, SqlError> {
    /// That of PostgreSQL.
    const LENGTH_MAX: u64 = 83_886_080;
    let name = kind.internal_name();
    match length {
        None => Ok(TypeSpec::plain(kind)),
        Some(0) => Err(invalid(format!(
            "length for type {name} must be at least 1"
        ))),
        Some(length) if length > LENGTH_MAX => Err(invalid(format!(
            "length for type {name} cannot exceed {LENGTH_MAX}"
        ))),
        // A bit takes a byte.
        Some(length) if length > VALUE_BYTES_MAX as u64 => Err(SqlError::unsupported(format!(
            "{name}({length}) is not supported: a value has at most {VALUE_BYTES_MAX} bits"
        ))),
        Some(length) => Ok(TypeSpec::new(kind, length as i32)),
    }
}

fn numeric(info: &ExactNumberInfo, is_cast: bool) -> Result<TypeSpec, SqlError> {
    let (precision, scale) = match *info {
        ExactNumberInfo::None => return Ok(TypeSpec::plain(SqlType::Numeric)),
        ExactNumberInfo::Precision(precision) => (precision, 0),
        ExactNumberInfo::PrecisionAndScale(precision, scale) => (precision, scale),
    };
    if !(1..=1000).contains(&precision) {
        return Err(invalid(format!(
            "NUMERIC precision {precision} must be between 1 and 1000"
        )));
    }
    if !(-1000..=1000).contains(&scale) {
        return Err(invalid(format!(
            "NUMERIC scale {scale} must be between -1000 and 1000"
        )));
    }
    if !is_cast && (!(0..=38).contains(&scale) || scale as u64 > precision) {
        return Err(SqlError::unsupported(format!(
            "numeric({precision},{scale}) is not supported: the scale of a column is 0 to 38, and to the precision"
        )));
    }
    Ok(TypeSpec::new(
        SqlType::Numeric,
        ((precision as i32) << 16 | (scale as i32 & 0x7ff)) + 4,
    ))
}
