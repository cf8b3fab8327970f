"""Problem blocks: `file:line:column: key: message`, then the line itself with the key underlined."""

from grpotui_supervisor.model.positions import Place

_WIDEST = 120  # characters of a line that are shown
_KEPT = "\t\u00a0\u3000"  # spaces that str.isprintable() does not count as printable


def problem_block(file: str, lines: list[str], place: Place, text: str) -> str:
    """Return the block for a problem at a place in the file."""
    head = f"{visible(file)}:{place.line}:{place.column}: {visible(text)}"
    line, before = _window(visible(lines[place.line - 1]), place.column - 1)
    number = str(place.line)
    mark = _padding(line[:before]) + "^" * max(1, place.width)
    return f"{head}\n  {number} | {line.rstrip()}\n  {' ' * len(number)} | {mark}"


def visible(text: str) -> str:
    """Return the text, same length, with all that could control a terminal replaced."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in _KEPT else "\ufffd" for char in text)


def _window(line: str, before: int) -> tuple[str, int]:
    """Cut a long line around its character number `before`; return that part and the number in it."""
    if len(line) <= _WIDEST:
        return line, before
    start = max(0, before - _WIDEST // 2)
    ahead = "…" if start else ""
    behind = "…" if start + _WIDEST < len(line) else ""
    return f"{ahead}{line[start : start + _WIDEST]}{behind}", before - start + len(ahead)


def _padding(text: str) -> str:
    """Return spaces as wide as the text; a tab stays a tab."""
    if text.isascii():
        return "".join(char if char == "\t" else " " for char in text)
    from unicodedata import combining, east_asian_width  # noqa: PLC0415 - a megabyte, for other than ASCII only

    widths = (0 if combining(char) else 1 + (east_asian_width(char) in "WF") for char in text)
    return "".join(char if char == "\t" else " " * width for char, width in zip(text, widths, strict=True))
