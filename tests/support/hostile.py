"""What may stand in a log, a name or a title, and must not reach a terminal as it is."""

HOSTILE = {
    "colour and erase": b"\x1b[31mred\x1b[2J",
    "cursor up": b"\x1b[1A\x1b[2K",
    "title": b"\x1b]0;title\x07",
    "link": b"\x1b]8;;http://a.example\x1b\\here\x1b]8;;\x1b\\",
    "clipboard": b"\x1b]52;c;ZXZpbA==\x07",
    "device control": b"\x1bPq#0\x1b\\ \x1b_a\x1b\\ \x1b^p\x1b\\",
    "unfinished": b"\x1b]0;never ended \x1b[",
    "c1": "\x9b31m \x9d0;t\x9c \x90q\x9c".encode(),
    "next line": "a\x85b".encode(),
    "raw c1": b"\x9b31m",
    "bell, backspace": b"\a\aab\b\b\v\f",
    "delete": b"a\x7fb",
    "nul": b"a\0b",
    "shift": b"\x0e\x0f",
    "direction": "\u202egnp.\u2066x\u2069\u200f".encode(),
    "zero width": "a\u200b\u200c\u200d\u2060\ufeffb".encode(),
    "separators": "a\u2028b\u2029c".encode(),
    "private and tags": "\ue000\U000e0041\U000f0000".encode(),
    "no character": b"\xff\xfe\xc3\xed\xa0\x80",
    "markup": b"[bold]x[/bold] [link=http://a.example]y[/] [@click=app.quit]z[/]",
    "return": b"x\rrank 0 exited 0",
    "long": b"x" * 70_000 + b"\x1b[31m",
}
"""By kind; none has a line end in it."""


def harmless(text: str) -> bool:
    """Nothing in it but line ends that a terminal would act on."""
    return all(character == "\n" or character.isprintable() for character in text)
