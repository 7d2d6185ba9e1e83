"""A script for psql as single statements: texts, variables, data of `COPY … FROM stdin`, commands with a backslash.

Kept: `\\set`, `\\getenv`, `\\gset`, `:name`, `:'name'` and `:"name"`, `\\g` as an end of a statement. Other commands of psql show
something to a person, or steer psql, and are left out.
"""

import os
import re
from dataclasses import dataclass, field

NAME = re.compile(r":(?:'(\w+)'|\"(\w+)\"|(\w+))")
DOLLAR = re.compile(r"\$(?:[A-Za-z_]\w*)?\$")
FROM_STDIN = re.compile(r"^\s*copy\b.*\bfrom\s+stdin\b", re.IGNORECASE | re.DOTALL)
BODY = re.compile(r"begin\s+atomic\b", re.IGNORECASE)


@dataclass
class Statement:
    text: str
    # The data of a COPY.
    data: str | None = None
    # The prefix of variables that get the row's values.
    sets: str | None = None
    # Commands before it that set variables.
    before: list[str] = field(default_factory=list)


def quoted_end(text, at):
    """Behind a quoted part that begins here, a comment or a text between dollars; `at` if there is none."""
    if text.startswith("--", at):
        end = text.find("\n", at)
        return len(text) if end < 0 else end
    if text.startswith("/*", at):
        depth, at = 1, at + 2
        while depth and at < len(text):
            if text.startswith("/*", at):
                depth, at = depth + 1, at + 2
            elif text.startswith("*/", at):
                depth, at = depth - 1, at + 2
            else:
                at += 1
        return at
    if found := DOLLAR.match(text, at):
        if at and (text[at - 1].isalnum() or text[at - 1] in "_$"):
            return at
        end = text.find(found[0], found.end())
        return len(text) if end < 0 else end + len(found[0])
    quote = text[at]
    if quote not in "'\"":
        return at
    has_escapes = quote == "'" and at and text[at - 1] in "eE" and not (at > 1 and (text[at - 2].isalnum() or text[at - 2] == "_"))
    at += 1
    while at < len(text):
        if has_escapes and text[at] == "\\":
            at += 2
        elif text[at] == quote:
            if text[at + 1 : at + 2] != quote:
                return at + 1
            at += 2
        else:
            at += 1
    return at


def statements(text):
    """The statements of a script, in their order."""
    at = start = depth = 0
    before = []

    def ended(end, sets=None):
        nonlocal before
        inner = text[start:end].strip()
        if not re.sub(r"--[^\n]*|/\*.*?\*/", "", inner, flags=re.DOTALL).strip():
            return None
        one, before = Statement(inner, sets=sets, before=before), []
        return one

    while at < len(text):
        behind = quoted_end(text, at)
        if behind > at:
            at = behind
            continue
        letter = text[at]
        depth = max(0, depth + (letter in "([") - (letter in ")]"))
        if letter == "\\":
            end = text.find("\n", at)
            end = len(text) if end < 0 else end
            command = text[at:end]
            if command.startswith("\\;"):
                at += 2
                continue
            if re.match(r"\\g(set|exec|x|desc)?\b", command):
                found = re.match(r"\\gset\s*(\w*)", command)
                if one := ended(at, found[1] if found else None):
                    yield one
            elif re.match(r"\\(set|getenv|unset)\b", command):
                before.append(command)
            elif command.startswith("\\crosstabview") and (one := ended(at)):
                yield one
            at = start = end
            depth = 0
        elif letter == ";" and depth == 0 and not (BODY.search(text, start, at) and not re.search(r"\bend\s*$", text[start:at], re.IGNORECASE)):
            one = ended(at)
            at += 1
            if one and FROM_STDIN.match(re.sub(r"--[^\n]*\n", "", one.text)):
                line = text.find("\n", at) + 1
                end = text.find("\n\\.", line - 1)
                # Behind one that fails there is no data, but an empty line.
                if line > 0 and end >= 0 and text[line : line + 1] != "\n":
                    one.data = text[line : end + 1]
                    at = text.find("\n", end + 1)
                    at = len(text) if at < 0 else at
            start = at
            if one:
                yield one
        else:
            at += 1
    if one := ended(len(text)):
        yield one


class Variables(dict):
    """psql's variables of a connection."""

    def command(self, text):
        words = re.findall(r"'(?:[^']|'')*'|\S+", text)
        if words[0] == "\\getenv" and len(words) > 2:
            self[words[1]] = os.environ.get(words[2], "")
        elif words[0] == "\\set" and len(words) > 1:
            self[words[1]] = "".join(self.word(word) for word in words[2:])
        elif words[0] == "\\unset" and len(words) > 1:
            self.pop(words[1], None)

    def word(self, word):
        if word.startswith("'"):
            return word[1:-1].replace("''", "'")
        return self.get(word[1:], word) if word.startswith(":") else word

    def put_into(self, text):
        """A statement with the values of the variables that it names."""
        if ":" not in text or not self:
            return text
        parts, at, start = [], 0, 0
        while at < len(text):
            behind = quoted_end(text, at)
            if behind > at:
                at = behind
                continue
            found = NAME.match(text, at) if text[at] == ":" and text[at - 1 : at] != ":" else None
            name = found and (found[1] or found[2] or found[3])
            if name in self:
                quote = "'" if found[1] else '"' if found[2] else ""
                parts += [text[start:at], quote + self[name].replace(quote or "\0", quote * 2) + quote]
                at = start = found.end()
            else:
                at += 1
        return "".join([*parts, text[start:]])
