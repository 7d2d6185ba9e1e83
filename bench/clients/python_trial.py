"""Parts of python_libraries.py and python_queues.py: the address, comparisons, and the choice of a library."""

import sys

DSN = sys.argv[1]
# The address without the driver's name, for libraries that put their own before it.
PLACE = DSN.split("://", 1)[1]


def check(got, expected):
    """Says which value differs."""
    if got != expected:
        raise AssertionError(f"got {got!r}, expected {expected!r}")


def run(*statements):
    """Runs statements, each as a transaction of its own."""
    import psycopg

    with psycopg.connect(DSN, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


def fails(kind, function, *arguments, **named):
    try:
        function(*arguments, **named)
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was expected")


def try_library(libraries):
    """Runs the library that the second argument names. Ends with 77 if it is not installed."""
    try:
        libraries[sys.argv[2]]()
    except ModuleNotFoundError as error:
        print(f"{error.name} is not installed: pip install {error.name}")
        sys.exit(77)
    print(sys.argv[2], "ok")
