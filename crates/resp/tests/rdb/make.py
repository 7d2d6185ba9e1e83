#!/usr/bin/env python3
"""Makes redis-7.0.rdb, and redis-7.0.txt with a Redis' answers to commands about its keys: python3 make.py.

Needed: `redis-server` 7.0. Each kind is there in each of its encodings; keys are in three databases, and some expire.
"""

import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
LONG = "y" * 300

MAKES = (
    """
SET text hello
SET number 12345
SET negative -70000
SET wide 123456789012345678
SET packed """ + "ab" * 400 + """
SET expires later PXAT 4102444800000
SET expired soon PXAT 1999999999999
RPUSH list a 1 -300 70000 """ + "b" * 70 + """
RPUSH list-large """ + LONG + " " + LONG + "z " + LONG + """
SADD numbers 1 -2 70000
SADD wide-numbers 1 9223372036854775807
SADD names b a c
SADD names-large """ + LONG + """ a
HSET hash f 1 g two
HSET hash-large f """ + LONG + """ g two
ZADD sorted 1.5 a -inf b 3 c
ZADD sorted-large 1.5 a inf """ + LONG + """ -0.25 c
XADD stream 1-1 a 1 b 2
XADD stream 1-2 a 3 b 4
XADD stream 5-0 other fields
XDEL stream 1-2
XGROUP CREATE stream group 0
XREADGROUP GROUP group ann COUNT 1 STREAMS stream >
XGROUP CREATE stream late $
XGROUP CREATECONSUMER stream late bob
XADD emptied 1-1 a 1
XDEL emptied 1-1
PFADD counted a b c d
SETBIT bits 1000 1
GEOADD places 13.361389 38.115556 Palermo 15.087269 37.502669 Catania
SELECT 5
SET text five
HSET hash only here
PEXPIREAT hash 4102444800000
SELECT 15
SADD numbers 15
SELECT 0
"""
).strip().splitlines()

ASKS = """
DBSIZE
GET text
GET number
GET negative
GET wide
GET packed
PEXPIRETIME expires
PEXPIRETIME text
EXISTS expired
LRANGE list 0 -1
LRANGE list-large 0 -1
SORT numbers
SORT wide-numbers
SORT names ALPHA
SORT names-large ALPHA
HGET hash f
HGET hash g
HLEN hash
HMGET hash-large f g none
ZRANGE sorted 0 -1 WITHSCORES
ZRANGE sorted-large 0 -1 WITHSCORES
XRANGE stream - +
XLEN stream
XPENDING stream group
XPENDING stream late
XINFO GROUPS stream
XREADGROUP GROUP group bob STREAMS stream >
XADD stream 4-0 a b
XACK stream group 1-1
XLEN emptied
XADD emptied 1-1 a 1
PFCOUNT counted
BITCOUNT bits
GEOHASH places Palermo Catania
TYPE text
TYPE list
TYPE list-large
TYPE numbers
TYPE hash
TYPE sorted
TYPE stream
FCALL answer 0
SELECT 5
DBSIZE
GET text
HGET hash only
PEXPIRETIME hash
SELECT 15
SISMEMBER numbers 15
SELECT 1
DBSIZE
""".strip().splitlines()

LIBRARY = "#!lua name=kept\nredis.register_function('answer', function() return 42 end)"


class Client:
    def __init__(self, port):
        self.file = socket.create_connection(("127.0.0.1", port)).makefile("rwb")

    def ask(self, *parts):
        self.file.write(b"*%d\r\n" % len(parts))
        for part in parts:
            self.file.write(b"$%d\r\n%s\r\n" % (len(part.encode()), part.encode()))
        self.file.flush()
        return self.answer()

    def answer(self):
        """In the form of tests/all/common/text.rs."""
        line = self.file.readline()[:-2].decode()
        kind, rest = line[0], line[1:]
        if kind == "$" and rest != "-1":
            return '"' + self.file.read(int(rest) + 2)[:-2].decode() + '"'
        if kind == "*" and rest != "-1":
            return "[" + " ".join(self.answer() for _ in range(int(rest))) + "]"
        return "nil" if rest == "-1" and kind in "$*" else line


def main():
    with tempfile.TemporaryDirectory() as place:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        options = ["--save", "", "--dir", place, "--list-max-listpack-size", "256"]
        server = subprocess.Popen(["redis-server", "--port", str(port), *options], stdout=subprocess.DEVNULL)
        for _ in range(100):
            try:
                client = Client(port)
                break
            except ConnectionRefusedError:
                time.sleep(0.05)
        client.ask("FUNCTION", "LOAD", LIBRARY)
        for line in MAKES:
            answer = client.ask(*line.split(" "))
            assert not answer.startswith("-"), (line, answer)
        client.ask("SAVE")
        shutil.copy(pathlib.Path(place) / "dump.rdb", HERE / "redis-7.0.rdb")
        # As if its time had come.
        client.ask("DEL", "expired")
        with open(HERE / "redis-7.0.txt", "w") as answers:
            for line in ASKS:
                answers.write(f"> {line}\n{client.ask(*line.split(' '))}\n")
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
