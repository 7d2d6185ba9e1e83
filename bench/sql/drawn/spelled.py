"""Texts of dates, times, numbers and arrays in many spellings, now and then with something wrong."""

PIECES = ["a", "b", "ab", "A", " ", "", "é", "%", "_", "\\", "x,y", ",", "{", "}", '"', "null", "1", "-1", "ß", "İ", "日"]


def type_name(kind):
    """A type as SQL: `char` without quotes is another one."""
    return f'"char"{kind[4:]}' if kind.startswith("char") else kind


def text(drawn):
    return "".join(drawn.pick(PIECES) for _ in range(drawn.number(0, 4)))


def number(drawn):
    digits, size = drawn.number(0, 6), 10 ** drawn.number(1, 9)
    return f"{drawn.number(-size, size) / 10**digits:.{digits}f}"


def moment(drawn, kind):
    """A date, a time and a zone in some order and spelling."""
    pick, whole = drawn.pick, drawn.number
    year, month, day = whole(1, 2100), whole(0, 13), whole(0, 32)
    name = pick(["jan", "Feb", "MARCH", "sept", "Dec.", "Smarch"])
    date = pick([
        f"{year:04}-{month:02}-{day:02}", f"{year:04}-{month}-{day}", f"{year:04}{month:02}{day:02}", f"{month}/{day}/{year:04}", f"{month}.{day}.{year % 100:02}", f"{name} {day} {year:04}",
        f"{day}-{name}-{year:04}", f"{day} {name} {year % 100:02}", f"{year:04}.{whole(0, 400):03}", f"{year:04}-{name}-{day}", f"J{whole(0, 3000000)}", f"y{year:04}m{month}d{day}", f"{name} {day}", "epoch", "",
    ])
    hour, minute, second = whole(0, 25), whole(0, 61), whole(0, 61)
    fraction = pick(["", "", ".", ".5", ".1234567", ".9999999"])
    time = pick([
        f"{hour:02}:{minute:02}:{second:02}{fraction}", f"{hour}:{minute}", f"{hour:02}{minute:02}{second:02}{fraction}", f"T{hour:02}:{minute:02}", f"{hour:02}{minute:02}", f"h{hour}mm{minute}", "allballs", "", "",
    ])
    zone = pick(["", "", "", "Z", "UTC", "EST", "pdt", "cest", "+02", "-0330", "+02:30:15", "+16", "x"])
    parts = [date, time + pick(["", " "]) + zone, pick(["", "", "", "am", "PM"]), pick(["", "", "", "BC", "ad"])]
    if drawn.chance(15):
        drawn.random.shuffle(parts)
    return pick([" ", " ", "T", ", "]).join(part for part in parts[:2] if part) + " " + " ".join(part for part in parts[2:] if part)


def elements(drawn, depth, plain):
    if depth:
        return "{" + ",".join(elements(drawn, depth - 1, plain) for _ in range(drawn.number(1, 2))) + "}"
    return drawn.pick(["null", "NULL", " 4 ", '"5"', "x", "", "07"]) if drawn.chance(25) else str(drawn.number(-9, 9))


def array(drawn, kind):
    text = elements(drawn, drawn.pick([1, 1, 1, 2, 3]), kind)
    draws = drawn.random.random()
    if draws < 0.08:
        return text[:-1]
    if draws < 0.16:
        return f"[{drawn.number(-1, 2)}:{drawn.number(0, 3)}]={text}"
    return "{}" if draws < 0.24 else text
