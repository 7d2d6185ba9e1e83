"""A statement made as small as it can be while it still does what is looked for.

The text is taken as a tree: tokens, and groups in parentheses. A step leaves out a run of tokens of one group, or puts a
group's content, or a plain value, in its place. A step is kept if the smaller statement still does what the caller tests.
"""

import re

TOKEN = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|[A-Za-z_][\w.]*|\d+(?:\.\d+)?|::|->>|->|#>>|#>|<=|>=|<>|[<>=!~@#&|?*/^%+-]+|\S")
PLAIN = [["null"], ["1"], ["true"], ["'a'"]]


def tree(text):
    """Nested lists of tokens."""
    stack = [[]]
    for token in TOKEN.findall(text):
        if token in "([" and len(token) == 1:
            stack.append([token])
        elif token in ")]" and len(token) == 1 and len(stack) > 1:
            group = stack.pop()
            stack[-1].append([*group, token])
        else:
            stack[-1].append(token)
    return stack[0]


def written(parts):
    words = [part if isinstance(part, str) else written(part) for part in parts]
    return " ".join(words)


def groups(parts, path=()):
    """The places of groups, outermost first."""
    yield path
    for at, part in enumerate(parts):
        if isinstance(part, list):
            yield from groups(part, (*path, at))


def at(parts, path):
    for step in path:
        parts = parts[step]
    return parts


def replaced(parts, path, content):
    """A tree with the content of one group replaced."""
    if not path:
        return content
    copy = list(parts)
    copy[path[0]] = replaced(parts[path[0]], path[1:], content)
    return copy


def steps(parts):
    for path in list(groups(parts)):
        group = at(parts, path)
        is_inner = bool(path)
        low, high = (1, len(group) - 1) if is_inner else (0, len(group))
        if is_inner:
            for content in [group[low:high], *PLAIN]:
                parent = at(parts, path[:-1])
                yield replaced(parts, path[:-1], [*parent[: path[-1]], *content, *parent[path[-1] + 1 :]])
        size = high - low
        while size >= 1:
            for start in range(low, high - size + 1, max(1, size // 2)):
                yield replaced(parts, path, [*group[:start], *group[start + size :]])
            size = size // 2


def shrink(text, is_like, tries=1000):
    """The smallest statement found of which `is_like` is true."""
    best = tree(text)
    if not is_like(written(best)):
        return text
    is_smaller = True
    while is_smaller and tries > 0:
        is_smaller = False
        for candidate in steps(best):
            tries -= 1
            if tries <= 0:
                break
            short = written(candidate)
            if len(short) < len(written(best)) and is_like(short):
                best, is_smaller = candidate, True
                break
    return written(best)
