#!/usr/bin/env python3
"""A preprocessor of mdBook: the guides of the bindings become pages of the site, and links to other files are mended.

The site has the pages of docs/. The guides of Python and C lie beside their code, since the packages have them, too; this
program adds them below the page docs/languages.md. The site has no other files of the repository. With `base` in
book.toml, links to them lead to the repository at that address; without it, they become their text. With `api`, links to
the first file of a crate (`crates/NAME/src/lib.rs`) lead to its pages of `cargo doc` in that folder of the site. Links
between pages of docs/ and in code are left alone. mdBook calls this program; see book.toml. `python3
tools/site/outside.py --test` tests it.
"""

import json
import pathlib
import posixpath
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The page below which the guides of the bindings are, and these: file in the repository, name, and path in the site.
PARENT = "languages.md"
GUIDES = [("bindings/python/README.md", "Python", "python.md"), ("bindings/c/README.md", "C", "c.md")]

# A fenced block, a code span, or the end of an inline link with its text before.
PIECES = re.compile(
    r"(?P<code>^ *(?P<fence>```+|~~~+)[^\n]*\n.*?^ *(?P=fence) *$|(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`))"
    r"|(?P<picture>!?)\[(?P<text>(?:[^\]\[`]|`[^`]*`)*)\]\((?P<target>[^)\s]+)\)"
    r"|^\[(?P<name>(?:[^\]\[])+)\]: (?P<place>\S+)$",
    re.MULTILINE | re.DOTALL,
)


def resolved(directory, target):
    """The path from the repository's root of a link in a page of this directory, and its anchor; None if it is elsewhere."""
    if "://" in target or target.startswith(("#", "mailto:", "/")):
        return None
    path, hash_, anchor = target.partition("#")
    return posixpath.normpath(posixpath.join(directory, path)), hash_ + anchor


def page_of(path):
    """The path in the site of a file of the repository; None if the site does not have it."""
    guides = {file: place for file, _, place in GUIDES}
    return path.removeprefix("docs/") if path.startswith("docs/") else guides.get(path)


def crate(path):
    """The name of the crate in Rust, if `path` is that of its first file."""
    found = re.fullmatch(r"crates/([a-z]+)/src/lib\.rs", path)
    return found and ("sardonyx" if found[1] == "sardonyx" else f"sardonyx_{found[1]}")


def rewrite(content, page, base, api, directory=None):
    """The content of a page with its links changed to links of the site, into `api` or below `base`, or to text.

    `page` is its path in the site; `directory` that of its file in the repository, if it is not one of docs/.
    """
    dropped = []
    folder = posixpath.dirname(page)
    up = "../" * len(folder.split("/")) if folder else ""
    is_document = directory is None
    directory = posixpath.join("docs", folder).rstrip("/") if is_document else directory

    def target_of(target):
        """The target in the site of a link: itself if it need not change, None if there is no place for it."""
        place = resolved(directory, target)
        if place is None or (is_document and place[0].startswith("docs/")):
            return target
        path, anchor = place
        if page_of(path):
            return posixpath.relpath(page_of(path), folder or ".") + anchor
        if api and crate(path):
            return f"{up}{api}/{crate(path)}/index.html"
        return f"{base}/{path}{anchor}" if base else None

    def link(match):
        if match["code"]:
            return match[0]
        if match["name"]:
            target = target_of(match["place"])
            if target:
                return f"[{match['name']}]: {target}"
            dropped.append(match["name"])
            return ""
        target = target_of(match["target"])
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
            chapter["content"] = rewrite(chapter["content"], chapter["path"], base, api)
        walk(chapter["sub_items"], base, api)
        if chapter.get("path") == PARENT:
            chapter["sub_items"] += guides(chapter, base, api)


def guides(parent, base, api):
    """The guides of the bindings as pages below their parent."""
    pages = []
    for number, (file, name, path) in enumerate(GUIDES, len(parent["sub_items"]) + 1):
        content = rewrite((ROOT / file).read_text(), path, base, api, posixpath.dirname(file))
        own = parent.get("number")
        page = {"name": name, "content": content, "number": own and [*own, number], "sub_items": [], "path": path}
        page |= {"source_path": None, "parent_names": [*parent.get("parent_names", []), parent["name"]]}
        pages.append({"Chapter": page})
    return pages


def test():
    page = "[a](b.md#c) [`x` y](../crates/x.rs)\n`[n](../n)` [h](https://h)\n```\n[f](../f)\n```\n[`T`]\n\n[`T`]: ../crates/t.rs\n"
    plain = page.replace("[`x` y](../crates/x.rs)", "`x` y").replace("[`T`]: ../crates/t.rs", "").replace("[`T`]", "`T`")
    assert rewrite(page, "p.md", "", "") == plain, rewrite(page, "p.md", "", "")
    linked = page.replace("(../crates", "(B/crates").replace(": ../crates", ": B/crates")
    assert rewrite(page, "p.md", "B", "") == linked, rewrite(page, "p.md", "B", "")
    assert rewrite("[a](../b.md) [c](../../d#e)", "internals/p.md", "B", "") == "[a](../b.md) [c](B/d#e)"
    crates = "[a](../../crates/sardonyx/src/lib.rs) [b](../../crates/sql/src/lib.rs) [c](../../crates/sql/src/plan.rs)"
    assert rewrite(crates, "internals/p.md", "", "") == "a b c"
    pages = "[a](../api/sardonyx/index.html) [b](../api/sardonyx_sql/index.html)"
    assert rewrite(crates, "internals/p.md", "", "api") == f"{pages} c", rewrite(crates, "internals/p.md", "", "api")
    assert rewrite(crates, "internals/p.md", "B", "api") == f"{pages} [c](B/crates/sql/src/plan.rs)"
    book = [{"Chapter": {"content": "[x](../x)", "path": "a.md", "sub_items": []}}, "Separator", {"PartTitle": "p"}]
    walk(book, "B", "")
    assert book[0]["Chapter"]["content"] == "[x](B/x)"
    # The guides of the bindings are pages, which others link to, and which link to documents.
    to_guides = "[p](../bindings/python/README.md) [c](../bindings/c/README.md#d)"
    assert rewrite(to_guides, "a.md", "", "") == "[p](python.md) [c](c.md#d)"
    assert rewrite("[c](../../bindings/c/README.md)", "papers/a.md", "", "") == "[c](../c.md)"
    guide = "[a](../../docs/internals/b.md#c) [d](../python/README.md) [e](examples) [f](#g)"
    assert rewrite(guide, "c.md", "", "", "bindings/c") == "[a](internals/b.md#c) [d](python.md) e [f](#g)"
    book = [{"Chapter": {"content": "", "name": "n", "number": [4], "path": PARENT, "sub_items": []}}]
    walk(book, "", "")
    added = [page["Chapter"] for page in book[0]["Chapter"]["sub_items"]]
    assert [(page["path"], page["number"], page["parent_names"]) for page in added] == [("python.md", [4, 1], ["n"]), ("c.md", [4, 2], ["n"])]
    assert all(page["content"].startswith("# Sardonyx") and "](../" not in page["content"] for page in added)


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
