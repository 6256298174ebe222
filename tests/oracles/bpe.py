"""Tokens of hard texts by Hugging Face's tokenizers (0.23.3), for a small vocabulary trained here and for GPT-2's. It
writes tests/golden/bpe/:

    pip install tokenizers
    python3 tests/oracles/bpe.py FOLDER-WITH-encoder.json-AND-vocab.bpe
"""
import json
import pathlib
import sys

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
    "<|endoftext|>", "\u0120\u010a", "\x00\x01\x7f", "if (x >= 0) { return x->y[i] * 2; }  // why\n",
]


def main(folder):
    small = ByteLevelBPETokenizer()
    book = (HERE.parents[1] / "README.md").read_text() + (HERE.parents[1] / "docs" / "decisions.md").read_text()
    small.train_from_iterator([book] + TEXTS * 3, vocab_size=700, min_frequency=2, show_progress=False)
    GOLDEN.mkdir(exist_ok=True)
    small.save_model(str(GOLDEN))
    gpt2 = ByteLevelBPETokenizer(f"{folder}/encoder.json", f"{folder}/vocab.bpe")
    with open(GOLDEN / "texts.jsonl", "w") as out:
        for text in TEXTS:
            case = {"hex": text.encode().hex(), "ids": small.encode(text).ids, "gpt2": gpt2.encode(text).ids}
            print(json.dumps(case), file=out)


main(sys.argv[1])
