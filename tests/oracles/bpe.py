"""Tokens of hard texts by Hugging Face's tokenizers (0.23.3), for a small vocabulary trained here and for GPT-2's. It
writes tests/golden/bpe/:

    pip install tokenizers tiktoken
    python3 tests/oracles/bpe.py FOLDER-WITH-encoder.json-AND-vocab.bpe

The vocabulary is trained when there is none in that folder; so is that of trained/, from a text that stands beside it. Where a text is UTF-8, tiktoken (0.14.0) must agree.
Neither library takes text that is not: what is well-formed between broken bytes goes through the whole tokenizer, a run
of broken bytes through its merges alone.
"""
import json
import pathlib
import random
import sys

import tiktoken
from tokenizers import ByteLevelBPETokenizer

HERE = pathlib.Path(__file__).parent
GOLDEN = HERE.parent / "golden" / "bpe"

TEXTS = [
    "", " ", "a", "Hello, world!", "Hello world", " Hello world ", "hello  world", "hello   world   ",
    "tab\tand\nnew line\r\n\r\n  indented\n", "\n", "\n\n\n", " \n", "\n ", "   \n   x", "\t\t x",
    "it's we're I'll they've I'd 'tis IT'S WE'RE", "it\u2019s we\u2019re", "''s'' 's", "don't-'re'",
    "1234567890 12 3.14 1,000,000", "a1b2 c3", "\u00bd \u2167 \u0663\u0664 \u0967\u0968 \u4e09",
    "na\u00efve caf\u00e9 cafe\u0301 A\u030a\u0323", "\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440!",
    "\u4f60\u597d\uff0c\u4e16\u754c\u3002", "\u3053\u3093\u306b\u3061\u306f \u4e16\u754c", "\ud55c\uad6d\uc5b4 \ubb38\uc7a5",
    "\u0627\u0644\u0633\u0644\u0627\u0645 \u0639\u0644\u064a\u0643\u0645", "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd",
    "\u0928\u092e\u0938\u094d\u0924\u0947 \u0926\u0941\u0928\u093f\u092f\u093e", "\U0001f600", " \U0001f600\U0001f600 ",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f1eb\U0001f1f7 \U0001f44d\U0001f3fd", "x\u00a0y\u2003z\u3000w\u200bv",
    "\u1680a\u180eb\u2028c\u2029d\u0085e\u001cf\u001fg", "\ufeffbom", "$100 #tag @user e=mc^2 a_b_c", "...!!!???",
    "===== == Title == =====", "http://example.org/a?b=c&d=e%20f", "\U0001d54f\U0001d7d8 \u2124", "\u00adsoft\u00adhyphen",
    "ALL CAPS and MiXeD", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "ab" * 60, " " * 40, "\u00e9" * 30,
    "\u1f20\u0345 \u0132 \u01c5 \ufb01 \u02b0\u0300", "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35 \u1010\u1001\u102f", "\u09e7\u09e8\u09e9 \u0e51\u0e52 \U0001d7ce\u00b2\u2082",
    "I'M YOU'LL they'Re \u2018tis O\u2019Neil's", "\U0001f3f3\ufe0f\u200d\U0001f308 \U0001f469\U0001f3fe\u200d\U0001f4bb", "\u202e\u0645\u0631\u062d\u0628\u0627\u202c x\u2060y",
    "<|endoftext|>", "\u0120\u010a", "\x00\x01\x7f", "if (x >= 0) { return x->y[i] * 2; }  // why\n",
]


BROKEN = [
    b"\xff", b"\x80\x80\x80", b"caf\xe9 au lait", b"cut \xe2\x82", b"cut \xe2\x82 again", b"  \xff  x", b"a \xc3", b"\xc3(",
    b"overlong \xc0\xaf \xe0\x80\xaf", b"surrogates \xed\xa0\xbd\xed\xb8\x80!", b"beyond \xf4\x90\x80\x80.", b"\xf8\x88\x80\x80\x80",
    b"\xe2\xc3\xa9", b"\xf0\x9f\x98 \xf0\x9f\x98\x80\x80", b"it\xff's", b"12\xfe34", b"\xef\xbb\xbfbom\xef\xbb", b"\n\n\xff\n\n",
]

PIECES = [b"a", b"The", b" ", b" ", b"\n", b"'ll", b"7", b"\xc3\xa9", b"\xe2\x80\x99s", b"\xe4\xb8\x96", b"\xf0\x9f\x98\x80", b"\xff", b"\xc3",
          b"\xe2\x80", b"\x80", b"\xed\xa0"]

PATTERN = r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""


def characters():
    """The character that each byte is written as in a vocabulary."""
    prints = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in prints]
    return {**{byte: chr(byte) for byte in prints}, **{byte: chr(256 + i) for i, byte in enumerate(others)}}


def fragments(text):
    """(well-formed?, bytes) in turn."""
    out = []
    while text:
        try:
            text.decode()
            good, bad = len(text), 0
        except UnicodeDecodeError as error:
            good, bad = error.start, error.end - error.start
        if good:
            out.append((True, text[:good]))
        if bad and out and not out[-1][0]:
            out[-1] = (False, out[-1][1] + text[good:good + bad])
        elif bad:
            out.append((False, text[good:good + bad]))
        text = text[good + bad:]
    return out


class Reference:
    def __init__(self, tokens, merges):
        self.whole = ByteLevelBPETokenizer(str(tokens), str(merges))
        self.model = self.whole._tokenizer.model
        self.byte = characters()
        back = {character: byte for byte, character in self.byte.items()}
        ranks = {bytes(back[c] for c in token): i for token, i in json.loads(tokens.read_text()).items() if i != 50256}
        self.second = tiktoken.Encoding("second", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens={})

    def encode(self, text):
        ids = []
        for good, part in fragments(text):
            written = "".join(self.byte[byte] for byte in part)
            ids += self.whole.encode(part.decode()).ids if good else [token.id for token in self.model.tokenize(written)]
            if good:
                assert self.whole.encode(part.decode()).ids == self.second.encode_ordinary(part.decode()), part
        return ids


def trained(texts, size):
    tokenizer = ByteLevelBPETokenizer()
    tokenizer.train_from_iterator(texts, vocab_size=size, min_frequency=2, show_progress=False)
    return tokenizer


def train_fixture(folder, size):
    if (folder / "merges.txt").exists():
        return
    folder.mkdir(exist_ok=True)
    book = (HERE.parents[1] / "docs" / "fidelity.md").read_text()
    (folder / "text").write_text("\n".join([book[:12000], *TEXTS, *TEXTS]), newline="")
    trained([(folder / "text").read_bytes().decode()], size).save_model(str(folder))


def main(folder):
    GOLDEN.mkdir(exist_ok=True)
    train_fixture(GOLDEN / "trained", 600)
    if not (GOLDEN / "vocab.json").exists():
        book = (HERE.parents[1] / "README.md").read_text() + (HERE.parents[1] / "docs" / "decisions.md").read_text()
        trained([book] + TEXTS * 3, 700).save_model(str(GOLDEN))
    small = Reference(GOLDEN / "vocab.json", GOLDEN / "merges.txt")
    gpt2 = Reference(folder / "encoder.json", folder / "vocab.bpe")
    draw = random.Random(6)
    mixed = [b"".join(draw.choices(PIECES, k=24)) for _ in range(30)]
    with open(GOLDEN / "texts.jsonl", "w") as out:
        for text in [text.encode() for text in TEXTS] + BROKEN + mixed:
            case = {"hex": text.hex(), "ids": small.encode(text), "gpt2": gpt2.encode(text)}
            print(json.dumps(case), file=out)


main(pathlib.Path(sys.argv[1]))
