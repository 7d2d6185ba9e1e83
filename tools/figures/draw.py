#!/usr/bin/env python3
"""Draws the pictures of the documents: pipeline.svg, four-ways.svg and crash-recovery.svg. Writes captions into the others.

    python3 tools/figures/draw.py            writes them into docs/figures
    python3 tools/figures/draw.py --check    compares, and fails if one differs, or has no caption (captions.py)

Each picture has a title, follows the reader's light or dark scheme, and needs no font of its own. Its words are here, so
that a change of a word is a change of this file.
"""

import argparse
import pathlib
import sys
from xml.sax.saxutils import escape

import captions

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "docs" / "figures"

# The colours are those of the charts (crates/results): blue is memory, orange is disk, green is a client's answer.
STYLE = """\
.sdx{font-family:Helvetica,Arial,'Liberation Sans',sans-serif;font-size:14px}
.sdx text{fill:#222}.sdx .title{font-size:17px;font-weight:bold}.sdx .head{font-weight:bold}.sdx .small{font-size:12.5px}
.sdx .paper{fill:#fff}.sdx .line{fill:none;stroke:#444;stroke-width:1.6}.sdx .tip{fill:#444}
.sdx .plain{fill:#f3f3f3;stroke:#777}.sdx .memory{fill:#e8f2fa;stroke:#0064a8}.sdx .disk{fill:#fdeee4;stroke:#cc4a00}
.sdx .good{fill:#e3f4ee;stroke:#007d5a}.sdx .bad{fill:#fff;stroke:#cc4a00;stroke-dasharray:5 4}
.sdx .crash{stroke:#c00020;stroke-width:2.5}.sdx .red{fill:#c00020;font-weight:bold}
@media (prefers-color-scheme:dark){
.sdx text{fill:#e2e2e2}.sdx .paper{fill:#181a1c}.sdx .line{stroke:#aaa}.sdx .tip{fill:#aaa}
.sdx .plain{fill:#26292c;stroke:#888}.sdx .memory{fill:#16293a;stroke:#5ab4f0}.sdx .disk{fill:#3a2416;stroke:#ff9350}
.sdx .good{fill:#12302a;stroke:#35c99c}.sdx .bad{fill:#181a1c;stroke:#ff9350}
.sdx .crash{stroke:#ff5c70}.sdx .red{fill:#ff5c70}}
"""


class Picture:
    """One drawing: boxes, arrows and words at places that its function sets."""

    def __init__(self, width, height, title, description):
        self.width, self.height, self.title = width, height, title
        self.parts = []
        self.head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="sdx" role="img" viewBox="0 0 {width} {height}"'
            f' width="{width}" height="{height}">\n<title>{escape(title)}</title>\n<desc>{escape(description)}</desc>\n'
            f"<style>\n{STYLE}</style>\n"
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8"'
            ' markerUnits="userSpaceOnUse" orient="auto"><path class="tip" d="M0 0L8 4L0 8z"/></marker></defs>\n'
            f'<rect class="paper" width="{width}" height="{height}"/>\n'
        )
        self.text(20, 30, title, "title", "start")

    def text(self, x, y, words, kind="small", anchor="middle"):
        self.parts.append(f'<text class="{kind}" x="{x}" y="{y}" text-anchor="{anchor}">{escape(words)}</text>')

    def box(self, x, y, width, height, kind, head, *lines):
        self.parts.append(
            f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{height}" rx="6" stroke-width="1.6"/>'
        )
        rows = [(head, "head")] + [(line, "small") for line in lines]
        top = y + height / 2 - 9 * (len(rows) - 1) + 5
        for place, (words, style) in enumerate(rows):
            self.text(x + width / 2, round(top + 18 * place, 1), words, style)

    def arrow(self, *points):
        path = "M" + "L".join(f"{x} {y}" for x, y in points)
        self.parts.append(f'<path class="line" d="{path}" marker-end="url(#tip)"/>')

    def mark(self, kind, x1, y1, x2, y2):
        self.parts.append(f'<path class="{kind}" d="M{x1} {y1}L{x2} {y2}"/>')

    def key(self, x, y, *entries):
        """The meaning of the colours, from `x` on in one row."""
        for kind, words in entries:
            self.parts.append(f'<rect class="{kind}" x="{x}" y="{y - 11}" width="18" height="13" rx="3"/>')
            self.text(x + 25, y, words, "small", "start")
            x += 42 + 7 * len(words)

    def svg(self):
        return self.head + "\n".join(self.parts) + "\n</svg>\n"


def pipeline():
    p = Picture(
        860,
        382,
        "A transaction, from the call to the answer",
        "A client's call is executed by one thread, which changes pages in memory and appends redo records to the open "
        "group. The group is written to the log and synced, and only then acknowledged. The checkpointer applies durable "
        "groups to a second copy of the pages and writes that to the backup, which frees old log.",
    )
    top, high = 96, 78
    p.box(20, top, 120, high, "plain", "Clients", "a call,", "or a batch")
    p.box(180, top, 150, high, "memory", "Execution", "one transaction", "at a time")
    p.box(370, top, 140, high, "memory", "Open group", "redo records of", "many transactions")
    p.box(550, top, 130, high, "disk", "Log", "one write", "and sync")
    p.box(720, top, 120, high, "good", "Acknowledge", "in the order", "of the log")
    middle = top + high / 2
    for start, end in ((140, 180), (330, 370), (510, 550), (680, 720)):
        p.arrow((start, middle), (end, middle))
    p.arrow((780, top), (780, 66), (80, 66), (80, top))
    p.text(430, 59, "the answer: the transaction, and all before it, are on disk")
    low = 246
    p.box(180, low, 150, high, "memory", "Live pages", "in memory only")
    p.arrow((255, top + high), (255, low))
    p.text(265, 214, "changes", anchor="start")
    p.box(370, low, 140, high, "disk", "Backup", "written block", "by block")
    p.box(550, low, 290, high, "memory", "Checkpointer", "applies durable groups to a second copy", "of the pages; stops no transaction")
    p.arrow((655, top + high), (655, low))
    p.text(665, 214, "durable groups", anchor="start")
    p.arrow((550, low + high / 2), (510, low + high / 2))
    p.arrow((440, low), (440, 209), (590, 209), (590, top + high))
    p.text(515, 202, "frees old log")
    p.key(20, 360, ("memory", "in memory"), ("disk", "on disk"), ("good", "durable"))
    return p


def four_ways():
    p = Picture(
        860,
        410,
        "Four ways to run transactions, one storage",
        "Tables, memory, operations and nodes differ in what a transaction is and in how it is isolated. All four append "
        "redo records to one log with group commit, and share one page store, one checkpoint and one recovery.",
    )
    ways = (
        ("Tables", "closures, procedures", "one at a time"),
        ("Memory", "loads and stores", "validated at commit"),
        ("Operations", "operations with inverses", "semantic locks"),
        ("Nodes", "changes on several nodes", "page locks over all nodes"),
    )
    for place, way in enumerate(ways):
        x = 20 + 210 * place
        p.box(x, 56, 190, 82, "plain", *way)
        p.mark("line", x + 95, 138, x + 95, 160)
    p.mark("line", 115, 160, 745, 160)
    p.arrow((220, 160), (220, 184))
    p.arrow((640, 160), (640, 184))
    p.text(230, 177, "changes", anchor="start")
    p.text(650, 177, "redo records", anchor="start")
    p.box(20, 184, 400, 64, "memory", "One page store", "all pages in memory")
    p.box(440, 184, 400, 64, "disk", "One redo log", "group commit: one sync for many transactions")
    p.box(20, 292, 400, 64, "disk", "One checkpoint", "a backup of the pages; no transaction stops for it")
    p.box(440, 292, 400, 64, "memory", "One recovery", "loads the backup, redoes the log")
    p.arrow((520, 248), (520, 271), (220, 271), (220, 292))
    p.text(370, 265, "durable groups")
    p.arrow((760, 248), (760, 292))
    p.text(750, 275, "at opening", anchor="end")
    p.arrow((420, 324), (440, 324))
    p.key(20, 391, ("memory", "in memory"), ("disk", "on disk"))
    p.text(840, 391, "One way at a time has the database open.", anchor="end")
    return p


def crash_recovery():
    p = Picture(
        860,
        430,
        "A crash, and the recovery",
        "Groups 1 to 3 are in the backup. Groups 4 to 6 are durable in the log and acknowledged. Group 7 is torn by the "
        "crash; its clients got no answer. Recovery loads the backup, redoes groups 4 to 6, and ends the log before group 7.",
    )
    p.text(20, 66, "Before", "head", "start")
    p.box(20, 80, 210, 70, "disk", "Backup", "pages up to group 3")
    for place, number in enumerate((4, 5, 6)):
        p.box(260 + 120 * place, 80, 110, 70, "good", f"Group {number}", "durable,", "acknowledged")
    p.box(620, 80, 110, 70, "bad", "Group 7", "torn: no client", "has an answer")
    p.text(495, 66, "the log")
    p.mark("crash", 746, 52, 746, 168)
    p.text(755, 112, "crash", "red", "start")
    p.text(755, 130, "memory is lost", anchor="start")
    p.text(20, 214, "Recovery", "head", "start")
    p.box(20, 228, 210, 70, "memory", "1. Load", "the backup's blocks,", "in parallel")
    p.box(260, 228, 350, 70, "memory", "2. Redo", "groups 4 to 6, in order; doing it", "twice gives the same pages")
    p.box(640, 228, 200, 70, "memory", "3. End the log", "at group 7, the first", "that is not whole")
    p.arrow((125, 150), (125, 228))
    p.arrow((435, 150), (435, 228))
    p.arrow((675, 150), (675, 228))
    p.arrow((230, 263), (260, 263))
    p.arrow((610, 263), (640, 263))
    p.text(20, 344, "After", "head", "start")
    p.box(20, 358, 590, 50, "good", "Every acknowledged transaction, once", "indexes are rebuilt in memory")
    p.box(640, 358, 200, 50, "plain", "Nothing of group 7", "a group is whole or absent")
    p.arrow((435, 298), (435, 358))
    p.arrow((740, 298), (740, 358))
    return p


PICTURES = {"pipeline.svg": pipeline, "four-ways.svg": four_ways, "crash-recovery.svg": crash_recovery}


def main():
    arguments = argparse.ArgumentParser(description="Draws the pictures of the documents.")
    arguments.add_argument("--check", action="store_true", help="compare with the files; fail if one differs")
    check = arguments.parse_args().check
    differ = sorted(path.name for path in FOLDER.glob("*.svg") if path.name not in PICTURES | captions.CAPTIONS)
    drawn = {name: draw().svg() for name, draw in PICTURES.items()}
    for name in captions.CAPTIONS:
        drawn[name] = captions.captioned(name, (FOLDER / name).read_text(encoding="utf-8"))
    for name, svg in drawn.items():
        path = FOLDER / name
        if not check:
            path.write_text(svg, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != svg:
            differ.append(name)
    if differ:
        sys.exit(f"{', '.join(differ)}: not as tools/figures/draw.py draws or captions them: run it")


if __name__ == "__main__":
    main()
