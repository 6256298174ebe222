"""Encodings by Tensor2Tensor's SubwordTextEncoder: a small vocabulary of its own making, and the released one of WMT14
English-German where it is at hand. Needs `pip install --no-deps tensor2tensor six`; TensorFlow is not needed.

    python3 tests/oracles/subwords.py tests/golden/subwords [ende-32k.subwords]
"""
import importlib.util
import os
import sys
import types


def stand_in(name, **fields):
    module = types.ModuleType(name)
    module.__dict__.update(fields)
    sys.modules[name] = module
    return module


def text_encoder():
    """The module alone, without the package around it."""
    files = types.SimpleNamespace(Open=open, Exists=os.path.exists)
    v1 = types.SimpleNamespace(gfile=files, logging=types.SimpleNamespace(info=lambda *_: None))
    stand_in("tensorflow", compat=types.SimpleNamespace(v1=v1))
    stand_in("tensorflow.compat", v1=v1)
    stand_in("tensorflow.compat.v1", **vars(v1))
    folder = next(os.path.join(p, "tensor2tensor") for p in sys.path if os.path.isdir(os.path.join(p, "tensor2tensor")))
    stand_in("tensor2tensor", __path__=[])
    stand_in("tensor2tensor.utils", mlperf_log=stand_in("tensor2tensor.utils.mlperf_log", transformer_print=lambda *_, **__: None))
    package = stand_in("tensor2tensor.data_generators", __path__=[])
    for name in ("tokenizer", "text_encoder"):
        spec = importlib.util.spec_from_file_location(f"{package.__name__}.{name}", f"{folder}/data_generators/{name}.py")
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        setattr(package, name, module)
    return package.text_encoder


TEXTS = ["", " ", "  ", "a", " a", "a ", "Hello, world!", "The cat sees the old bridge, because it rains.",
         "Die Straße führt über die Brücke; 1,5 km (ca. 1.500 m).", "snake_case \\ back\\slash \\u _ __", "a\nb\n\nc", "tabs\there",
         "你好 мир € — „so“ ½ x² ①", "\U0001f600 smile", "a  b   c", "don't -- stop...", "\\12; \\999999999; \\55296;", "12 345"]


def write(encoder, name, file):
    for text in TEXTS:
        ids = encoder.encode(text)
        back = encoder.decode(ids)
        print(name, text.encode().hex() or "-", " ".join(map(str, ids)) or "-", back.encode().hex() or "-", sep=",", file=file)


def main(folder, released=None):
    module = text_encoder()
    os.makedirs(folder, exist_ok=True)
    lines = [f"{text} {i}".replace("\n", " ") for i, text in enumerate(TEXTS) for _ in range(3)] + ["the dog and the cat and the house"] * 9
    small = module.SubwordTextEncoder.build_from_generator(lines, 120, reserved_tokens=["<pad>", "<EOS>"])
    small.store_to_file(f"{folder}/small.subwords")
    small = module.SubwordTextEncoder(f"{folder}/small.subwords")
    with open(f"{folder}/encodings.csv", "w") as file:
        print("vocabulary,text,ids,decoded", file=file)
        write(small, "small", file)
        if released:
            write(module.SubwordTextEncoder(released), "ende-32k", file)


main(*sys.argv[1:])
