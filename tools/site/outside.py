#!/usr/bin/env python3
"""A preprocessor of mdBook for links of the documents to files outside of docs/, such as sources.

The site has no such files. With `base` in book.toml, these links lead to the repository at that address; without it,
they become their text. With `api`, links to the first file of a crate (`crates/NAME/src/lib.rs`) lead to its pages of
`cargo doc` in that folder of the site. Links inside of docs/ and in code are left alone. mdBook calls this program; see
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


def crate(path):
    """The name of the crate in Rust, if `path` is that of its first file."""
    found = re.fullmatch(r"crates/([a-z]+)/src/lib\.rs", path)
    return found and ("sardonyx" if found[1] == "sardonyx" else f"sardonyx_{found[1]}")


def rewrite(content, folder, base, api):
    """The page with its links outside changed to links into `api` or below `base`, or to text."""
    dropped = []
    up = "../" * len(folder.split("/")) if folder else ""

    def target_of(path):
        """The target of a link in this page to a file of the repository; None if there is no place for it."""
        if api and crate(path):
            return f"{up}{api}/{crate(path)}/index.html"
        return f"{base}/{path}" if base else None

    def link(match):
        if match["code"]:
            return match[0]
        if match["name"]:
            path = outside(folder, match["place"])
            if path is None:
                return match[0]
            if target_of(path):
                return f"[{match['name']}]: {target_of(path)}"
            dropped.append(match["name"])
            return ""
        path = outside(folder, match["target"])
        if path is None:
            return match[0]
        target = target_of(path)
        return f"{match['picture']}[{match['text']}]({target})" if target else match["text"]

    content = PIECES.sub(link, content)
    for name in dropped:
        content = content.replace(f"[{name}]", name)
    return content


def walk(items, base, api):
    for item in items:
        chapter = item.get("Chapter") if isinstance(item, dict) else None
        if not chapter:
            continue
        if chapter.get("path"):
            chapter["content"] = rewrite(chapter["content"], posixpath.dirname(chapter["path"]), base, api)
        walk(chapter["sub_items"], base, api)


def test():
    page = "[a](b.md#c) [`x` y](../crates/x.rs)\n`[n](../n)` [h](https://h)\n```\n[f](../f)\n```\n[`T`]\n\n[`T`]: ../crates/t.rs\n"
    plain = page.replace("[`x` y](../crates/x.rs)", "`x` y").replace("[`T`]: ../crates/t.rs", "").replace("[`T`]", "`T`")
    assert rewrite(page, "", "", "") == plain, rewrite(page, "", "", "")
    linked = page.replace("(../crates", "(B/crates").replace(": ../crates", ": B/crates")
    assert rewrite(page, "", "B", "") == linked, rewrite(page, "", "B", "")
    assert rewrite("[a](../b.md) [c](../../d)", "internals", "B", "") == "[a](../b.md) [c](B/d)"
    crates = "[a](../../crates/sardonyx/src/lib.rs) [b](../../crates/sql/src/lib.rs) [c](../../crates/sql/src/plan.rs)"
    assert rewrite(crates, "internals", "", "") == "a b c"
    pages = "[a](../api/sardonyx/index.html) [b](../api/sardonyx_sql/index.html)"
    assert rewrite(crates, "internals", "", "api") == f"{pages} c", rewrite(crates, "internals", "", "api")
    assert rewrite(crates, "internals", "B", "api") == f"{pages} [c](B/crates/sql/src/plan.rs)"
    book = [{"Chapter": {"content": "[x](../x)", "path": "a.md", "sub_items": []}}, "Separator", {"PartTitle": "p"}]
    walk(book, "B", "")
    assert book[0]["Chapter"]["content"] == "[x](B/x)"


def main():
    if sys.argv[1:2] == ["--test"]:
        return test()
    if sys.argv[1:2] == ["supports"]:
        return None
    context, book = json.load(sys.stdin)
    config = context["config"]["preprocessor"]["outside"]
    base, api = (config.get(name, "").rstrip("/") for name in ("base", "api"))
    walk(book.get("items", book.get("sections", [])), base, api)
    json.dump(book, sys.stdout)
    return None


if __name__ == "__main__":
    main()
