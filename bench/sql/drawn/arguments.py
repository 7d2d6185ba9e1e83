"""Arguments that a function needs of a kind of its own: patterns, units, places, small counts. Random ones would only be refused.

The key is the function's name and the argument's number, from 0; `*` is every function whose name begins so.
"""

SMALL = ["0", "1", "2", "3", "5", "-1", "-2", "7", "null::int4"]
UNITS = [
    "year", "month", "day", "hour", "minute", "second", "quarter", "week", "decade", "century", "millennium", "milliseconds", "microseconds", "dow", "doy", "isodow", "isoyear", "epoch", "julian",
    "timezone", "timezone_hour", "nothing", "YEARS", "mon", "min", "h",
]
MOMENTS = [
    "YYYY-MM-DD", "HH24:MI:SS.US", "Day, DD Month YYYY", "FMDay FMDDth FMMon", "Q WW IW IYYY", "HH12:MI:SS AM", "DDD J CC", "YY-Mon-DD", "SSSS", "TZ OF", "D ID IDDD", "Y,YYY", "rm RM", '"x"YYYY', "MS FF3",
    "BC a.m.", "TMMonth", "FXYYYY-MM-DD", "YYYYMMDD", "DD.MM.YYYY HH24",
]
NUMBERS = ["999.99", "FM999.00", "S999", "9,999.9", "000.0", "L99", "MI99", "PR", "99PR", "RN", "FMRN", "EEEE", "9.99EEEE", "V99", "99V9", "SG9", "99th", "FM9999999990.099", "", "9G999D99", "B9.99", "PL9"]
PATTERNS = [
    "a", "^a", "b$", "[0-9]+", "^.$", "a|B", "(a)(b)?", ".", "", "x*", "\\d", "[[:alpha:]]+", "(.)(.)", "\\s", "a{2}", "[^a]", "(?i)A", "B", "\\m", "o+", "(", "[", "\\w+", "(foo|bar)", "\\M", "[a-z]{2,}?", "a|b|c", "(?:ab)+", "[[:<:]]a", "\\Aa", "a\\Z", "x{0}", "a{,2}", "\\x61", "\\u0061", "[\\d_]", "^*", "a**", "***=a.", "[b-a]", "\\q", "a*?b", "$", "^",
    ",", "\\.", "(?:a)b", "\\y", "[a-c]", "a.c",
]
FLAGS = ["", "i", "g", "n", "gi", "c", "s", "x", "z", "m"]
SIMILAR = ["%", "a%", "_", "(a|b)%", "%b", "[a-c]+", "a|b", "%[0-9]", "", "a\\%b", "_{2,3}", "a*", "%#\"b#\"%"]
LIKE = ["%", "a%", "%b", "_", "a_", "%ü%", "a\\%b", "_b%", "", "%a%b%", "\\", "%\\\\%", "__"]
ZONES = ["Europe/Berlin", "America/New_York", "UTC", "EST", "+02", "-03:30", "nowhere", "Pacific/Apia", "Asia/Kolkata", "CEST", "utc", "Z"]
PATHS = ["{a}", "{b,0}", "{b,-1}", "{0}", "{}", "{a,b,c}", "{b,1,x}", "{x}", "{NULL}", "{a,NULL}", "{-1}", "{b,a}"]
FORMATS = ["%s", "%I", "%L", "%%", "%s-%s", "%2$s %1$s", "%5s|", "%-5s|", "x", "%", "%d", "%*s", "%1$*2$s", "%-3L", ""]

OF = {
    ("repeat", 1): SMALL, ("lpad", 1): SMALL, ("rpad", 1): SMALL, ("left", 1): SMALL, ("right", 1): SMALL, ("substr", 1): SMALL, ("substr", 2): SMALL, ("substring", 1): SMALL, ("substring", 2): SMALL,
    ("split_part", 2): SMALL, ("overlay", 2): SMALL, ("overlay", 3): SMALL, ("get_byte", 1): SMALL, ("get_bit", 1): SMALL, ("set_byte", 1): SMALL, ("set_bit", 1): SMALL, ("set_bit", 2): SMALL,
    ("round", 1): SMALL + ["-30", "30"], ("trunc", 1): SMALL + ["20"], ("factorial", 0): [f"{n}::int8" for n in (0, 1, 5, 12, 25, 33, -1)],
    ("chr", 0): ["65", "228", "0", "-1", "1114112", "55296", "26085", "10"], ("set_masklen", 1): ["0", "8", "24", "32", "33", "-1", "128", "-2"],
    ("array_length", 1): SMALL, ("array_lower", 1): SMALL, ("array_upper", 1): SMALL, ("array_position", 2): SMALL, ("width_bucket", 3): ["1", "5", "10", "0", "-1", "2147483647"],
    ("power", 1): ["2", "0.5", "-1", "3", "0", "10", "-2.5", "0.0"], ("pow", 1): ["2", "0.5", "-1", "3"], ("make_date", 0): ["2024", "1", "0", "-44", "9999", "300000000"],
    ("make_timestamp", 0): ["2024", "1", "0", "-44"], ("make_timestamptz", 0): ["2024", "1"], ("repeat*", 1): SMALL,
    ("jsonb_array_element", 1): SMALL, ("json_array_element", 1): SMALL,
}
TEXTS_OF = {
    ("date_trunc", 0): UNITS, ("date_part", 0): UNITS, ("extract", 0): UNITS, ("encode", 1): ["hex", "base64", "escape", "HEX", "x"], ("decode", 1): ["hex", "base64", "escape", "x"],
    ("decode", 0): ["6162", "YWJj", "a\\\\b", "a\\001", "zz", "616", "YW Jj", "YQ==", "\\", "Y"], ("to_number", 1): NUMBERS, ("to_date", 1): MOMENTS, ("to_timestamp", 1): MOMENTS,
    ("to_number", 0): ["12.5", "-7", "1,234.50", "$5", "<12>", "5-", "", "abc", "1e5", "XIV", "12th"],
    ("to_date", 0): ["2024-02-29", "29 Feb 2024", "20240229", "2023-02-30", "", "1/2/3", "12", "2024 366", "Monday", "0044-03-15 BC"],
    ("to_timestamp", 0): ["2024-02-29 12:34:56", "12:34:56.789", "11:59 PM", "2024", "", "25:00", "20240229123456", "5 3 2024"],
    ("timezone", 0): ZONES, ("date_trunc", 2): ZONES, ("make_timestamptz", 6): ZONES, ("convert_from", 1): ["UTF8", "utf-8", "LATIN1", "x"], ("convert_to", 1): ["UTF8", "utf-8", "x"],
    ("digest", 1): ["md5", "sha1", "sha256", "SHA512", "x"], ("format", 0): FORMATS, ("similar_to_escape", 0): SIMILAR, ("similar_to_escape", 1): ["\\", "#", "", "ab"], ("unistr", 0): ["\\0061", "a\\u00e9", "\\+01F600", "\\", "\\x", "\\\\", "\\D83D\\DE00"],
    ("like_escape", 1): ["\\", "#", ""], ("translate", 1): ["ab", "a", "", "xyz"], ("translate", 2): ["x", "", "12", "AB"], ("string_to_array", 1): [",", "", "b", " "], ("string_to_table", 1): [",", "", "b"], ("array_to_string", 1): [",", "", "; "],
    ("split_part", 1): [",", "b", "", "aa", " "], ("pg_size_bytes", 0): ["1 kB", "5", "x", "1.5 MB"], ("jsonb_set", 1): PATHS, ("jsonb_delete_path", 1): PATHS, ("jsonb_extract_path", 1): ["a", "b", "0", "-1"],
    ("int4range", 2): ["[]", "[)", "(]", "()", "x", ""], ("numrange", 2): ["[]", "[)", "(]", "()"], ("daterange", 2): ["[]", "[)", "(]", "()"], ("tsrange", 2): ["[]", "()"], ("int8range", 2): ["[]", "()"], ("tstzrange", 2): ["[]", "(]"],
    ("btrim", 1): ["a", " ", "ab", "", "é"], ("ltrim", 1): ["a", " ", "ab"], ("rtrim", 1): ["a", " ", "ab", "b"], ("ts_delete", 1): ["a", "cat", "", "{a,b}"],
    ("concat_ws", 0): [",", "", "-"], ("jsonb_object_field", 1): ["a", "b", ""],
}
# Of all functions whose names begin so, the argument that is a pattern, and options.
PATTERNS_AT, FLAGS_AT = {"regexp_": 1, "substring": 1, "textregexeq": 1}, {
    "regexp_count": 3, "regexp_instr": 5, "regexp_like": 2, "regexp_match": 2, "regexp_matches": 2, "regexp_replace": 3, "regexp_split_to_array": 2, "regexp_split_to_table": 2, "regexp_substr": 4,
}
OPERATORS = {
    "~~": LIKE, "!~~": LIKE, "~~*": LIKE, "!~~*": LIKE, "~": PATTERNS, "!~": PATTERNS, "~*": PATTERNS, "!~*": PATTERNS,
    "->": ["a", "b", ""], "->>": ["a", "b", "x"], "#>": PATHS, "#>>": PATHS, "#-": PATHS, "?": ["a", "b", "t"], "?|": ["{a,b}", "{x}", "{}"], "?&": ["{a,b}", "{a}", "{}"],
}


def of_argument(name, at, kind, count):
    """Texts of SQL for an argument, or raw texts to be quoted; neither if any value will do."""
    if (name, at) in OF and kind in ("int2", "int4", "int8", "numeric", "float8"):
        return OF[name, at], None
    if kind not in ("text", "text[]", "name"):
        return None, None
    if name in ("substring", "overlay") and kind == "text" and at == 1:
        return None, SIMILAR if count == 3 and name == "substring" else PATTERNS if name == "substring" else None
    if name.startswith("regexp_"):
        if at == 1:
            return None, PATTERNS
        if at == FLAGS_AT.get(name):
            return None, FLAGS
        if at == 2 and name == "regexp_replace":
            return None, ["x", "[\\1]", "\\&\\&", "", "\\\\", "\\2", "\\"]
    if name == "to_char":
        return None, None
    return None, TEXTS_OF.get((name, at))
