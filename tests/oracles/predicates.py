"""The papers' claims as Python: every predicate of results/published/predicates.csv, evaluated over changed copies of the
published tables. Lua's translations of the predicates must say the same (tests/lua/test_predicates.lua). Plain Python 3:

    python3 tests/oracles/predicates.py tests/golden

writes two files. predicates.csv: each predicate's outcomes over copies whose numbers were moved at random by whole units of
their last printed digit. predicate_edges.csv: for each number that a predicate reads, the values next to each other
between which the outcome turns, all other numbers being those of a copy (0: as printed).
"""
import csv
import functools
import glob
import os
import re
import sys

FOLDER = os.path.join(os.path.dirname(__file__), "..", "..", "results", "published")
COPIES = 240

# A copy moves one in so many numbers by up to so many units of the last printed digit.
SHARES = (1, 2, 4, 8, 16, 32, 64)
REACHES = (1, 2, 4, 8, 20, 60, 200, 1000)

MASK = 0xFFFFFFFF


def draw(copy, cell, salt):
    """A number of 32 bits for a cell of a copy: multiplications and shifts, as MurmurHash3 ends."""
    x = (copy * 0x9E3779B1 + cell * 0x85EBCA77 + salt * 0xC2B2AE3D + 1) & MASK
    x = ((x ^ x >> 16) * 0x85EBCA6B) & MASK
    x = ((x ^ x >> 13) * 0xC2B2AE35) & MASK
    return x ^ x >> 16


def decimals(text):
    """Digits behind the point of a printed number; 1.75e8 has -6."""
    number, _, exponent = text.partition("e")
    return len(number.partition(".")[2]) - int(exponent or 0)


class Cell:
    """A printed number; `digits` are the decimals of its column."""

    def __init__(self, index, line):
        self.index, self.line, self.text, self.digits = index, line, line["value"], 0
        self.group = line["paper"], line["table"], line["metric"]

    def units(self):
        """It in units of the last digit."""
        value = float(self.text)
        return round(value * 10.0 ** self.digits) if self.digits >= 0 else round(value / 10.0 ** -self.digits)

    def of(self, units):
        return units / 10.0 ** self.digits if self.digits >= 0 else units * 10.0 ** -self.digits

    def value(self, copy):
        """It in a copy; what is not 0 stays above 0."""
        if copy == 0 or draw(copy, self.index, 0) % SHARES[copy % len(SHARES)] != 0:
            return float(self.text)
        reach = REACHES[copy // len(SHARES) % len(REACHES)]
        moved = self.units() + draw(copy, self.index, 1) % (2 * reach + 1) - reach
        return self.of(max(1 if self.units() > 0 else 0, moved))


def read_lines(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def read_cells():
    """Every number of the tables of papers with predicates, in the order of files and lines, from 0."""
    cells, digits = [], {}
    papers = {line["paper"] for line in read_lines(os.path.join(FOLDER, "predicates.csv"))}
    for path in sorted(glob.glob(os.path.join(FOLDER, "*_table*.csv"))):
        for line in read_lines(path):
            if line["paper"] in papers and re.fullmatch(r"[0-9]+(\.[0-9]+)?(e[0-9]+)?", line["value"]):
                cells.append(Cell(len(cells), line))
    for cell in cells:
        digits[cell.group] = max(digits.get(cell.group, -99), decimals(cell.text))
    for cell in cells:
        cell.digits = digits[cell.group]
    return cells


CELLS = read_cells()


@functools.lru_cache(None)
def find(paper, table, columns):
    """The first cell whose columns match; a column is asked for by a whole pattern."""
    for cell in CELLS:
        line = cell.line
        if line["paper"] == paper and line["table"] == str(table) and all(
                re.fullmatch(pattern, line[name]) for name, pattern in columns):
            return cell
    return None


class Tables:
    """The numbers of a copy, and the cells that were asked for."""

    def __init__(self, copy):
        self.values = [cell.value(copy) for cell in CELLS]
        self.read = set()

    def value(self, paper, table, **columns):
        cell = find(paper, table, tuple(sorted(columns.items())))
        if cell is None:
            return None
        self.read.add(cell.index)
        return self.values[cell.index]


REC = [f"rec:{gate}:{cell}" for gate in ("lstm", "fixed") for cell in ("dual", "single", "skip")]
BASE = ["xl:512", "xl:1024", "xl:2048", "slide:12l", "slide:13l"]
DS = ["pg19_bytes", "pg19_tokens", "arxiv", "github"]
LANG = ["d2", "d4", "tomita3", "parity", "tomita5", "tomita6"]
SERIES = [(name, h) for name in ("ETTh1", "ETTh2", "ETTm1", "Weather")
          for h in ((24, 48, 96, 288) if name == "ETTm1" else (24, 48, 168, 336))]
GROUPS = [["cached_staircase:r1:f32", "cached_staircase:r1:f64", "cached_staircase:r1:f128"],
          ["staircase:r2:f64", "staircase:r2:f128"], ["staircase:r4:f32", "staircase:r4:f64"]]


def readers(t):
    """The names that the predicates use, over the tables of a copy."""
    def R(m, d, h, metric):
        return t.value("rsa", 1, model=m, dataset=d, metric=metric, note=rf"horizon={h}\b.*")

    def WINS(a, b, ties):
        pairs = [(R(a, d, h, k), R(b, d, h, k)) for d, h in SERIES for k in ("mse", "mae")]
        return sum(x < y or (ties and x == y) for x, y in pairs)

    def GP(n, model, overlap, column):
        slug = f"gpt2_{model}:w300:o{overlap}"
        if column == "flops":
            return t.value("gpt2_recurrent", n, model=slug, metric="flops_per_token")
        unit = "validation" if column == "val" else column
        return t.value("gpt2_recurrent", n, model=slug, metric="perplexity", unit=unit)

    def S2(m, column):
        metric = "perplexity" if column in ("valid", "test") else column
        return t.value("staircase", 2, model=m, metric=metric, unit=column if metric == "perplexity" else "ms")

    def S3(metric):
        return [[t.value("staircase", 3, model=m, metric=metric) for m in group] for group in GROUPS]

    return {
        "B": lambda m, d: t.value("brt", 1, model=m, dataset=d, metric="bits_per_.*"),
        "BST": lambda m: t.value("brt", 1, model=m, metric="relative_step_time"),
        "BRT2": lambda m, column: t.value("brt", 2, model=m, metric=column),
        "REC": REC, "BASE": BASE, "DS": DS, "G3": ["dual", "single", "skip"],
        "S1": lambda m, d: t.value("staircase", 1, model=m, dataset=d), "S2": S2,
        "S3G": lambda: S3("perplexity"), "S3T": lambda: S3("batch_time_ms"),
        "GP": GP,
        "RF2": lambda a, b: t.value("reformer", 2, row=a, column=b),
        "BLEU": lambda m, column: t.value("reformer", 4, model=m, metric=column),
        "R": R, "WINS": WINS, "LANG": LANG, "CASES": ["I", "II", "III", "IV"],
        "R2": lambda m, d, b: t.value("rsa", 2, model=m, dataset=d, note=f"bin={b}.*"),
        "R3": lambda m, d: t.value("rsa", 3, model=m, dataset=d, metric="(?!params_added).*"),
        "R6": lambda s, b, h: t.value("rsa", 6, model=f"rsa_informer:s{s}:sbar{b}", note=rf"horizon={h}\b.*"),
        "R7": lambda row: t.value("rsa", 7, row=re.escape(row), metric="params"),
    }


class Claim:
    def __init__(self, line):
        self.name, self.printed = line["claim_id"], line["holds_in_the_papers_own_tables"] == "yes"
        self.code = compile(line["predicate"], self.name, "eval")

    def holds(self, tables):
        return bool(eval(self.code, readers(tables)))


def read_claims():
    return [Claim(line) for line in read_lines(os.path.join(FOLDER, "predicates.csv"))]


# ---- edges ----

# Numbers under which a predicate holds that holds in no copy: cells of Table 1 set to those of Table 6.
PLANTED = {"rsa_p075": [(("rsa", 1, 24), ("s2:sbar2", 24)), (("rsa", 1, 48), ("s2:sbar1", 48)),
                        (("rsa", 1, 168), ("s2:sbar1", 168))]}


def planted(name):
    """Changes of the printed numbers, by cell."""
    changes = {}
    for (paper, table, h), (mix, _) in PLANTED.get(name, []):
        columns = (("dataset", "ETTh1"), ("metric", "mse"), ("model", "rsa_informer"), ("note", rf"horizon={h}\b.*"))
        source = find(paper, 6, (("model", f"rsa_informer:{mix}"), ("note", rf"horizon={h}\b.*")))
        changes[find(paper, table, columns).index] = source.units()
    return changes


def further(units, step):
    """Values to try, ever further: each of the next 400 units, then larger steps."""
    value, least = units, 1 if units > 0 else 0
    for i in range(1000):
        value += step if i < 400 else step * max(1, abs(value) // 100)
        if value < least or value > 8 * units + 4000:
            return
        yield value


def turns(holds, units, step):
    """Up to two pairs (last value before the outcome turns, first after), going up or down from `units`."""
    before, outcome, count = units, holds(units), 0
    for value in further(units, step):
        if holds(value) == outcome:
            before = value
            continue
        low, high = before, value
        while abs(high - low) > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if holds(middle) == outcome else (low, middle)
        yield low, high, outcome
        before, outcome, count = high, not outcome, count + 1
        if count == 2:
            return


def edges(claim, copy):
    """Lines of predicate_edges.csv: changes that go with all, the cell, and two values of it with the outcome of the first."""
    tables, changes = Tables(copy), planted(claim.name)
    for index, units in changes.items():
        tables.values[index] = CELLS[index].of(units)
    claim.holds(tables)
    for index in sorted(tables.read):
        cell, kept = CELLS[index], tables.values[index]

        def holds(units):
            tables.values[index] = cell.of(units)
            return claim.holds(tables)

        base = round(kept * 10.0 ** cell.digits) if cell.digits >= 0 else round(kept / 10.0 ** -cell.digits)
        for step in (1, -1):
            for low, high, outcome in turns(holds, base, step):
                others = " ".join(f"{i}={u}" for i, u in changes.items() if i != index)
                yield [claim.name, copy, others, index, low, high, "yes" if outcome else "no"]
        tables.values[index] = kept


def write(path, header, lines):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(lines)


def main(folder):
    claims = read_claims()
    copies = [Tables(copy) for copy in range(COPIES)]
    outcomes = [[claim.holds(tables) for tables in copies] for claim in claims]
    lines = []
    for claim, held in zip(claims, outcomes):
        assert held[0] == claim.printed, claim.name
        base = held.index(True) if True in held else 0
        lines.extend(edges(claim, base))
    write(os.path.join(folder, "predicates.csv"), ["claim_id", "outcomes"],
          [[claim.name, "".join("1" if one else "0" for one in held)] for claim, held in zip(claims, outcomes)])
    write(os.path.join(folder, "predicate_edges.csv"),
          ["claim_id", "copy", "changes", "cell", "units", "units_beyond", "holds"], lines)


if __name__ == "__main__":
    main(sys.argv[1])
