"""A solver trains a model: it draws the first parameters, makes steps, and keeps the best parameters."""

from __future__ import annotations

import time
from typing import Any

import numpy

from minpy.core.array import as_raw
from minpy.core.errors import ArgumentError, nearest
from minpy.legacy import grad_and_loss
from minpy.namespaces import listing
from minpy.nn import init as init_rules
from minpy.nn import optim
from minpy.nn.io import DataBatch, DataIter
from minpy.nn.model import ModelBase
from minpy.nn.model_builder import Model

__all__ = ["Solver"]
__dir__ = listing(__all__)


def _rule(module: Any, name: Any, noun: str) -> Any:
    if callable(name):
        return name
    if name not in module.__all__:
        names = module.__all__
        raise ArgumentError(
            f"Solver: there is no {noun} {name!r}; there are {', '.join(names)}.{nearest(str(name), names)}"
        )
    return getattr(module, name)


class Solver:
    """Trains a model on batches.

    Parameters
    ----------
    model : minpy.nn.model.ModelBase
        One of `minpy.nn.model_builder` draws its parameters by the layers' own settings, not by `init_rule`.
    train_dataiter, test_dataiter : minpy.nn.io.DataIter
    task_type : str
        'classification' (the default), where accuracy is reported, or 'regression', where it is the loss.
    init_rule, init_config : str or callable, dict
        A function of `minpy.nn.init`, 'xavier' by default, and its settings: for parameters that name none.
    update_rule, optim_config : str or callable, dict
        A function of `minpy.nn.optim`, 'sgd' by default, and its settings.
    lr_decay : float
        Multiplies the learning rate after each epoch.
    num_epochs : int
    train_acc_num_samples : int
        Of how many examples the accuracy in training is taken.
    print_every : int
        After how many steps the loss is printed.
    verbose : bool
        Whether anything is printed.

    Attributes
    ----------
    loss_history, train_acc_history, val_acc_history : list of float
    best_params : dict of str to array
        The parameters of the best epoch, which the model has after training.

    Raises
    ------
    ArgumentError
        For unknown arguments and rules.

    Examples
    --------
    >>> import minpy.numpy as np
    >>> from minpy.nn import layers
    >>> from minpy.nn.io import NDArrayIter
    >>> class Line(ModelBase):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.add_param('w', (1, 1)).add_param('b', (1,))
    ...     def forward(self, X, mode):
    ...         return layers.affine(X, self.params['w'], self.params['b'])
    ...     def loss(self, predict, y):
    ...         return layers.l2_loss(predict, y)
    >>> x = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> data = NDArrayIter(x, 2 * x + 1, batch_size=4)
    >>> solver = Solver(Line(), data, data, task_type='regression', num_epochs=300, verbose=False,
    ...                 optim_config={'learning_rate': 0.1})
    >>> solver.init()
    >>> solver.train()
    >>> solver.model.params['w'].round(2)
    array([[2.]], dtype=float32)
    """

    def __init__(
        self,
        model: ModelBase,
        train_dataiter: DataIter,
        test_dataiter: DataIter,
        *,
        task_type: str = "classification",
        init_rule: Any = "xavier",
        init_config: dict[str, Any] | None = None,
        update_rule: Any = "sgd",
        optim_config: dict[str, Any] | None = None,
        lr_decay: float = 1.0,
        num_epochs: int = 10,
        train_acc_num_samples: int = 1000,
        print_every: int = 10,
        verbose: bool = True,
    ) -> None:
        if task_type not in ("classification", "regression"):
            raise ArgumentError(f"Solver: task_type is {task_type!r}; expected 'classification' or 'regression'.")
        self.model, self.train_dataiter, self.test_dataiter = model, train_dataiter, test_dataiter
        self.task_type, self.lr_decay, self.num_epochs = task_type, lr_decay, num_epochs
        self.train_acc_num_samples, self.print_every, self.verbose = train_acc_num_samples, print_every, verbose
        self.update_rule = _rule(optim, update_rule, "update rule")
        self.init_rule, self.init_config = init_rule, dict(init_config or {})
        self.optim_config = dict(optim_config or {})
        self.optim_configs = {name: dict(self.optim_config) for name in model.param_configs}
        self.init_rules = {
            name: _rule(init_rules, config.get("init_rule", init_rule), "init rule")
            for name, config in model.param_configs.items()
        }
        self.update_rules: dict[str, Any] = {}
        self.epoch = 0
        self.best_val_acc = -numpy.inf
        self.best_params: dict[str, Any] = {}
        self.loss_history: list[float] = []
        self.train_acc_history: list[float] = []
        self.val_acc_history: list[float] = []

    def init(self) -> None:
        """Draw the first parameters of the model."""
        for name, config in self.model.param_configs.items():
            settings = config.get("init_config", {}) if "init_rule" in config else self.init_config
            self.model.params[name] = self.init_rules[name](config["shape"], dict(settings))
        self.model.aux_params.update(self.model.aux_param_configs)
        if isinstance(self.model, Model):
            self._init_layers(self.model)

    def _init_layers(self, model: Model) -> None:
        """Let the layers draw their parameters for the data, and take the settings of updates that they were given."""
        self.train_dataiter.reset()
        model.draw(next(iter(self.train_dataiter)))
        self.train_dataiter.reset()
        for name, config in model.update_configs.items():
            settings = dict(config)
            if "update_rule" in settings:
                self.update_rules[name] = _rule(optim, settings.pop("update_rule"), "update rule")
            self.optim_configs[name] = {**self.optim_config, **settings}

    def train(self) -> None:
        """Make `num_epochs` passes over the data; then give the model its best parameters.

        Raises
        ------
        ArgumentError
            If parameters have not been drawn or loaded.
        """
        missing = [name for name in self.model.param_configs if name not in self.model.params]
        if missing or not self.model.params:
            names = ", ".join(missing) or "parameters"
            raise ArgumentError(f"Solver.train: the model has no {names} yet; call solver.init() first.")
        total, step = self.train_dataiter.getnumiterations() * self.num_epochs, 0
        for _ in range(self.num_epochs):
            began = time.perf_counter()
            self.epoch += 1
            self.train_dataiter.reset()
            for batch in self.train_dataiter:
                self._step(batch)
                step += 1
                if self.verbose and (step - 1) % self.print_every == 0:
                    print(f"(Iteration {step} / {total}) loss: {self.loss_history[-1]:f}")
            self.train_acc_history.append(self.check_accuracy(self.train_dataiter, self.train_acc_num_samples))
            self.val_acc_history.append(self.check_accuracy(self.test_dataiter))
            if self.verbose:
                measure = "acc" if self.task_type == "classification" else "loss"
                train, val = self.train_acc_history[-1], self.val_acc_history[-1]
                print(
                    f"(Epoch {self.epoch} / {self.num_epochs}) train {measure}: {train:f}, val {measure}: {val:f}, "
                    f"time: {time.perf_counter() - began:f}"
                )
            score = self.val_acc_history[-1] if self.task_type == "classification" else -self.val_acc_history[-1]
            if score > self.best_val_acc:
                self.best_val_acc, self.best_params = score, dict(self.model.params)
            for config in self.optim_configs.values():
                if "learning_rate" in config:
                    config["learning_rate"] *= self.lr_decay
        self.model.params.update(self.best_params)

    def check_accuracy(self, dataiter: Any, num_samples: int | None = None) -> float:
        """Return which part of the examples is classified rightly; for a regression the mean loss of the batches.

        Parameters
        ----------
        dataiter : minpy.nn.io.DataIter
        num_samples : int, optional
            Of so many examples, drawn at random.
        """
        if num_samples is not None and dataiter.num_data > num_samples:
            dataiter = dataiter.getsubiter(num_samples)
        dataiter.reset()
        right = count = 0
        losses = []
        for batch in dataiter:
            predicted = self.model.forward_batch(batch, mode="test")
            if self.task_type == "regression":
                losses.append(float(self.model.loss_batch(batch, predicted)))
                continue
            examples = dataiter.batch_size - (batch.pad or 0)
            is_right = numpy.asarray(predicted).argmax(axis=1) == numpy.asarray(batch.label[0])
            right += int(is_right[:examples].sum())
            count += examples
        return float(numpy.mean(losses)) if self.task_type == "regression" else right / count

    def _step(self, batch: DataBatch) -> None:
        """Move all parameters by one batch's gradients."""
        model = self.model
        names = list(model.params)
        current = dict(model.params)

        def loss_of(*values: Any) -> Any:
            model.params.update(zip(names, values, strict=True))
            return model.loss_batch(batch, model.forward_batch(batch, mode="train"))

        try:
            grads, loss = grad_and_loss(loss_of, tuple(range(len(names))))(*current.values())
        finally:
            model.params.update(current)
        self.loss_history.append(float(numpy.sum(as_raw(loss))))
        for name, grad in zip(names, grads, strict=True):
            config = self.optim_configs.setdefault(name, dict(self.optim_config))
            rule = self.update_rules.get(name, self.update_rule)
            model.params[name], self.optim_configs[name] = rule(current[name], grad, config)
