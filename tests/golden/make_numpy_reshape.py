"""Write numpy_reshape.json: shapes that `npx.reshape` makes of random shapes and codes. Runs with MXNet 1.9.1."""

import json
import random
from pathlib import Path


def main():
    import mxnet as mx

    mx.npx.set_np()
    random.seed(1)
    found = []
    for _ in range(450):
        shape = [random.choice([1, 2, 3, 4, 6]) for _ in range(random.randint(1, 4))]
        codes = [random.choice([-1, -2, -2, -3, -4, -5, -6, 1, 2, 3, 4, 6, 12]) for _ in range(random.randint(1, 5))]
        reverse = random.random() < 0.4
        try:
            answer = list(mx.npx.reshape(mx.np.ones(tuple(shape)), tuple(codes), reverse=reverse).shape)
        except mx.MXNetError:
            answer = None
        found.append([shape, codes, reverse, answer])
    Path(__file__).with_name("numpy_reshape.json").write_text(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
