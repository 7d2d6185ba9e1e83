#!/usr/bin/env python3
"""The commands of the documents, tried with the programs that are built.

    bench/clients/documents.py [--programs target/debug] [--only parse,cargo,server,readme] [--require psql,redis-cli]

`parse`: each command line of `sardonyx`, `sardonyx-lab` and `cargo xtask` in a document is given to its program, followed
by `--help`. So its verbs and options must exist, and its values must be of their types; nothing is run.
`cargo`: packages, programs, examples, tests and features that a command of cargo names exist in the workspace; scripts
that a command names exist, with its options. Nothing is compiled or run.
`server`: the lines of docs/server.md that make a configuration with two users, and certificates, are run as written, by `sh`.
`readme`: the lines of README.md under "Try it" and "A server" are run as written, in an empty directory. Cargo and the
program's path are replaced by the built program. Each line of output that the page shows must appear, with other numbers.
The server takes its usual ports, in a network namespace of its own where the kernel grants one, so that they are free. psql
and redis-cli are left out, with a sentence, if they are not installed; with --require that is a failure.

Commands with an ellipsis are counted as left out.

Ends with 0 if the documents are right.
"""

import argparse
import ctypes
import fcntl
import importlib.util
import json
import os
import pathlib
import queue
import re
import shlex
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
CAPTIONS = ROOT / "tools" / "figures" / "captions.py"
PROGRAMS = ["sardonyx", "sardonyx-lab", "xtask"]
# It gives its options to a program of its own, which it compiles first.
PASSES_ON = "torture-power"
# The error of a word that a reader or a shell replaces, such as VERB, TIME or $n.
PLACEHOLDER = re.compile(r"error: (unrecognized subcommand|unexpected argument|invalid value) '([A-Z|]+|\$\w+)'")
# Commands of cargo that compile what they name.
BUILDS = ["run", "test", "build", "check", "clippy", "doc", "bench", "llvm-lines"]
# Short names of the papers' pages and of their scripts, with what they stand for.
SHORT = {"d-c": ["sardonyx", "debit-credit"], "$lab": ["sardonyx-lab"]}
# Texts that look like commands: a name in the files, and a verb of earlier versions.
NO_COMMANDS = ["sardonyx record restore", "sardonyx standby DIR --listen ADDR"]


def documents():
    """The pages with commands, and the captions of pictures; the changelog has commands of earlier states, too."""
    found = [page for page in ROOT.glob("*.md") if page.name != "CHANGELOG.md"]
    found.append(CAPTIONS)
    for folder in ["docs", "bindings", "tools", "observability"]:
        found += (ROOT / folder).rglob("*.md")
    return sorted(found)


def captions():
    """The commands of the captions of pictures, without commit and machine."""
    found = importlib.util.spec_from_file_location("captions", CAPTIONS)
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return [(name, source.partition(";")[0]) for name, (_, source) in module.CAPTIONS.items()]


def snippets(page):
    """The command lines of blocks of code, and the spans of code in prose, with their lines."""
    if page == CAPTIONS:
        yield from captions()
        return
    block, fence, joined = None, "", ""
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if block is None:
            found = re.match(r"\s*(```+)(\S*)", line)
            if found:
                fence, block = found.groups()
                continue
            for span in re.findall(r"`([^`]+)`", line):
                yield number, span
            continue
        if line.strip() == fence:
            block, joined = None, ""
            continue
        if block in ("", "sh", "text", "console", "ini"):
            joined += line.removesuffix("\\")
            if not line.endswith("\\"):
                text, joined = joined.strip(), ""
                if block in ("text", "console", "") and not text.startswith("$ "):
                    continue
                yield number, text.removeprefix("$ ").removeprefix("ExecStart=")


def lists(text):
    """The words of each part of a pipeline or list."""
    try:
        reader = shlex.shlex(text, posix=True, punctuation_chars="|&;<>()")
        reader.whitespace_split = True
        words = list(reader)
    except ValueError:
        return
    part, skipped = [], False
    for word in words + [";"]:
        if set(word) <= set("|&;()"):
            yield part
            part, skipped = [], False
        elif set(word) <= set("<>"):
            skipped = True
        elif skipped:
            skipped = False
        else:
            part.append(word)


def bare(words):
    """A command without its environment."""
    while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
        words = words[1:]
    return words[3:] if words[:1] == ["taskset"] else words


def commands(text):
    """The built programs of a line with their arguments."""
    for words in lists(text):
        yield from command(bare(words))


def command(words):
    if not words or any("…" in word for word in words):
        return
    if words[0] == "$keep" and "--" in words:
        at = words.index("--")
        yield "xtask", ["keep-figures", *words[1:at]]
        yield from command(bare(words[at + 1 :]))
        return
    words = SHORT.get(words[0], words[:1]) + words[1:]
    program = words[0].rsplit("/", 1)[-1]
    if words[:2] == ["cargo", "xtask"]:
        yield "xtask", words[2:]
    elif words[:2] == ["cargo", "run"] and "--" in words and "--example" not in words:
        at = words.index("--")
        package = words[words.index("-p") + 1] if "-p" in words[:at] else "sardonyx"
        if package in PROGRAMS:
            yield package, words[at + 1 :]
    elif program in PROGRAMS and len(words) > 1:
        yield program, words[1:]


def parse(programs, _):
    """Gives each command line to its program, once."""
    tried, faults, missing, cut = set(), [], set(), set()
    programs = programs.resolve()
    for page in documents():
        for number, text in snippets(page):
            if "…" in text and re.match(r"(sardonyx|cargo xtask|cargo run|target/)", text):
                cut.add(text)
            for program, arguments in commands(text) if text not in NO_COMMANDS else []:
                key = (program, *arguments)
                if key in tried or PASSES_ON in arguments or "--" in arguments:
                    continue
                tried.add(key)
                path = programs / program
                if not path.exists():
                    missing.add(program)
                    continue
                done = subprocess.run([path, *arguments, "--help"], capture_output=True, text=True, timeout=60)
                if done.returncode and not PLACEHOLDER.search(done.stderr):
                    said = done.stderr.strip().splitlines()[:1]
                    faults.append(f"{page.relative_to(ROOT)}:{number}: {shlex.join(key)}: {' '.join(said)}")
    for program in sorted(missing):
        print(f"left out: {program} is not built in {programs}")
    print(f"{len(tried)} command lines of the documents tried; {len(cut)} with an ellipsis left out")
    return faults


def cargo(*_):
    """Packages, programs, examples, tests and features that commands of cargo name exist, and scripts with their options."""
    asked = ["cargo", "metadata", "--no-deps", "--format-version", "1", "--locked", "--offline"]
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        return [f"cargo metadata: {done.stderr.strip()}"]
    packages = {package["name"]: package for package in json.loads(done.stdout)["packages"]}
    tried, faults = set(), []
    for page in documents():
        for number, text in snippets(page):
            for words in map(bare, lists(text)):
                key = tuple(words)
                if not words or key in tried or any("…" in word for word in words):
                    continue
                script = words[1] if words[0] in ("python3", "bash", "sh") and len(words) > 1 else words[0]
                if words[0] == "cargo" and words[1:2] and words[1] in BUILDS:
                    found = cargo_faults(words[2:], packages)
                elif re.match(r"(\./)?(bench|tools|packaging|\.ci)/", script):
                    found = script_faults(script, words)
                else:
                    continue
                tried.add(key)
                place = f"{page.relative_to(ROOT)}:{number}: {shlex.join(words)}"
                faults += [f"{place}: {fault}" for fault in found]
    print(f"{len(tried)} command lines of cargo and of scripts: what they name is there")
    return faults


def cargo_faults(words, packages):
    """The packages, targets and features of a command of cargo that the workspace lacks."""
    words = words[: words.index("--")] if "--" in words else words
    named = [words[at + 1] for at, word in enumerate(words[:-1]) if word in ("-p", "--package")]
    named = [name for name in named if not name.isupper()]
    yield from (f"no package {name}" for name in named if name not in packages)
    chosen = [packages[name] for name in named if name in packages] or list(packages.values())
    for at, word in enumerate(words[:-1]):
        name = words[at + 1]
        if name.isupper() or any(letter in name for letter in "*<{"):
            continue
        kind = {"--bin": "bin", "--example": "example", "--test": "test", "--bench": "bench"}.get(word)
        targets = [target for package in chosen for target in package["targets"]]
        if kind and not any(target["name"] == name and kind in target["kind"] for target in targets):
            yield f"no {kind} {name}"
        if word == "--features":
            for feature in re.split(r"[, ]", name):
                *crate, own = feature.split("/")
                of = [packages[crate[0]]] if crate and crate[0] in packages else chosen
                if not any(own in package["features"] for package in of):
                    yield f"no feature {feature}"


def script_faults(script, words):
    """A script that is absent, or that has no such option."""
    path = ROOT / script
    if not path.exists():
        yield "no such file"
    elif path.is_file():
        text = path.read_text()
        options = [word.split("=")[0] for word in words if re.match(r"--[a-z]", word)]
        yield from (f"no option {option}" for option in options if f'"{option}"' not in text and f" {option}" not in text)


def server(programs, _):
    """Makes the two users of docs/server.md, none with an empty password, and certificates that are valid."""
    page = (ROOT / "docs" / "server.md").read_text()
    path = os.environ | {"PATH": f"{programs.resolve()}:{os.environ['PATH']}"}
    faults = []

    def run(block, directory, **more):
        return subprocess.run(["sh", "-c", block], cwd=directory, env=path, text=True, capture_output=True, timeout=300, **more)

    block = re.search(r"### Users\n.*?```sh\n(.*?)```", page, re.DOTALL).group(1)
    for passwords, expected in (("one\ntwo\n", ["own", "write"]), ("\ntwo\n", [])):
        with tempfile.TemporaryDirectory(prefix="users-") as directory:
            run(block, directory, input=passwords)
            made = (pathlib.Path(directory) / "bank.toml").read_text()
        found = re.findall(r'\[users\.\w+\]\npassword = "SCRAM-SHA-256\S+"\ntables = "(\w+)"', made)
        if found != expected:
            faults.append(f"docs/server.md: with the passwords {passwords!r} the users are {found}, not {expected}:\n{made}")
    if not shutil.which("openssl"):
        print("left out: openssl is not installed")
        return faults
    block = re.search(r"## Certificates\n.*?```sh\n(.*?)```", page, re.DOTALL).group(1)
    with tempfile.TemporaryDirectory(prefix="certificates-") as directory:
        done = run(f"set -e\n{block}openssl verify -CAfile ca.pem -verify_hostname localhost cert.pem", directory)
    if done.returncode:
        faults.append(f"docs/server.md: the certificates are not valid: {done.stderr}")
    print("the users and certificates of docs/server.md are made")
    return faults


def shape(line):
    """A line of output without its numbers, columns and remarks."""
    return re.sub(r"[\d.,]+", "0", " ".join(line.split()))


def own_network():
    """Gives this process, and those that it starts, a network of their own, in which all ports are free."""
    new_user, new_network = 0x1000_0000, 0x4000_0000
    user, group = os.getuid(), os.getgid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(new_network if user == 0 else new_user | new_network):
        print(f"left out: a network of its own ({os.strerror(ctypes.get_errno())}), so the usual ports of this machine must be free")
        return
    if user:
        for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            pathlib.Path(f"/proc/self/{name}").write_text(text)
    # The loopback device is down in a new one: SIOCGIFFLAGS, and SIOCSIFFLAGS with IFF_UP.
    with socket.socket() as one:
        asked = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(one, 0x8913, asked))[1]
        fcntl.ioctl(one, 0x8914, struct.pack("16sh14x", b"lo", flags | 1))


def lines_of(process, count, seconds=60):
    """The first lines that a process prints: fewer if it ends, or if they do not come in time."""
    lines = queue.SimpleQueue()
    threading.Thread(target=lambda: [*map(lines.put, process.stdout), lines.put(None)], daemon=True).start()
    printed, until = [], time.monotonic() + seconds
    while len(printed) < count:
        try:
            line = lines.get(timeout=max(0, until - time.monotonic()))
        except queue.Empty:
            break
        if line is None:
            break
        printed.append(line)
    return printed


def readme(programs, required):
    """Runs README's consoles in an empty directory. Programs that are required must be installed."""
    page = (ROOT / "README.md").read_text()
    own_network()
    faults, server, ran = [], None, set()
    program = shlex.quote(str((programs / "sardonyx").resolve()))
    with tempfile.TemporaryDirectory(prefix="readme-") as directory:
        try:
            for block in re.findall(r"```console\n(.*?)```", page, re.DOTALL):
                for run in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                    line, *expected = run.rstrip().split("\n")
                    text = re.sub(r"cargo run --release[^|;&]*? --(?= )|target/release/sardonyx\b", program, line)
                    first = text.split()[0]
                    if not text.startswith(program) and not shutil.which(first):
                        print(f"left out: {first} is not installed")
                        continue
                    ran.add(first)
                    if " serve " in text:
                        server = subprocess.Popen(
                            ["sh", "-c", f"exec {text}"], cwd=directory, text=True, stdout=subprocess.PIPE
                        )
                        printed = lines_of(server, len(expected))
                    else:
                        began = time.monotonic()
                        done = subprocess.run(
                            ["sh", "-c", text],
                            cwd=directory,
                            env=os.environ | {"FAKETTY": "1"},  # redis-cli prints as at a terminal
                            text=True,
                            capture_output=True,
                            timeout=600,
                        )
                        print(f"{time.monotonic() - began:6.1f} s  {line}")
                        printed = done.stdout.splitlines()
                        if done.returncode:
                            faults.append(f"README.md: {line}: exit code {done.returncode}: {done.stderr.strip()}")
                            continue
                    shapes = {shape(each) for each in printed}
                    for each in expected:
                        # A remark behind the figures may differ in its size; the label of a figure may not.
                        label = re.split(r"\s{2,}", each.strip())[0]
                        if shape(each) not in shapes and not any(shape(label) in found for found in shapes):
                            faults.append(f"README.md: {line}: printed no line {each.strip()!r}")
        finally:
            if server:
                server.terminate()
                server.wait(60)
    return faults + [f"README.md: no line of {name} ran, which is required" for name in required if name not in ran]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=pathlib.Path, default=ROOT / "target" / "debug")
    parser.add_argument("--only", default="parse,cargo,server,readme")
    parser.add_argument("--require", default="", metavar="CLIENTS", help="clients of README's lines that must be installed")
    arguments = parser.parse_args()
    required = [name for name in arguments.require.split(",") if name]
    faults = []
    for name in arguments.only.split(","):
        faults += {"parse": parse, "cargo": cargo, "server": server, "readme": readme}[name](arguments.programs, required)
    for fault in faults:
        print(fault)
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
