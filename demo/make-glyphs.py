#!/usr/bin/env python3
"""Writes glyphs.tsv.gz from GNU Unifont's .hex file: code point, name, the glyph's 16 x 16 pixels as 64 hex digits.

    apt-get download unifont && dpkg-deb -x unifont_*.deb unifont
    demo/make-glyphs.py unifont/usr/share/unifont/unifont.hex

Included: letters, numbers, punctuation and symbols that have a name and a visible glyph. Excluded: Hangul syllables, which are
composed of the same few parts by rule. Glyphs that are 8 pixels wide are centred in their cell.
"""

import gzip
import pathlib
import sys
import unicodedata


def cell(digits):
    """The glyph in a cell of 16 x 16 pixels, as 64 hex digits."""
    if len(digits) == 64:
        return digits.lower()
    return "".join(f"{int(digits[i:i + 2], 16) << 4:04x}" for i in range(0, 32, 2))


def included(character, digits):
    name = unicodedata.name(character, "")
    return name and unicodedata.category(character)[0] in "LNPS" and not name.startswith("HANGUL SYLLABLE") and int(digits, 16)


def rows(hex_file):
    for line in open(hex_file, encoding="ascii"):
        code, digits = line.strip().split(":")
        character = chr(int(code, 16))
        if included(character, digits):
            yield f"{int(code, 16)}\t{unicodedata.name(character)}\t{cell(digits)}\n"


if len(sys.argv) != 2:
    sys.exit(__doc__)
text = "".join(rows(sys.argv[1]))
target = pathlib.Path(__file__).parent / "glyphs.tsv.gz"
# Without a timestamp, so that the same font gives the same bytes.
target.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
print(f"{text.count(chr(10))} glyphs, {target.stat().st_size} bytes, Unicode {unicodedata.unidata_version}")
