"""Text as one literal of another language: whatever is in it, it stays text there. The only functions that quote."""

from __future__ import annotations

import re
import shlex

# What Spark's command line does to a statement before it is parsed, and knows no backticks in: it splits at semicolons
# outside of quotes, leaves comments out, and puts variables in.
_TAKEN_APART = re.compile(r"""[;'"$\\]|--|/\*|\*/""")
_GLOB = re.compile(r"[\\*?\[\]{}]")


def shell_word(text: str) -> str:
    return shlex.quote(text)


def shell_path(path: str) -> str:
    """One that no command takes for an option."""
    return shell_word(f"./{path}" if path.startswith("-") else path)


def hadoop_path(url: str) -> str:
    """One that Hadoop's shell, which looks for patterns in all that it is given, takes for itself."""
    return shell_path(_GLOB.sub(r"\\\g<0>", url))


def shell_comment(text: str) -> str:
    """A line, which no character of the text ends."""
    return f"# {text if text.isprintable() else ''.join(map(_escaped, text))}"


def python_literal(text: str) -> str:
    escaped = text.encode("unicode_escape").decode("ascii").replace('"', '\\"')
    return f'"{escaped}"'


def spark_identifier(text: str) -> str | None:
    """A part of a name in a statement for `spark-sql -e`; None where its command line would take it apart."""
    if not text.isprintable() or _TAKEN_APART.search(text):
        return None
    return f"`{text.replace('`', '``')}`"


def _escaped(char: str) -> str:
    return char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
