"""Write an operator once; train through it in PyTorch, optimise in JAX, sample in PyTensor, and get the same numbers.

The operator is a natural cubic spline, in plain NumPy, with its two gradients: by the heights at its knots, and by the
positions at which it is read. It is laid through a hundred years of the Nile's flow at Aswan (1871 to 1970), smoothed
by a penalty on its bends. What PyTorch's L-BFGS and JAX's Newton step find is the mean of the samples that a
Hamiltonian Monte Carlo with PyTensor's gradients draws; how far these spread is what JAX's Hessian says:

    python examples/one_operator_everywhere.py            # exits with an error if the three do not agree
    python examples/one_operator_everywhere.py --quick
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import minpy as mx

try:
    import jax
    import pytensor
    import pytensor.tensor as pt
    import torch
except ModuleNotFoundError as error:
    sys.exit(f'{error}. This example needs: python -m pip install -e ".[torch,jax,pytensor]"')

from minpy.frameworks import to_jax, to_pytensor, to_torch

KNOTS = 12
YEARS = np.arange(1871, 1971)
NOISE = 0.8  # of a flow, in standard deviations of all flows
STIFFNESS = 1.0  # what a bend costs


def curvatures() -> np.ndarray:
    """The matrix from heights at knots one apart to second derivatives there; at both ends these are zero."""
    inner = KNOTS - 2
    system = (np.eye(inner) * 4 + np.eye(inner, k=1) + np.eye(inner, k=-1)) / 6
    differences = np.eye(inner, KNOTS) - 2 * np.eye(inner, KNOTS, k=1) + np.eye(inner, KNOTS, k=2)
    return np.concatenate([np.zeros((1, KNOTS)), np.linalg.solve(system, differences), np.zeros((1, KNOTS))])


CURVATURES = curvatures()
NUMBERS = np.arange(KNOTS)


def weights(positions: Any) -> Any:
    """The matrix from heights to the spline's values at positions from 0 to KNOTS - 1."""
    left = np.clip(np.floor(positions), 0, KNOTS - 2)[:, None]
    t = positions[:, None] - left
    at_left, at_right = (left == NUMBERS).astype(t.dtype), (left + 1 == NUMBERS).astype(t.dtype)
    u = 1 - t
    bent = ((u**3 - u) * at_left + (t**3 - t) * at_right) / 6
    return u * at_left + t * at_right + bent @ CURVATURES.astype(t.dtype)


def slopes(positions: Any) -> Any:
    """The matrix from heights to the spline's derivatives at positions."""
    left = np.clip(np.floor(positions), 0, KNOTS - 2)[:, None]
    t = positions[:, None] - left
    at_left, at_right = (left == NUMBERS).astype(t.dtype), (left + 1 == NUMBERS).astype(t.dtype)
    u = 1 - t
    bent = ((1 - 3 * u**2) * at_left + (3 * t**2 - 1) * at_right) / 6
    return at_right - at_left + bent @ CURVATURES.astype(t.dtype)


@mx.customop("numpy")
def spline(heights, positions):
    """The natural cubic spline through heights at the knots 0, 1, ..., read at positions."""
    return weights(positions) @ heights


spline.def_grad(lambda ans, heights, positions: lambda g: weights(positions).T @ g)
spline.def_grad(lambda ans, heights, positions: lambda g: g * (slopes(positions) @ heights), argnum=1)
spline.def_shape(lambda heights, positions: positions)


def load() -> tuple[np.ndarray, np.ndarray, float, float]:
    """Return (positions of the years, flows in standard deviations from the mean, that mean, that deviation)."""
    flows = np.loadtxt(Path(__file__).parent / "data" / "nile.txt").ravel()
    positions = (YEARS - YEARS[0]) / (YEARS[-1] - YEARS[0]) * (KNOTS - 1)
    return positions, (flows - flows.mean()) / flows.std(), float(flows.mean()), float(flows.std())


def cost_of(curve: Any, heights: Any, positions: Any, flows: Any) -> Any:
    """What is minimised, the negative logarithm of the posterior: arrays of all libraries know these operations."""
    misfit = curve(heights, positions) - flows
    bends = heights[:-2] - 2 * heights[1:-1] + heights[2:]
    return (misfit**2).sum() / (2 * NOISE**2) + STIFFNESS * (bends**2).sum() / 2


class Curve(torch.nn.Module):
    """A module whose parameters are the heights of a spline."""

    def __init__(self) -> None:
        super().__init__()
        self.heights = torch.nn.Parameter(torch.zeros(KNOTS, dtype=torch.float64))
        self.spline = to_torch(spline)

    def forward(self, positions: torch.Tensor, flows: torch.Tensor) -> torch.Tensor:
        return cost_of(self.spline, self.heights, positions, flows)


def train_in_torch(positions: np.ndarray, flows: np.ndarray) -> np.ndarray:
    """Train the module; return its heights."""
    module = Curve()
    arguments = torch.from_numpy(positions), torch.from_numpy(flows)
    optimizer = torch.optim.LBFGS(
        module.parameters(), max_iter=200, tolerance_grad=1e-10, tolerance_change=1e-15, line_search_fn="strong_wolfe"
    )

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        cost = module(*arguments)
        cost.backward()
        return cost

    optimizer.step(closure)
    return module.heights.detach().numpy()


def optimise_in_jax(positions: np.ndarray, flows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the best heights, by Newton steps, and the Hessian there."""
    jax_spline = to_jax(spline)

    def cost(heights: jax.Array) -> jax.Array:
        return cost_of(jax_spline, heights, positions, flows)

    heights = jax.numpy.zeros(KNOTS)
    slope, bend = jax.jit(jax.grad(cost)), jax.jit(jax.hessian(cost))
    for _ in range(2):  # the cost is quadratic: the first step is there, but for rounding
        heights = heights - jax.numpy.linalg.solve(bend(heights), slope(heights))
    return np.asarray(heights), np.asarray(bend(heights))


def sample_in_pytensor(
    positions: np.ndarray, flows: np.ndarray, hessian: np.ndarray, count: int
) -> tuple[np.ndarray, float]:
    """Return samples of the posterior, and how many proposals were accepted: Hamiltonian Monte Carlo.

    The Hessian is the mass: with it, all directions are equally wide.
    """
    heights = pt.tensor("heights", dtype="float64", shape=(KNOTS,))
    cost = cost_of(to_pytensor(spline), heights, pt.constant(positions), pt.constant(flows))
    mode = pytensor.compile.mode.Mode(linker="vm", optimizer="fast_run")
    evaluate: Callable[..., Any] = pytensor.function([heights], [cost, pytensor.grad(cost, heights)], mode=mode)

    random = np.random.default_rng(0)
    root, inverse = np.linalg.cholesky(hessian), np.linalg.inv(hessian)
    current = np.zeros(KNOTS)
    potential, gradient = evaluate(current)
    samples, accepted = [], 0
    for number in range(count + count // 10):
        momentum = root @ random.normal(size=KNOTS)
        begin = potential + momentum @ inverse @ momentum / 2
        proposal, slope = current, gradient
        size = 0.5 * random.uniform(0.8, 1.2)
        for _ in range(3):  # leapfrog
            momentum = momentum - size / 2 * slope
            proposal = proposal + size * (inverse @ momentum)
            value, slope = evaluate(proposal)
            momentum = momentum - size / 2 * slope
        end = value + momentum @ inverse @ momentum / 2
        is_accepted = np.log(random.uniform()) < begin - end
        if is_accepted:
            current, potential, gradient = proposal, value, slope
        if number >= count // 10:  # those before are forgotten: they begin at zeros
            samples.append(current)
            accepted += bool(is_accepted)
    return np.array(samples), accepted / count


def table(columns: dict[str, np.ndarray]) -> str:
    """Return arrays as columns, a line a knot."""
    years = np.linspace(YEARS[0], YEARS[-1], KNOTS)
    lines = ["year  " + "  ".join(f"{name:>12}" for name in columns)]
    for number, year in enumerate(years):
        lines.append(f"{year:4.0f}  " + "  ".join(f"{column[number]:12.3f}" for column in columns.values()))
    return "\n".join(lines)


def main() -> int:
    """Run everything; return 1 if the numbers differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a shorter run: 400 samples, and no check of the operator")
    options = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    torch.set_num_threads(1)
    positions, flows, mean, deviation = load()
    if not options.quick:
        print(spline.check(np.linspace(-1, 1, KNOTS), np.linspace(0.1, KNOTS - 1.1, 9), frameworks=True), "\n")

    trained = train_in_torch(positions, flows)
    optimised, hessian = optimise_in_jax(positions, flows)
    samples, rate = sample_in_pytensor(positions, flows, hessian, 400 if options.quick else 4000)
    spread = np.sqrt(np.diag(np.linalg.inv(hessian)))
    print(
        table(
            {
                "PyTorch": mean + deviation * trained,
                "JAX": mean + deviation * optimised,
                "PyTensor": mean + deviation * samples.mean(0),
                "+- (JAX)": deviation * spread,
                "+- (samples)": deviation * samples.std(0),
            }
        ),
        "\nflow at Aswan, in 10^8 m^3 a year",
    )

    difference = float(np.abs(trained - optimised).max())
    # Heights hang together, so that neighbours err alike: four standard errors for each, if every third sample is new.
    error = float((np.abs(samples.mean(0) - optimised) / spread).max() * np.sqrt(len(samples) / 3))
    ratio = samples.std(0) / spread
    print(f"\nPyTorch and JAX differ by {difference:.1e} standard deviations of the flow")
    print(f"means of samples are {error:.1f} standard errors off at most, {rate:.0%} of the proposals accepted")
    print(f"their spreads are {ratio.min():.2f} to {ratio.max():.2f} times what the Hessian says")
    tolerance = 0.25 if options.quick else 0.1
    agree = difference < 1e-6 and error < 4 and float(np.abs(ratio - 1).max()) < tolerance
    print("the three agree" if agree else "THE THREE DO NOT AGREE")
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
