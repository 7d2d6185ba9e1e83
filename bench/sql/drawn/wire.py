"""Random statements with parameters, and results in binary; and COPY of a query.

Of a statement of another family some constants become parameters, with their types or with none, so that the server finds
these out. Their texts are those of the constants.
"""

import re

from .further import Further

CONSTANT = re.compile(r"(?<![\w'$)])'((?:[^']|'')*)'::(\"char\"|[a-z][a-z0-9_]*)((?:\[\])?)(?![\w\[(])")
OPTIONS = ["", " (format csv)", " (format csv, header)", " (format text, null 'N')", " (format csv, delimiter ';', quote '''')", " (delimiter '|')", " (format csv, null 'null', escape '\\')", " (format csv, null '')", " (format binary)", " csv", " with csv header", " (format csv, delimiter E'\\t')"]


class Wire(Further):
    def statement(self):
        """A text, whether its rows are in one order, the parameters, and whether the result is in binary."""
        text, is_ordered = self.form() if self.chance(50) else self.expression()
        draws = self.number(0, 9)
        if draws < 2 and not text.startswith("copy"):
            return f"copy ({text}) to stdout{self.pick(OPTIONS)}", is_ordered, None, False
        given = []

        def parameter(found):
            if len(given) >= 6 or not self.chance(55):
                return found[0]
            given.append(found[1].replace("''", "'") if not self.chance(5) else None)
            return f"${len(given)}" + ("" if self.chance(60) else f"::{found[2]}{found[3]}")

        text = CONSTANT.sub(parameter, text)
        return text, is_ordered, given, self.chance(60)
