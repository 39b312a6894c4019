"""Learn to write like Python's own documentation, character by character, with an LSTM in Gluon.

The text is what comes with every Python: the topics of `help()`, such as 'assignment' and 'CLASSES'. A network of two
layers guesses each character from all before it. The perplexity says among how many characters it hesitates: as many as
there are at the beginning, few in the end.

    python examples/lstm.py                       # exits with an error if the perplexity is above 6 in the end
    python examples/lstm.py --quick --output /tmp/lstm.png
    python examples/lstm.py --text book.txt --epochs 20
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

import numpy as np

import minpy as mx
from minpy import autograd, gluon, nd

try:
    from matplotlib.figure import Figure
    from tqdm import tqdm
except ModuleNotFoundError as error:
    sys.exit(f'{error}. The examples need: python -m pip install -e ".[examples]"')

BATCH, STEPS = 32, 35
EMBEDDED, HIDDEN, LAYERS = 32, 128, 2
LEARNING_RATE, LARGEST_NORM = 0.01, 1.0


class Writer(gluon.HybridBlock):
    """Scores for the character after each of those given; the state is what it remembers of all before."""

    def __init__(self, characters: int, **kwargs) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.embedding = gluon.nn.Embedding(characters, EMBEDDED)
            self.lstm = gluon.rnn.LSTM(HIDDEN, num_layers=LAYERS, input_size=EMBEDDED)
            self.scores = gluon.nn.Dense(characters, flatten=False, in_units=HIDDEN)

    def hybrid_forward(self, F, text, state):
        """`text` is of shape (steps, batch); returns scores (steps, batch, characters), and the state."""
        hidden, state = self.lstm(self.embedding(text), state)
        return self.scores(hidden), state


def documentation() -> str:
    """The topics of Python's `help()`, in alphabetical order."""
    from pydoc_data.topics import topics

    return "\n".join(topics[name] for name in sorted(topics))


def batches_of(numbers: np.ndarray) -> np.ndarray:
    """Rows of text side by side, BATCH of them, each going on where it stopped: (batches, STEPS + 1, BATCH)."""
    length = (len(numbers) - 1) // (BATCH * STEPS) * STEPS
    rows = np.stack([numbers[row * length : (row + 1) * length + 1] for row in range(BATCH)], axis=1)
    return np.stack([rows[start : start + STEPS + 1] for start in range(0, length, STEPS)])


def detached(state: list[nd.NDArray]) -> list[nd.NDArray]:
    """The state without its past: gradients end here."""
    return [array.detach() for array in state]


def train(net: Writer, batches: np.ndarray, epochs: int) -> np.ndarray:
    """Backpropagation through time, cut off between batches; returns the perplexity of each batch."""
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": LEARNING_RATE})
    cross_entropy = gluon.loss.SoftmaxCrossEntropyLoss(batch_axis=1)
    parameters = net.collect_params().values()
    perplexities = []
    with tqdm(total=epochs * len(batches), unit="batch", leave=False, disable=None) as progress:
        for epoch in range(epochs):
            start = time.perf_counter()
            state = net.lstm.begin_state(batch_size=BATCH)
            for batch in batches:
                text, following = nd.array(batch[:-1]), nd.array(batch[1:])
                with autograd.record():
                    scores, state = net(text, detached(state))
                    loss = cross_entropy(scores, following).mean()
                loss.backward()
                gluon.utils.clip_global_norm([parameter.grad() for parameter in parameters], LARGEST_NORM)
                trainer.step(1)
                perplexities.append(np.exp(loss.asscalar()))
                progress.update()
            mean = np.exp(np.mean(np.log(perplexities[-len(batches) :])))
            seconds = time.perf_counter() - start
            progress.write(f"epoch {epoch + 1:2}: perplexity {mean:6.2f}, {seconds:6.1f} s")
    return np.array(perplexities)


def write(net: Writer, alphabet: str, beginning: str, length: int) -> str:
    """Let the network go on with a text: each character is drawn from the probabilities that it gives."""
    state, written = net.lstm.begin_state(batch_size=1), list(beginning)
    given = beginning
    for _ in range(length):
        numbers = nd.array([[alphabet.index(character)] for character in given])
        scores, state = net(numbers, state)
        given = alphabet[int(nd.random.multinomial(nd.softmax(scores[-1, 0])).asscalar())]
        written.append(given)
    return "".join(written)


def draw(output: Path, perplexities: np.ndarray, batches: int, characters: int) -> None:
    """How the perplexity fell."""
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    axes.semilogy(np.arange(1, len(perplexities) + 1) / batches, perplexities, color="tab:gray", linewidth=0.8)
    axes.axhline(characters, linestyle="--", color="black", linewidth=1, label="any character may follow")
    axes.set(xlabel="epoch", title="Perplexity: among how many characters the network hesitates")
    axes.legend()
    partial = output.with_name(f".{output.stem}.{os.getpid()}{output.suffix}")
    try:
        figure.savefig(partial, dpi=110)
        partial.replace(output)  # whoever looks sees the old picture or the new one, never half of one
    finally:
        partial.unlink(missing_ok=True)


def picture(text: str) -> Path:
    """The --output path, refused before any training if nothing could be written there."""
    path = Path(text)
    if path.suffix not in (".png", ".pdf", ".svg"):
        raise argparse.ArgumentTypeError(f"{text!r} should end in .png, .pdf or .svg")
    if not os.access(path.parent, os.W_OK):
        raise argparse.ArgumentTypeError(f"cannot write to a directory {str(path.parent)!r}")
    return path


def main() -> int:
    """Train, write and draw; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a shorter run, on the beginning of the text")
    parser.add_argument("--text", type=Path, metavar="FILE", help="a text to learn from instead")
    parser.add_argument("--epochs", type=int, help="passes over the text (default: 8)")
    parser.add_argument("--eager", action="store_true", help="leave the network as it is written: no graph")
    parser.add_argument(
        "--seed", type=int, default=0, help="of the initial weights and of what is written (default: 0)"
    )
    parser.add_argument("--output", type=picture, default="lstm.png", help="the picture (default: %(default)s)")
    options = parser.parse_args()
    epochs = options.epochs if options.epochs is not None else 2 if options.quick else 8
    if epochs < 1 or options.seed < 0:
        parser.error("--epochs must be at least 1, and --seed at least 0")
    try:
        text = documentation() if options.text is None else options.text.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        parser.error(f"--text: {error}")
    text = text[: 45_000 if options.quick else 400_000]
    if len(text) <= BATCH * STEPS:
        parser.error(f"--text: {len(text)} characters are too few; {BATCH * STEPS + 1} are needed")

    alphabet = "".join(sorted(set(text)))
    numbers = np.array([alphabet.index(character) for character in text])
    mx.random.seed(options.seed)
    net = Writer(len(alphabet), prefix="writer_")
    net.initialize(mx.init.Xavier())
    if not options.eager:
        net.hybridize()
    batches = batches_of(numbers)
    print(f"{len(text):,} characters, {len(alphabet)} different ones, {len(batches)} batches")
    perplexities = train(net, batches, epochs)
    print("\nIt writes:\n" + write(net, alphabet, text[:20], 300))
    draw(options.output, perplexities, len(batches), len(alphabet))
    last = float(np.exp(np.mean(np.log(perplexities[-len(batches) // 4 :]))))
    print(f"\nperplexity {perplexities[0]:.1f} at first, {last:.2f} in the end; picture: {options.output}")
    target = 25 if options.quick else 6
    if last > target:
        print(f"error: that is above {target}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
