"""What the oracles have in common: parameters without a weight file, the tokens, the form of a fixture."""
import numpy as np

VOCABULARY, SEGMENT, SEGMENTS = 11, 8, 2
TOKENS = [(7 * i * i + 3 * i + 1) % VOCABULARY for i in range(SEGMENT * SEGMENTS)]
POSITIONS = (0, 3, 4, 7)


def parameter(name, *shape):
    """Element e is 0.5 * sin(0.37 * e + 1.3 * (sum of the name's bytes mod 97) + 0.1); gains, scales and
    variances are 1 + 0.2 * that."""
    e = np.arange(int(np.prod(shape)), dtype=float)
    value = 0.5 * np.sin(0.37 * e + 1.3 * (sum(name.encode()) % 97) + 0.1)
    if name.endswith("gain") or ".scale" in name or name.endswith("variance"):
        value = 1 + 0.2 * value
    return value.reshape(shape)


def print_header():
    print("model,options,segment,position,channel,hidden")


def cell(text):
    """Options as a field of a CSV file: lists have commas."""
    return f'"{text}"' if "," in text else text


def print_case(name, options, model):
    """The hidden states that a fresh model hands to its head, in consecutive segments."""
    for s in range(SEGMENTS):
        hidden = model.segment(TOKENS[s * SEGMENT:(s + 1) * SEGMENT])
        for position in POSITIONS:
            for channel, value in enumerate(hidden[position]):
                print(f"{name},{cell(options)},{s},{position},{channel},{value:.17g}")


def text(value):
    return str(value).lower() if isinstance(value, bool) else str(value)


def print_model(name, create, base, **options):
    words = [f"{key}={text(value)}" for key, value in options.items()]
    print_case(name, " ".join([base] + words), create(**options))


def whole(model, *lengths):
    """The hidden states of all tokens, read in segments of these lengths; the rest is the last segment."""
    out, at = [], 0
    for length in lengths + (len(TOKENS) - sum(lengths),):
        out.append(model.segment(TOKENS[at:at + length]))
        at += length
    return np.concatenate(out)


def assert_equal(a, b):
    assert np.abs(a - b).max() < 1e-12, np.abs(a - b).max()
