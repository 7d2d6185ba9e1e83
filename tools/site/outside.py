#!/usr/bin/env python3
"""A preprocessor of mdBook for links of the documents to files outside of docs/, such as sources.

The site has no such files. With `base` in book.toml, these links lead to the repository at that address; without it,
they become their text. Links inside of docs/ and in code are left alone. mdBook calls this program; see
book.toml. `python3 tools/site/outside.py --test` tests it.
"""

import json
import posixpath
import re
import sys

# A fenced block, a code span, or the end of an inline link with its text before.
PIECES = re.compile(
    r"(?P<code>^ *(?P<fence>```+|~~~+)[^\n]*\n.*?^ *(?P=fence) *$|(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`))"
    r"|(?P<picture>!?)\[(?P<text>(?:[^\]\[`]|`[^`]*`)*)\]\((?P<target>[^)\s]+)\)"
    r"|^\[(?P<name>(?:[^\]\[])+)\]: (?P<place>\S+)$",
    re.MULTILINE | re.DOTALL,
)


def outside(folder, target):
    """The path from the repository's root, if `target`, in a page of `folder` below docs/, leads out of docs/."""
    if "://" in target or target.startswith(("#", "mailto:", "/")):
        return None
    path, hash_, anchor = target.partition("#")
    path = posixpath.normpath(posixpath.join("docs", folder, path))
    return None if path.startswith("docs/") else path + hash_ + anchor


def rewrite(content, folder, base):
    """The page with its links outside changed to links below `base`, or to text."""
    dropped = []

    def link(match):
        if match["code"]:
            return match[0]
        if match["name"]:
            path = outside(folder, match["place"])
            if path is None:
                return match[0]
            if base:
                return f"[{match['name']}]: {base}/{path}"
            dropped.append(match["name"])
            return ""
        path = outside(folder, match["target"])
        if path is None:
            return match[0]
        return f"{match['picture']}[{match['text']}]({base}/{path})" if base else match["text"]

    content = PIECES.sub(link, content)
    for name in dropped:
        content = content.replace(f"[{name}]", name)
    return content


def walk(items, base):
    for item in items:
        chapter = item.get("Chapter") if isinstance(item, dict) else None
        if not chapter:
            continue
        if chapter.get("path"):
            chapter["content"] = rewrite(chapter["content"], posixpath.dirname(chapter["path"]), base)
        walk(chapter["sub_items"], base)


def test():
    page = "[a](b.md#c) [`x` y](../crates/x.rs)\n`[n](../n)` [h](https://h)\n```\n[f](../f)\n```\n[`T`]\n\n[`T`]: ../crates/t.rs\n"
    plain = page.replace("[`x` y](../crates/x.rs)", "`x` y").replace("[`T`]: ../crates/t.rs", "").replace("[`T`]", "`T`")
    assert rewrite(page, "", "") == plain, rewrite(page, "", "")
    linked = page.replace("(../crates", "(B/crates").replace(": ../crates", ": B/crates")
    assert rewrite(page, "", "B") == linked, rewrite(page, "", "B")
    assert rewrite("[a](../b.md) [c](../../d)", "internals", "B") == "[a](../b.md) [c](B/d)"
    book = [{"Chapter": {"content": "[x](../x)", "path": "a.md", "sub_items": []}}, "Separator", {"PartTitle": "p"}]
    walk(book, "B")
    assert book[0]["Chapter"]["content"] == "[x](B/x)"


def main():
    if sys.argv[1:2] == ["--test"]:
        return test()
    if sys.argv[1:2] == ["supports"]:
        return None
    context, book = json.load(sys.stdin)
    base = context["config"]["preprocessor"]["outside"].get("base", "").rstrip("/")
    walk(book.get("items", book.get("sections", [])), base)
    json.dump(book, sys.stdout)
    return None


if __name__ == "__main__":
    main()
