"""The exceptions. Their messages come from the engine and name a remedy."""


class Error(Exception):
    """Any failure of a segment or of tables."""


class Conflict(Error):
    """Another transaction changed data that this one used. It had no effect: run it again.

    ``array`` is the name of the array that both used, or ``None`` if it was no array's elements or
    is not known; ``page`` is the number of the page of 4096 bytes in the segment, or ``None``. For
    tables, ``table`` is the changed one, and ``key`` the row's key, a tuple, if it was one row.
    """

    def __init__(self, message="", page=None, array=None, table=None, key=None):
        super().__init__(message)
        self.page = page
        self.array = array
        self.table = table
        self.key = key


class WrittenOutside(Error):
    """An array was written while no transaction was running. The write was undone."""


class InsideTransaction(Error):
    """This thread is inside of a transaction already, and the call would wait for its end."""


class NoTransaction(Error):
    """The call needs a running transaction, or its transaction is over."""


class Locked(Error):
    """Another process, or this one, has the database open."""


class Forked(Error):
    """The segment was opened before this process was forked. Open it again in the child."""


class TransactionTooLarge(Error):
    """The transaction is beyond a limit, which the message names: run it again, or in parts."""


class TransactionEnded(TransactionTooLarge):
    """Others needed the memory of this transaction, or its place. It had no effect: run it again."""


class SlowReader(Error):
    """A snapshot keeps so many old versions that there is no room for new ones.

    A snapshot of tables was ended for that: take another one.
    """


class Full(Error):
    """No memory, no address space, no room in the log, or no place for another session."""


class Poisoned(Error):
    """The log failed. Unacknowledged transactions may or may not survive the next opening."""


class Damaged(Error):
    """The segment's bytes contradict each other, or are not those of a segment with arrays."""


class NotFound(Error, LookupError):
    """There is no array of this name."""


class Mismatch(Error, ValueError):
    """The array of this name has another shape or another type."""


class Duplicate(Error):
    """There is a row with this key already, in the primary key or a unique index."""


class Refused(Error, ValueError):
    """A value, a column or a table that is not valid: the message names it, and alternatives."""


# Tracebacks show the name under which programs catch them.
for _exception in [*globals().values()]:
    if isinstance(_exception, type) and issubclass(_exception, Error):
        _exception.__module__ = "sardonyx"
