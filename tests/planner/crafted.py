"""Planners' files made to do harm or to confuse: each a function from a good file's parts to a bad file's content."""

import hashlib
import io
import json
import struct
import warnings
import zipfile
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

Parts = dict[str, bytes]
PAGE, MODEL, WEIGHTS = "planner.json", "model.json", "weights.npz"


def parts_of(content: bytes) -> Parts:
    """The parts of a planner's file, or of an .npz file."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(parts: Any, compression: int = zipfile.ZIP_STORED) -> bytes:
    """A zip of parts, given as a dictionary or as pairs, in which a name may stand twice."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for name, content in parts.items() if isinstance(parts, dict) else parts:
            info = zipfile.ZipInfo(name)
            info.compress_type = compression
            with warnings.catch_warnings():  # of names that stand twice
                warnings.simplefilter("ignore")
                archive.writestr(info, content)
    return stream.getvalue()


def edit(part: str, *path_and_value: Any) -> Callable[[Parts], bytes]:
    """The file with one value in one of its pages changed; a function as value changes the old one."""
    *path, last, value = path_and_value

    def make(parts: Parts) -> bytes:
        page = json.loads(parts[part])
        inside = page
        for name in path:
            inside = inside[name]
        inside[last] = value(inside[last]) if callable(value) else value
        return zipped(parts | {part: json.dumps(page).encode()})

    return make


def drop(part: str, *path: Any) -> Callable[[Parts], bytes]:
    """The file without one entry of one of its pages."""

    def make(parts: Parts) -> bytes:
        page = json.loads(parts[part])
        inside = page
        for name in path[:-1]:
            inside = inside[name]
        del inside[path[-1]]
        return zipped(parts | {part: json.dumps(page).encode()})

    return make


def raw(part: str, content: bytes) -> Callable[[Parts], bytes]:
    """The file with other bytes in place of one part; new weights with the checksum that fits them."""

    def make(parts: Parts) -> bytes:
        changed = parts | {part: content}
        return signed(changed) if part == WEIGHTS else zipped(changed)

    return make


def signed(parts: Parts) -> bytes:
    """The file with the checksum of the weights that it has."""
    page = json.loads(parts[MODEL])
    page["weights"] = hashlib.sha256(parts[WEIGHTS]).hexdigest()
    return zipped(parts | {MODEL: json.dumps(page).encode()})


def arrays(change: Callable[[Parts], Any]) -> Callable[[Parts], bytes]:
    """The file with changed .npy files in its weights."""
    return lambda parts: signed(parts | {WEIGHTS: zipped(change(parts_of(parts[WEIGHTS])))})


def npy(descr: str = "<f4", shape: str = "(3,)", data: bytes = b"", header: str | None = None) -> bytes:
    """An .npy file with a header of one's own."""
    text = header or f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text) + 1) + text.encode() + b"\n" + data


def one_array(name: str, change: Callable[[np.ndarray], np.ndarray]) -> Callable[[Parts], bytes]:
    """The file with the numbers of one array changed."""

    def make(stored: Parts) -> Parts:
        stream = io.BytesIO()
        np.save(stream, change(np.load(io.BytesIO(stored[f"{name}.npy"]))))
        return stored | {f"{name}.npy": stream.getvalue()}

    return arrays(make)


def every_array(make: Callable[[str, bytes], bytes]) -> Callable[[Parts], bytes]:
    """The file with each array made anew from its name and content."""
    return arrays(lambda stored: {name: make(name, content) for name, content in stored.items()})


def with_flags(flags: int) -> Callable[[Parts], bytes]:
    """The file with bits of the directory's flags set; the first says that it is encrypted."""

    def make(parts: Parts) -> bytes:
        content = bytearray(zipped(parts))
        for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
            start = content.find(mark)
            while start >= 0:
                content[start + offset] |= flags
                start = content.find(mark, start + 1)
        return bytes(content)

    return make


def with_directory(offset: int, packed: bytes) -> Callable[[Parts], bytes]:
    """The file with some bytes of its first directory entry replaced."""

    def make(parts: Parts) -> bytes:
        content = bytearray(zipped(parts))
        start = content.rfind(b"PK\x01\x02", 0, content.rfind(PAGE.encode()))
        content[start + offset : start + offset + len(packed)] = packed
        return bytes(content)

    return make


def bomb(part: str, compression: int = zipfile.ZIP_DEFLATED, size: int = 2**28) -> Callable[[Parts], bytes]:
    """The file with a part that swells a thousandfold."""
    return lambda parts: zipped(parts | {part: b" " * size}, compression)


def overlapping(parts: Parts) -> bytes:
    """A hundred names for the same bytes."""
    good = zipped(parts)
    start, end = good.find(b"PK\x01\x02"), good.find(b"PK\x05\x06")
    entry = good[start:end]
    count = entry.count(b"PK\x01\x02")
    tail = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 100 * count, 100 * count, 100 * len(entry), start, 0)
    return good[:start] + entry * 100 + tail


def deep(kind: str, depth: int) -> bytes:
    """JSON that is nested deeply."""
    return (b"[" * depth + b"]" * depth) if kind == "list" else (b'{"a":' * depth + b"1" + b"}" * depth)


def deep_loss(depth: int) -> Any:
    """Losses within losses."""
    loss: Any = {"kind": "MeanSquaredError"}
    for _ in range(depth):
        loss = {"kind": "WeightedSum", "losses": [loss], "weights": [1.0]}
    return loss


NAN, INF = float("nan"), float("inf")
NUMBERS = {"negative": -3, "huge": 10**30, "a fraction": 2.5, "NaN": NAN, "infinite": INF, "text": "3", "true": True}

CHAINS: dict[str, Callable[[Parts], bytes]] = {
    "chains by a loss": edit(MODEL, "loss", {"kind": "MeanSquaredError"}),
    "chains with settings": edit(MODEL, "config", {"num_epochs": 3}),
    "chains of one state": edit(MODEL, "model", "num_states", 1),
    "chains of other states": edit(MODEL, "model", "num_states", 3),
    "chains of a thousand states": edit(MODEL, "model", "num_states", 1000),
    "chains with numbers": edit(MODEL, "model", "numeric", 1),
    "chains with more": edit(MODEL, "model", lambda page: page | {"width": 64}),
    "chains without a size": drop(MODEL, "model", "numeric"),
    "chains of other levels": edit(MODEL, "model", "levels", lambda levels: levels[::-1]),
    "chains of huge levels": edit(MODEL, "model", "levels", [10**6] * 100),
    "chains of half precision": edit(MODEL, "model", "precision", "float16"),
    "chains as a network": edit(MODEL, "model", "kind", "Linear"),
    "a spread that is none": one_array("population.covariance", lambda numbers: -numbers),
    "a spread of two halves": one_array("population.covariance", lambda numbers: numbers + np.triu(0 * numbers + 1, 1)),
    "scales of 0": one_array("population.scales", lambda numbers: 0 * numbers),
    "shares that are none": one_array("population.first_shares", lambda numbers: numbers + 1),
    "an age below 0": one_array("population.last_age", lambda numbers: numbers - 1000),
    "infinite weights": one_array("population.weights", lambda numbers: numbers + INF),
}

CRAFTED: dict[str, Callable[[Parts], bytes]] = {
    "empty": lambda _: b"",
    "text": lambda _: b"hello",
    "a pickle": lambda _: b"\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00\x8c\x02os\x94.",
    "zeros": lambda _: bytes(10_000),
    "no parts": lambda _: zipped({}),
    "an encrypted zip": with_flags(1),
    "patched data": with_flags(32),
    "strong encryption": with_flags(64),
    "compressed": lambda parts: zipped(parts, zipfile.ZIP_DEFLATED),
    "compressed by bzip2": lambda parts: zipped(parts, zipfile.ZIP_BZIP2),
    "compressed by LZMA": lambda parts: zipped(parts, zipfile.ZIP_LZMA),
    "an unknown compression": with_directory(10, struct.pack("<H", 77)),
    "a bomb as the page": bomb(PAGE),
    "a bomb as the model": bomb(MODEL),
    "a bomb as the weights": bomb(WEIGHTS),
    "a bomb by LZMA": bomb(PAGE, zipfile.ZIP_LZMA, 2**26),
    "parts that overlap": overlapping,
    "twenty thousand parts": lambda parts: zipped([*parts.items(), *((f"{number}", b"") for number in range(20_000))]),
    "one part more": lambda parts: zipped(parts | {"extra": b"1"}),
    "a part that leads elsewhere": lambda parts: zipped(parts | {"../../escaped": b"1"}),
    "an absolute part": lambda parts: zipped(parts | {"/tmp/escaped": b"1"}),
    "a folder": lambda parts: zipped(parts | {"folder/": b""}),
    "the page twice": lambda parts: zipped([*parts.items(), (PAGE, parts[PAGE])]),
    "the weights twice": lambda parts: zipped([*parts.items(), (WEIGHTS, parts[WEIGHTS])]),
    "without the page": lambda parts: zipped({name: parts[name] for name in (MODEL, WEIGHTS)}),
    "without the model": lambda parts: zipped({name: parts[name] for name in (PAGE, WEIGHTS)}),
    "without the weights": lambda parts: zipped({name: parts[name] for name in (PAGE, MODEL)}),
    "upper case": lambda parts: zipped({name.upper(): part for name, part in parts.items()}),
    "a size of four gigabytes": with_directory(24, struct.pack("<L", 2**32 - 2)),
    "a size beyond zip": with_directory(24, b"\xff\xff\xff\xff"),
    "a place beyond the file": with_directory(42, struct.pack("<L", 2**31)),
    "a wrong checksum": with_directory(16, b"\0\0\0\0"),
    "a name that is too long": with_directory(28, struct.pack("<H", 60_000)),
    "a torn directory": lambda parts: zipped(parts)[:-30],
    "half": lambda parts: zipped(parts)[: len(zipped(parts)) // 2],
    "without its beginning": lambda parts: zipped(parts)[100:],
    "a zip in a zip": lambda parts: zipped({PAGE: zipped(parts)}),
    "the weights alone": lambda parts: parts[WEIGHTS],
    **{
        f"{part}: {name}": raw(part, content)
        for part in (PAGE, MODEL)
        for name, content in {
            "empty": b"",
            "a deep list": deep("list", 100_000),
            "a deep object": deep("object", 100_000),
            "not so deep": deep("list", 900),
            "a number of a million digits": b"1" * 1_000_000,
            "no UTF-8": b'{"format": "\xff\xfe"}',
            "UTF-16": '{"format": "armwise-planner"}'.encode("utf-16"),
            "another format": b'{"format": "other", "version": 1}',
            "a list": b"[1, 2, 3]",
            "null": b"null",
            "twenty megabytes": b"[" + b"0," * 10_000_000 + b"0]",
            "compressed": zlib.compress(b"{}"),
        }.items()
    },
    "a name twice in the page": lambda parts: zipped(
        parts | {PAGE: parts[PAGE].replace(b'"version": 2', b'"version": 1, "version": 2', 1)}
    ),
    "version true": edit(PAGE, "version", True),
    "version 1": edit(PAGE, "version", 1),
    "version 3": edit(PAGE, "version", 3),
    "a page with more": lambda parts: zipped(
        parts | {PAGE: json.dumps(json.loads(parts[PAGE]) | {"extra": 1}).encode()}
    ),
    "unknown parameters": edit(PAGE, "parameters", lambda old: old | {"os.system": "ls"}),
    "no parameters": drop(PAGE, "parameters"),
    "no pool": drop(PAGE, "pool"),
    "parameters without a loss": drop(PAGE, "parameters", "loss"),
    "parameters without a seed": drop(PAGE, "parameters", "random_state"),
    "unknown keys of the config": edit(PAGE, "parameters", "config", {"speed": 9}),
    "a config that is a list": edit(PAGE, "parameters", "config", [1, 2]),
    "a loss that is a number": edit(PAGE, "parameters", "loss", 5),
    "a loss that is a list": edit(PAGE, "parameters", "loss", [{"kind": "MeanSquaredError"}]),
    "a mixture as the loss": edit(PAGE, "parameters", "loss", {"kind": "EntropyMixture", "temperature": 1.0}),
    "deep losses": edit(PAGE, "parameters", "loss", deep_loss(400)),
    "losses a little deep": edit(PAGE, "parameters", "loss", deep_loss(20)),
    "an unknown loss": edit(PAGE, "parameters", "loss", {"kind": "os.system"}),
    "a kind that is a list": edit(PAGE, "parameters", "loss", {"kind": ["MeanSquaredError"]}),
    "columns that are numbers": edit(PAGE, "parameters", "numeric", [1, 2]),
    "a column that is text": edit(PAGE, "parameters", "categorical", "phone"),
    "an id that is a number": edit(PAGE, "parameters", "id_column", 5),
    **{f"a seed that is {name}": edit(PAGE, "parameters", "random_state", value) for name, value in NUMBERS.items()},
    **{f"a count that is {name}": edit(PAGE, "pool", 0, 0, 0, value) for name, value in NUMBERS.items()},
    "counts of other states": edit(PAGE, "pool", lambda pool: [*pool, pool[0]]),
    "ragged counts": edit(PAGE, "pool", 0, 0, lambda row: row[:1]),
    "counts that are flat": edit(PAGE, "pool", [1, 2, 3, 4, 5, 6, 7, 8]),
    "no counts": edit(PAGE, "pool", []),
    "no gains": drop(PAGE, "gains"),
    "gains that are a list": edit(PAGE, "gains", [1, 2]),
    "gains with more": edit(PAGE, "gains", lambda page: page | {"extra": 1}),
    "gains of other states": edit(PAGE, "gains", "gains", lambda gains: [*gains, 0.0]),
    "gains although there were no calls": edit(PAGE, "gains", "comparable", 0.0),
    "no gains although there were calls": edit(PAGE, "gains", "gains", None),
    **{
        f"a gain that is {name}": edit(PAGE, "gains", "gains", 0, value)
        for name, value in NUMBERS.items()
        if name not in ("negative", "a fraction")
    },
    "a covariance that is flat": edit(PAGE, "gains", "covariance", [1.0, 2.0]),
    "a covariance that is no square": edit(PAGE, "gains", "covariance", lambda rows: rows[:1]),
    "a covariance below 0": edit(PAGE, "gains", "covariance", [[-1.0, 0.0], [0.0, 1.0]]),
    "a covariance of two halves": edit(PAGE, "gains", "covariance", [[1.0, 0.5], [0.4, 1.0]]),
    "a level that there is not": edit(PAGE, "gains", "levels", 0, 7),
    "an effect outside its interval": edit(PAGE, "gains", "overall", 1, [0.5, 0.6, 0.7]),
    "an effect of NaN": edit(PAGE, "gains", "overall", 1, [NAN, NAN, NAN]),
    "an effect of calls that are text": edit(PAGE, "gains", "overall", 0, "many"),
    "an effect in a state that is text": edit(PAGE, "gains", "by_state", 0, 0, "state 0"),
    "an effect in a state that there is not": edit(PAGE, "gains", "by_state", 0, 0, [9]),
    "no effects by state": edit(PAGE, "gains", "by_state", []),
    "confidence of 2": edit(PAGE, "gains", "confidence", 2),
    **{
        f"{size} that is {name}": edit(MODEL, "model", size, value)
        for size in ("num_states", "num_actions", "numeric")
        for name, value in NUMBERS.items()
    },
    "a precision that is an object": edit(MODEL, "model", "precision", "O"),
    "a precision of text": edit(MODEL, "model", "precision", "<U100000000"),
    "a model with more": edit(MODEL, "model", lambda page: page | {"depth": 10**9}),
    "a network of no end": edit(
        MODEL, "model", lambda page: page | {"kind": "MultiLayerPerceptron", "width": 64, "depth": 10**9}
    ),
    "a network too wide": edit(
        MODEL, "model", lambda page: page | {"kind": "MultiLayerPerceptron", "width": 10**6, "depth": 50}
    ),
    "an ensemble of ensembles": edit(
        MODEL,
        "model",
        lambda page: {"kind": "Ensemble", "number": 900, "member": {"kind": "Ensemble", "number": 900, "member": page}},
    ),
    "an ensemble of a billion": edit(
        MODEL, "model", lambda page: {"kind": "Ensemble", "number": 10**9, "member": page}
    ),
    "levels without end": edit(MODEL, "model", "levels", [10**9, 10**9]),
    "many levels": edit(MODEL, "model", "levels", [1] * 200_000),
    "levels that are text": edit(MODEL, "model", "levels", ["a"]),
    "levels below 1": edit(MODEL, "model", "levels", [-4, 4, 4]),
    "a discount of 1": edit(MODEL, "problem", "discount", 1.0),
    "a discount of text": edit(MODEL, "problem", "discount", "0.9"),
    "ragged rewards": edit(MODEL, "problem", "rewards", [[1.0], [1.0, 2.0]]),
    "rewards of NaN": edit(MODEL, "problem", "rewards", [NAN, 1.0]),
    "rewards of each arm": edit(MODEL, "problem", "rewards", [[0.0, 1.0]] * 3),
    "three costs": edit(MODEL, "problem", "costs", [0.0, 1.0, 2.0]),
    "first states that are no shares": edit(MODEL, "problem", "initial", [2.0, -1.0]),
    "metrics of text": edit(MODEL, "metrics", {"num_people": "many"}),
    "minus three people": edit(MODEL, "metrics", "num_people", -3),
    "people of NaN": edit(MODEL, "metrics", "num_people", NAN),
    "no people": drop(MODEL, "metrics", "num_people"),
    "data that are a list": edit(MODEL, "data", [1]),
    "no columns": edit(MODEL, "features", None),
    "columns of another model": edit(MODEL, "features", "columns", lambda columns: columns[:1]),
    "a column twice": edit(MODEL, "features", "columns", lambda columns: [*columns, columns[0]]),
    "cuts beyond a float": edit(MODEL, "features", "columns", -1, lambda column: column | {"cuts": [1, 2, 10**400]}),
    "cuts of NaN": edit(MODEL, "features", "columns", -1, lambda column: column | {"cuts": [1.0, NAN, 2.0]}),
    "half a letter": edit(MODEL, "features", "columns", 0, "name", "\ud800"),
    "another checksum": edit(MODEL, "weights", "0" * 64),
    "a checksum that is a list": edit(MODEL, "weights", [1]),
    "weights that are no zip": raw(WEIGHTS, b"hello"),
    "weights without arrays": raw(WEIGHTS, zipped({})),
    "weights of objects": every_array(lambda *_: npy("|O", "(1,)", b"\x80\x04N.")),
    "weights of a terabyte": every_array(lambda *_: npy(shape="(1000000, 1000000)")),
    "weights of too many digits": every_array(lambda *_: npy(shape="(" + "9" * 5000 + ",)")),
    "weights of a negative size": every_array(lambda *_: npy(shape="(-1, 3)")),
    "weights by a call": every_array(lambda *_: npy(header="__import__('os').system('true')")),
    "weights by deep brackets": every_array(lambda *_: npy(header="(" * 9000)),
    "weights without numbers": every_array(lambda _, content: content[:128]),
    "weights with more": every_array(lambda _, content: content + b"\0" * 1000),
    "weights of another type": every_array(lambda _, content: content.replace(b"<f", b"<i", 1)),
    "weights of the other end": every_array(lambda _, content: content.replace(b"'<f", b"'>f", 1)),
    "weights in fields": every_array(lambda *_: npy(header="{'descr': [('a', '<f4')], 'fortran_order': False}")),
    "weights of NaN": every_array(
        lambda _, content: content[:128] + np.full((len(content) - 128) // 4, np.nan, "<f4").tobytes()
    ),
    "weights twice": arrays(lambda stored: [*stored.items(), *stored.items()]),
    "one array more": arrays(lambda stored: stored | {"extra.npy": npy()}),
    "one array less": arrays(lambda stored: dict(list(stored.items())[1:])),
    "compressed weights": lambda parts: signed(
        parts | {WEIGHTS: zipped(parts_of(parts[WEIGHTS]), zipfile.ZIP_DEFLATED)}
    ),
    "weights that swell": lambda parts: signed(
        parts | {WEIGHTS: zipped(dict.fromkeys(parts_of(parts[WEIGHTS]), bytes(2**26)), zipfile.ZIP_DEFLATED)}
    ),
}
