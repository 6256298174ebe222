"""Sentences, their counts and BLEU by sacreBLEU (Post 2018), in 13a and international tokenisation, as they are and in
lower case, with exponential smoothing and without. Needs `pip install sacrebleu regex`; made with 2.6.0.

    python3 tests/oracles/bleu.py tests/golden/bleu    # writes bleu_sentences.tsv and bleu_scores.csv there
"""
import os
import random
import sys

from sacrebleu.metrics import BLEU

PUNCTUATION = [
    ('It cost $1,234.56 (or 1.5%) - "really"?', 'It cost $1,234.56 ( or 1.5 % ) - "really" ?'),
    ("He said: &quot;no&quot; &amp; left &lt;b&gt;.", 'He said: "no" & left <b>.'),
    ("The 10-year-old state-of-the-art U.S. plan, e.g. v2.0.", "The 10-year old state-of-the-art U.S. plan, e.g. v2.0 ."),
    ("e-mail: a.b@c.org/x_y [1] {2} ~3~ `4` ^5^ |6|", "email : a.b@c.org/x_y [1] {2} ~3~ `4` ^5^ |6|"),
    ("<skipped>dots... and,commas,,without,spaces 3,5 3.5 ,5 .5 5. 5,", "dots ... and, commas,, without,spaces 3,5 3.5 ,5 .5 5. 5,"),
    ("don't 'quote' it's ''twice'' rock'n'roll", "don't \"quote\" it's ''twice'' rock 'n' roll"),
    ("  blanks\tand   tabs  ", "blanks and tabs"),
]
GERMAN = [
    ("Die „Straße“ – 5 € teuer – führt über Köln…", "Die „Straße“ — 5 € teuer — führt über Köln …"),
    ("ÄRGER ÜBER ÖL: 20 °C, «Größe» № 7", "Ärger über Öl: 20°C, «Größe» Nr. 7"),
    ("Das Haus, das er sah, war groß.", "Das Haus, das er sieht, ist groß."),
    ("½ Liter kostet 2¢; ﬁnden wir’s gut?", "1/2 Liter kostet 2 ¢; finden wir's gut?"),
    ("Ελλάδα και Россия: Привет, мир!", "ΕΛΛΆΔΑ ΚΑΙ россия: привет, Мир !"),
]
REPEATED = [
    ("the the the the the the the", "the cat is on the mat"),
    ("a a b a a b a a b", "a a b a a c a a b"),
]
# no four words in a row are right; then a sentence without words; then nothing right at all
SHORT = [("a b c", "a b c d"), ("x y", "x z"), ("q", "q")]
# orders without a match, which smoothing turns into a half, a quarter and an eighth of one
SMOOTHED = [("a b c x y z", "a b c d e f g"), ("m x n y o z", "m n o p")]
SMOOTHED_TWICE = [("m x n y o", "m n o p q")]
EMPTY = [("", "nothing was said"), ("so it was said today", "so it was said today")]
WRONG = [("one two three four five", "six seven eight nine ten")]


def random_pairs(count):
    draw = random.Random(7)
    words = "der die das ein Haus Hund Katze sieht , . - 5 1,5 schön".split()
    for _ in range(count):
        reference = [draw.choice(words) for _ in range(draw.randint(1, 40))]
        hypothesis = [w if draw.random() < 0.8 else draw.choice(words) for w in reference]
        hypothesis = hypothesis[:draw.randint(len(hypothesis) // 2, len(hypothesis))]
        yield " ".join(hypothesis), " ".join(reference)


CORPORA = {"punctuation": PUNCTUATION, "german": GERMAN, "repeated": REPEATED, "short": SHORT, "smoothed": SMOOTHED,
           "smoothed_twice": SMOOTHED_TWICE, "empty": EMPTY,
           "wrong": WRONG, "random": list(random_pairs(40))}


def main(folder):
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/bleu_sentences.tsv", "w", encoding="utf-8") as file:
        for name, pairs in CORPORA.items():
            for hypothesis, reference in pairs:
                hypothesis, reference = (side.replace("\t", "\u2003") for side in (hypothesis, reference))
                print(name, hypothesis, reference, sep="\t", file=file)
    with open(f"{folder}/bleu_scores.csv", "w", encoding="utf-8") as file:
        orders = ",".join(f"{what}{n}" for what in ("correct", "total") for n in (1, 2, 3, 4))
        print(f"corpus,words,lowercase,hypothesis_words,reference_words,{orders},exp,unsmoothed", file=file)
        for name, pairs in CORPORA.items():
            sides = [[side.replace("\t", "\u2003") for side in sides] for sides in zip(*pairs)]
            for words in ("13a", "intl"):
                for lower in (False, True):
                    scores = [BLEU(tokenize=words, lowercase=lower, smooth_method=smooth).corpus_score(sides[0], [sides[1]])
                              for smooth in ("exp", "none")]
                    counts = [scores[0].sys_len, scores[0].ref_len, *scores[0].counts, *scores[0].totals]
                    print(name, words, int(lower), *counts, *(f"{s.score:.12g}" for s in scores), sep=",", file=file)


main(sys.argv[1])
