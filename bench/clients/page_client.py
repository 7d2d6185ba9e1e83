#!/usr/bin/env python3
"""Looks at a server's page in a real headless browser while it is under load.

    bench/clients/page_client.py URL [--load HOST:PORT] [--pictures DIR]

It is an error if a figure is missing or does not change, or if the browser's console has a message. So is a page wider than
the window, and a name of a client's table that becomes markup. --pictures writes pictures of the page, light and dark, wide and
narrow. --load names the server's address for PostgreSQL clients: then the load is made here.
"""

import argparse
import json
import pathlib
import socket
import struct
import sys
import threading

import browser

# The texts of the page, by the elements' ids, after it has received two states.
FIGURES = """JSON.stringify({
  ready: document.getElementById('ready').textContent,
  tps: document.getElementById('tps').textContent,
  write: document.getElementById('write').textContent,
  execution: document.getElementById('told-execution').textContent,
  logging: document.getElementById('told-logging').textContent,
  queue: document.getElementById('told-queue').textContent,
  clients: document.getElementById('clients').rows.length,
  server: document.getElementById('server').children.length,
  checkpoint: document.getElementById('checkpoint').children.length,
  tables: [...document.querySelectorAll('#tables td:first-child')].map((cell) => cell.textContent),
  markup: document.querySelectorAll('main img, main script, td > *').length,
  overflow: document.documentElement.scrollWidth - window.innerWidth,
  points: history.length,
})"""


def simple_query(connection, text):
    """Runs a text by PostgreSQL's simple protocol, and waits for its end."""
    body = text.encode() + b"\0"
    connection.sendall(b"Q" + struct.pack(">i", len(body) + 4) + body)
    wait_until_ready(connection)


def wait_until_ready(connection):
    reader = connection.makefile("rb")
    while (head := reader.read(5)) and len(head) == 5:
        kind, length = struct.unpack(">ci", head)
        reader.read(length - 4)
        if kind == b"Z":
            return
    raise ConnectionError("the server has closed")


def load(address):
    """Changes rows as long as this program runs, some of a table whose name would be markup."""
    host, _, port = address.rpartition(":")
    connection = socket.create_connection((host, int(port)), timeout=60)
    body = struct.pack(">i", 196608) + b"user\0page\0database\0bank\0\0"
    connection.sendall(struct.pack(">i", len(body) + 4) + body)
    wait_until_ready(connection)
    for name in ("looked_at", '"<img src=x onerror=alert(1)>"'):
        simple_query(connection, f"CREATE TABLE IF NOT EXISTS {name} (id bigint PRIMARY KEY, n bigint)")
    number = 0
    while True:
        number += 1
        simple_query(connection, f"INSERT INTO looked_at VALUES ({number}, 0) ON CONFLICT DO NOTHING")
        simple_query(connection, f"UPDATE looked_at SET n = n + 1 WHERE id = {number}")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("url")
    arguments.add_argument("--load", metavar="HOST:PORT")
    arguments.add_argument("--pictures", type=pathlib.Path)
    arguments = arguments.parse_args()
    if browser.program() is None:
        sys.exit("chromium is not installed: apt-get install chromium")
    if arguments.load:
        threading.Thread(target=load, args=[arguments.load], daemon=True).start()
    page, wrong = browser.Browser(), []
    for width, height, dark in ((1280, 1180, False), (1280, 1180, True), (400, 2300, False), (400, 2300, True)):
        name = f"page-{width}-{'dark' if dark else 'light'}"
        page.show_at(width, height, dark)
        if not dark:
            page.call("Page.navigate", url=arguments.url)
        page.wait(6 if dark else 8)
        figures = json.loads(page.evaluate(FIGURES))
        print(name, json.dumps(figures))
        for what in ("ready", "tps", "write", "execution", "logging", "queue"):
            if figures[what] in ("", "–", "connecting", "no answer"):
                wrong.append(f"{name}: {what} is {figures[what]!r}")
        if figures["clients"] != 4 or figures["server"] < 8 or figures["checkpoint"] < 12 or figures["points"] < 2:
            wrong.append(f"{name}: figures are missing: {figures}")
        if figures["markup"] or figures["overflow"] > 0:
            wrong.append(f"{name}: markup {figures['markup']}, {figures['overflow']} pixels too wide")
        if arguments.pictures:
            arguments.pictures.mkdir(parents=True, exist_ok=True)
            page.screenshot(arguments.pictures / f"{name}.png")
    wrong += [f"the console says: {complaint}" for complaint in page.complaints]
    page.end()
    if wrong:
        sys.exit("\n".join(wrong))
    print("the page shows what the server does")


if __name__ == "__main__":
    main()
