"""Captions of the measured and simulated pictures in docs/figures, which programs draw without knowing the machine.

A caption is at the picture's lower end: the observation, and the command that drew it, commit and machine. bench/clients/documents.py
tries these commands. The observation is its description for screen readers, too. `draw.py` writes the captions, and `draw.py --check` compares them. A picture that was drawn anew gets its
caption again.
"""

import re
import textwrap
from xml.sax.saxutils import escape

MARK = "<!-- caption -->\n"
LINE = 17
HEIGHT = re.compile(r'viewBox="0 0 (\d+) (\d+)" width="\d+" height="\d+"')

MACHINE = "two Intel Xeon processors of a virtual machine"
OBJECTS = "sardonyx-lab complex-objects --figure {} {} --svg FILE; " + MACHINE + "; commit {}"
CURVE_OF_OBJECTS = "--dmp 1,4,8,12,16,20 --seconds 4"
SIMULATED = "sardonyx-lab simulate --figure {} --output DIR; a simulation, with 95% intervals; commit {}"
PAPER = SIMULATED.format("{}", "8cdce93b (2026-11-21)")
TRANSFERS = SIMULATED.format("{}", "7f665a5f (2026-11-22)")
CURVE = "sardonyx debit-credit --curve --seconds 3{} --output DIR; one run of 3 s a point; " + MACHINE + "; commit 7533be7d (2026-11-22)"

# By name: the observation, and the command, commit and machine.
CAPTIONS = {
    "complex-objects-7.svg": (
        "S2/PS has 3.4 times the throughput of S1 with 12 transactions at once, and 4.6 times with 20: S1's wait for locks.",
        OBJECTS.format(7, CURVE_OF_OBJECTS, "199714b7 (2026-11-21)"),
    ),
    "complex-objects-8.svg": (
        "S2/PS is ahead of S1 for all shares of updates, own accesses and operations; more operations make it further ahead.",
        OBJECTS.format(8, "--strategies s1,s2-ps --seconds 2", "b8b7fb73 (2026-11-21)"),
    ),
    "complex-objects-9.svg": (
        "Foreign accesses make deadlocks of S1 more frequent than in Figure 7. S2/PS has 5.9 times its throughput at 12 transactions.",
        OBJECTS.format(9, CURVE_OF_OBJECTS, "199714b7 (2026-11-21)"),
    ),
    "complex-objects-10.svg": (
        "More foreign accesses cause more conflicts of S1, and larger spheres of S2/PS.",
        OBJECTS.format(10, "--seconds 3", "b8b7fb73 (2026-11-21)"),
    ),
    "complex-objects-victims.svg": (
        "The advantage of S2/PS in Figure 9 depends on the rule for deadlocks, which the DASDBS paper does not name.",
        "sardonyx-lab complex-objects --victims --seconds 12 --svg FILE; " + MACHINE + ", with other load; commit b54478c0 (2026-11-22)",
    ),
    "figure-4.1.svg": (
        "With affinity routing, response times stay almost constant with more nodes. With random routing they rise, most with FORCE.",
        PAPER.format("4.1"),
    ),
    "figure-4.2.svg": (
        "The effect of the large buffer falls with more nodes. NOFORCE gains more from it than FORCE.",
        PAPER.format("4.2"),
    ),
    "figure-4.3.svg": (
        "BRANCH/TELLER in GEM changes nothing with NOFORCE. With FORCE it makes random routing almost as fast as affinity routing.",
        PAPER.format("4.3"),
    ),
    "figure-4.4.svg": (
        "FORCE: a non-volatile disk cache is almost as good as GEM; a volatile one helps only random routing.",
        PAPER.format("4.4"),
    ),
    "figure-4.5.svg": (
        "With affinity routing, PCL and GEM locking are alike. With random routing PCL is slower, and more so with more nodes.",
        PAPER.format("4.5"),
    ),
    "figure-4.6.svg": (
        "With random routing, PCL has 12% (NOFORCE) to 14% (FORCE) less throughput than GEM locking at ten nodes.",
        PAPER.format("4.6"),
    ),
    "figure-4.7.svg": (
        "For the trace, GEM locking is faster than PCL with either routing, and the difference grows with the nodes.",
        PAPER.format("4.7"),
    ),
    "figure-gem-1.svg": (
        "Each curve hands pages to other nodes in another way: in messages, in messages through GEM, across GEM, or by FORCE with files in GEM.",
        TRANSFERS.format("gem-1"),
    ),
    "figure-gem-2.svg": (
        "Messages of PCL by the network, and through GEM, beside GEM locking.",
        TRANSFERS.format("gem-2"),
    ),
    "open-loop-durable.svg": (
        "Half of the requests are answered in 0.35 ms up to 2.9 million a second. The dip is between two runs that recovered from a hold-up.",
        CURVE.format(""),
    ),
    "open-loop-deferred.svg": (
        "The answer does not wait for the disk. Responses become long where the offered load approaches what the closed loop reaches.",
        CURVE.format(" --one-at-a-time --durability deferred"),
    ),
    "page-touch.svg": (
        "Reading a page takes 4.7 ns if the view has retained it. The recipe of the thesis (libxac) takes 10.6 µs.",
        "sardonyx-lab page-touch --repetitions 300 --output DIR; " + MACHINE + "; commit 1a639551 (2026-11-21)",
    ),
}


def bare(svg):
    """The picture as its program draws it."""
    head, found, rest = svg.partition(MARK)
    if not found:
        return svg
    height = re.search(r"<!-- height (\d+) -->", rest).group(1)
    head = re.sub(r"<desc>.*?</desc>\n", "", head, count=1)
    sized = HEIGHT.sub(lambda m: f'viewBox="0 0 {m[1]} {height}" width="{m[1]}" height="{height}"', head, count=1)
    return paper(sized, height) + "</svg>\n"


def paper(svg, height):
    """With a background of that height: the first rectangle."""
    return re.sub(r'(<rect x="0" y="0" width="[\d.]+" height=")[\d.]+(" class="paper")', rf"\g<1>{height}\g<2>", svg, count=1)


def captioned(name, svg):
    """The picture with its caption, which replaces an earlier one."""
    svg = bare(svg)
    see, source = CAPTIONS[name]
    width, height = map(int, HEIGHT.search(svg).groups())
    lines = [line for text in (see, source) for line in textwrap.wrap(text, int((width - 40) / 6.4))]
    total = height + LINE * len(lines) + 10
    svg = HEIGHT.sub(f'viewBox="0 0 {width} {total}" width="{width}" height="{total}"', svg, count=1)
    svg = paper(svg.replace("</title>\n", f"</title>\n<desc>{escape(see)}</desc>\n", 1), total)
    places = (f'<text x="20" y="{height + LINE * (row + 1) - 4}">{escape(line)}</text>\n' for row, line in enumerate(lines))
    return svg.removesuffix("</svg>\n") + MARK + f"<!-- height {height} -->\n" + "".join(places) + "</svg>\n"
