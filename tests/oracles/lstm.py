"""The LSTM (Hochreiter and Schmidhuber 1997, with forget gates) and the simple recurrent network (Elman 1990) in plain
NumPy, token by token, in double precision. It
shares nothing with longhaul but the names of the parameters. Its outputs are the fixtures in tests/golden/lstm.csv:

    python3 tests/oracles/lstm.py > tests/golden/lstm.csv
"""
import numpy as np

from fixture import VOCABULARY, assert_equal, parameter, print_header, print_model, whole


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


class LSTM:
    """The textbook cell with one bias and the gates in the order input, forget, cell, output; no norms."""

    def __init__(self, layers=1, width=6, hidden=8):
        self.layers, self.width, self.hidden = layers, width, hidden
        self.h, self.c = np.zeros((layers, hidden)), np.zeros((layers, hidden))

    def token(self, x):
        for l in range(self.layers):
            n = f"layers.{l}"
            gates = x @ parameter(n + ".input", len(x), 4 * self.hidden)
            gates = gates + self.h[l] @ parameter(n + ".recurrent", self.hidden, 4 * self.hidden)
            gates = (gates + parameter(n + ".bias", 4 * self.hidden)).reshape(4, self.hidden)
            self.c[l] = sigmoid(gates[1]) * self.c[l] + sigmoid(gates[0]) * np.tanh(gates[2])
            x = self.h[l] = sigmoid(gates[3]) * np.tanh(self.c[l])
        return x

    def segment(self, tokens):
        return np.stack([self.token(x) for x in parameter("embedding.weight", VOCABULARY, self.width)[tokens]])


class RNN:
    """h = g(x W + h R + b) in each layer."""

    def __init__(self, layers=1, width=6, hidden=8, activation="tanh"):
        self.layers, self.width, self.hidden = layers, width, hidden
        self.g = {"linear": lambda x: x, "tanh": np.tanh, "sigmoid": sigmoid, "relu": lambda x: np.maximum(x, 0)}[
            activation]
        self.h = np.zeros((layers, hidden))

    def token(self, x):
        for l in range(self.layers):
            n = f"layers.{l}"
            x = x @ parameter(n + ".input", len(x), self.hidden) + parameter(n + ".bias", self.hidden)
            x = self.h[l] = self.g(x + self.h[l] @ parameter(n + ".recurrent", self.hidden, self.hidden))
        return x

    def segment(self, tokens):
        return np.stack([self.token(x) for x in parameter("embedding.weight", VOCABULARY, self.width)[tokens]])


def main():
    assert_equal(whole(LSTM(2), 3, 6), whole(LSTM(2)))  # where the stream is cut changes nothing
    print_header()
    for layers in (1, 2):
        print_model("lstm", LSTM, "dropout=0", layers=layers, width=6, hidden=8)
    for layers, activation in ((2, "linear"), (2, "tanh"), (1, "sigmoid"), (2, "relu")):
        print_model("rnn", RNN, "dropout=0", layers=layers, width=6, hidden=8, activation=activation)


main()
