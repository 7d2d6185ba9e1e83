//! The functions that there are.

macro_rules! functions {
    ($($name:ident),* $(,)?) => {
        /// A function.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(crate) enum Function { $($name),* }
    };
}

functions!(
    Abs,
    Btrim,
    Ceil,
    CharLength,
    ClockTimestamp,
    Concat,
    ConcatWs,
    CurrentDate,
    CurrentSetting,
    CurrentUser,
    DatePart,
    DateTrunc,
    Div,
    Exp,
    Floor,
    FormatType,
    Greatest,
    InitCap,
    Least,
    Left,
    Ln,
    Log,
    Lower,
    Lpad,
    Ltrim,
    Nextval,
    Currval,
    Lastval,
    Setval,
    Now,
    OctetLength,
    Power,
    QuoteIdent,
    Random,
    RandomUuid,
    Repeat,
    Replace,
    Reverse,
    Right,
    Round,
    Rpad,
    Rtrim,
    SetConfig,
    Sign,
    SplitPart,
    Sqrt,
    StartsWith,
    StatementTimestamp,
    Strpos,
    Substring,
    ToRegclass,
    ToRegtype,
    ToTimestamp,
    Trunc,
    Upper,
    MakeDate,
    Ascii,
    Chr,
    Matches,
    MatchesAnyCase,
    ArrayToString,
    ArrayKey,
    AgainstArray,
    Unnest,
    Subscripts,
    Ordinals,
    ArrayUpper,
    ArrayLower,
    ArrayLength,
    ArrayCount,
    ArrayDimensions,
    ArrayBounds,
    ArrayAppend,
    ArrayPrepend,
    ArrayRemove,
    ArrayPosition,
    StringToArray,
    ElementAt,
    ArrayMake,
    ArrayConcat,
    Pad,
    JsonObject,
    JsonbObject,
    JsonArray,
    ToJson,
    IndexDefinition,
    ViewDefinition,
    ConstraintDefinition,
    ObjectDescription,
    ColumnDescription,
    SerialSequence,
    SizePretty,
    TableName,
);

impl Function {
    /// Whether it gives a row for each element of the array that it returns.
    pub fn gives_rows(self) -> bool {
        matches!(
            self,
            Function::Unnest | Function::Subscripts | Function::Ordinals
        )
    }

    /// Whether it gives the same value for the same arguments, always and in every session.
    pub fn is_immutable(self) -> bool {
        !self.is_volatile()
            && !matches!(
                self,
                Function::Now
                    | Function::StatementTimestamp
                    | Function::CurrentDate
                    | Function::CurrentUser
                    | Function::CurrentSetting
                    | Function::FormatType
                    | Function::ToRegclass
                    | Function::ToRegtype
                    | Function::IndexDefinition
                    | Function::ViewDefinition
                    | Function::ConstraintDefinition
                    | Function::ObjectDescription
                    | Function::ColumnDescription
                    | Function::SerialSequence
                    | Function::TableName
            )
    }

    /// Whether it may give another value each time.
    pub fn is_volatile(self) -> bool {
        matches!(
            self,
            Function::Random
                | Function::RandomUuid
                | Function::SetConfig
                | Function::Nextval
                | Function::Setval
                | Function::Currval
                | Function::Lastval
                | Function::ClockTimestamp
        )
    }
}
