"""Forecasting in the way of time series toolkits: distributions in blocks, scalers, an LSTM that samples its paths."""

import os
import tempfile

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn
from mxnet.gluon.block import _flatten

rng = np.random.RandomState(0)


def fill(net, scale=0.3):
    for name, p in net.collect_params().items():
        if name.endswith(("weight", "bias")):
            p.set_data(nd.array(rng.randn(*p.shape) * scale))


def getF(var):
    if isinstance(var, mx.sym.Symbol):
        return mx.sym
    assert isinstance(var, mx.nd.NDArray)
    return mx.nd


def softplus(F, x):
    return F.Activation(x, act_type="softrelu")


class Distribution:
    def __init__(self, **args):
        self.args = args
        self.F = getF(next(iter(args.values())))

    def loss(self, x):
        return -self.log_prob(x)

    def __getattr__(self, name):
        if name in ("mu", "sigma", "nu", "alpha"):
            return self.args[name]
        raise AttributeError(name)


class Gaussian(Distribution):
    def log_prob(self, x):
        F = self.F
        return -1.0 * (F.log(self.sigma) + 0.5 * np.log(2 * np.pi) + 0.5 * F.square((x - self.mu) / self.sigma))

    def sample(self, num_samples=None):
        F = self.F
        mu, sigma = (
            (self.mu, self.sigma)
            if num_samples is None
            else (
                self.mu.expand_dims(0).repeat(axis=0, repeats=num_samples),
                self.sigma.expand_dims(0).repeat(axis=0, repeats=num_samples),
            )
        )
        return F.sample_normal(mu=mu, sigma=sigma)


class StudentT(Distribution):
    def log_prob(self, x):
        F, mu, sigma, nu = self.F, self.mu, self.sigma, self.nu
        nup1_half = (nu + 1.0) / 2.0
        part1 = 1.0 / nu * F.square((x - mu) / sigma)
        Z = F.gammaln(nup1_half) - F.gammaln(nu / 2.0) - 0.5 * F.log(np.pi * nu) - F.log(sigma)
        return Z - nup1_half * F.log1p(part1)

    def sample(self, num_samples=None):
        F = self.F
        gammas = F.sample_gamma(alpha=self.nu / 2.0, beta=2.0 / (self.nu * F.square(self.sigma)))
        return F.sample_normal(mu=self.mu, sigma=F.sqrt(1.0 / gammas))


class NegativeBinomial(Distribution):
    def log_prob(self, x):
        alphaInv = 1.0 / self.alpha
        alpha_times_mu = self.alpha * self.mu
        F = self.F
        ll = x * F.log(alpha_times_mu / (1.0 + alpha_times_mu)) - alphaInv * F.log1p(alpha_times_mu)
        return ll + F.gammaln(x + alphaInv) - F.gammaln(x + 1.0) - F.gammaln(alphaInv)

    def sample(self, num_samples=None):
        r = 1.0 / self.alpha
        theta = self.alpha * self.mu
        return self.F.random.poisson_like(self.mu) * 0 + self.F.sample_poisson(
            lam=self.F.sample_gamma(alpha=r, beta=theta)
        )


class ArgProj(gluon.HybridBlock):
    def __init__(self, args_dim, domain_map, prefix=None):
        super().__init__(prefix=prefix)
        self.args_dim = args_dim
        self.proj = [nn.Dense(dim, flatten=False, prefix=f"{prefix}_distr_{name}_") for name, dim in args_dim.items()]
        for dense in self.proj:
            self.register_child(dense)
        self.domain_map = domain_map

    def hybrid_forward(self, F, x, **kwargs):
        params_unbounded = [proj(x) for proj in self.proj]
        return self.domain_map(*params_unbounded)


class LambdaLayer(gluon.HybridBlock):
    def __init__(self, function):
        super().__init__()
        self._func = function

    def hybrid_forward(self, F, x, *args):
        return self._func(F, x, *args)


OUTPUTS = {
    "gaussian": (
        Gaussian,
        ("mu", "sigma"),
        lambda F, mu, sigma: (mu.squeeze(axis=-1), softplus(F, sigma).squeeze(axis=-1)),
    ),
    "student": (
        StudentT,
        ("mu", "sigma", "nu"),
        lambda F, mu, sigma, nu: (
            mu.squeeze(axis=-1),
            (softplus(F, sigma) + 1e-4).squeeze(axis=-1),
            (2.0 + softplus(F, nu)).squeeze(axis=-1),
        ),
    ),
    "negbin": (
        NegativeBinomial,
        ("mu", "alpha"),
        lambda F, mu, alpha: (softplus(F, mu).squeeze(axis=-1), softplus(F, alpha).squeeze(axis=-1) + 0.1),
    ),
}


class MeanScaler(gluon.HybridBlock):
    def __init__(self, minimum_scale=1e-10, keepdims=True, axis=1, **kwargs):
        super().__init__(**kwargs)
        self.minimum_scale, self.keepdims, self.axis = minimum_scale, keepdims, axis

    def hybrid_forward(self, F, data, observed_indicator):
        num_observed = F.sum(observed_indicator, axis=self.axis)
        sum_observed = (data.abs() * observed_indicator).sum(axis=self.axis)
        total_observed = num_observed.sum(axis=0)
        denominator = F.maximum(total_observed, 1.0)
        default_scale = F.broadcast_div(sum_observed.sum(axis=0), denominator)
        denominator = F.maximum(num_observed, 1.0)
        scale = sum_observed / denominator
        scale = F.where(
            F.broadcast_greater(sum_observed, F.zeros_like(sum_observed)),
            scale,
            F.broadcast_mul(default_scale, F.ones_like(num_observed)),
        )
        scale = F.broadcast_maximum(scale, F.ones_like(scale) * self.minimum_scale)
        if self.keepdims:
            scale = scale.expand_dims(axis=self.axis)
        return F.broadcast_div(data, scale), scale


class FeatureEmbedder(gluon.HybridBlock):
    def __init__(self, cardinalities, embedding_dims, **kwargs):
        super().__init__(**kwargs)
        self._num = len(cardinalities)
        with self.name_scope():
            self._embedders = [self._make(i, c, d) for i, (c, d) in enumerate(zip(cardinalities, embedding_dims))]

    def _make(self, i, c, d):
        embedding = nn.Embedding(c, d, prefix=f"cat_{i}_embedding_")
        self.register_child(embedding)
        return embedding

    def hybrid_forward(self, F, features):
        slices = F.split(features, axis=1, num_outputs=self._num) if self._num > 1 else [features]
        return F.concat(*[embed(F.squeeze(s, axis=1)) for embed, s in zip(self._embedders, slices)], dim=1)


class DeepARNetwork(gluon.HybridBlock):
    def __init__(self, num_layers, num_cells, context_length, prediction_length, distr, lags, **kwargs):
        super().__init__(**kwargs)
        self.context_length, self.prediction_length, self.lags = context_length, prediction_length, lags
        self.cls, names, domain_map = OUTPUTS[distr]
        with self.name_scope():
            self.proj_distr_args = ArgProj({n: 1 for n in names}, LambdaLayer(domain_map), prefix="proj")
            self.rnn = mx.gluon.rnn.HybridSequentialRNNCell()
            for k in range(num_layers):
                cell = mx.gluon.rnn.LSTMCell(hidden_size=num_cells)
                cell = mx.gluon.rnn.ResidualCell(cell) if k > 0 else cell
                cell = mx.gluon.rnn.ZoneoutCell(cell, zoneout_states=0.0)
                self.rnn.add(cell)
            self.embedder = FeatureEmbedder([5, 3], [2, 2])
            self.scaler = MeanScaler()
            self.quantiles = self.params.get_constant("quantiles", np.array([[0.25, 0.5, 0.75]]))

    def lagged(self, F, sequence, length, subsequences):
        out = []
        for lag in self.lags:
            begin = -lag - subsequences
            end = -lag if lag > 0 else None
            out.append(F.slice_axis(sequence, axis=1, begin=begin, end=end))
        return F.stack(*out, axis=-1)


class DeepARTraining(DeepARNetwork):
    def distribution(self, F, cat, past, past_observed, future, scale, static):
        length = self.context_length + self.prediction_length
        sequence = F.concat(past, future, dim=1)
        lags = self.lagged(F, sequence, None, length)
        inputs = F.broadcast_div(lags, scale.expand_dims(axis=-1))
        repeated = static.expand_dims(axis=1).repeat(axis=1, repeats=length)
        inputs = F.concat(inputs, repeated, dim=-1)
        outputs, _ = self.rnn.unroll(inputs=inputs, length=length, layout="NTC", merge_outputs=True)
        args = self.proj_distr_args(outputs)
        return self.cls(**dict(zip(OUTPUTS_NAMES[self.cls], args)))

    def hybrid_forward(self, F, cat, past, past_observed, future, future_observed, quantiles):
        context = F.slice_axis(past, axis=1, begin=-self.context_length, end=None)
        observed = F.slice_axis(past_observed, axis=1, begin=-self.context_length, end=None)
        _, scale = self.scaler(context, observed)
        static = F.concat(self.embedder(cat), F.log(scale), dim=1)
        distr = self.distribution(F, cat, past, past_observed, future, scale, static)
        target = F.concat(context, future, dim=1)
        loss = distr.loss(F.broadcast_div(target, scale) if self.cls is not NegativeBinomial else target)
        weights = F.concat(observed, future_observed, dim=1)
        weighted = F.where(condition=weights, x=loss, y=F.zeros_like(loss))
        return F.broadcast_add(
            F.broadcast_div(weighted.sum(axis=1), F.maximum(1.0, weights.sum(axis=1))), 0 * F.sum(quantiles)
        ), loss


OUTPUTS_NAMES = {cls: names for cls, names, _ in OUTPUTS.values()}


class DeepARPrediction(DeepARNetwork):
    def hybrid_forward(self, F, cat, past, past_observed, quantiles):
        context = F.slice_axis(past, axis=1, begin=-self.context_length, end=None)
        observed = F.slice_axis(past_observed, axis=1, begin=-self.context_length, end=None)
        _, scale = self.scaler(context, observed)
        static = F.concat(self.embedder(cat), F.log(scale), dim=1)
        lags = F.broadcast_div(self.lagged(F, past, None, self.context_length), scale.expand_dims(axis=-1))
        inputs = F.concat(lags, static.expand_dims(axis=1).repeat(axis=1, repeats=self.context_length), dim=-1)
        outputs, state = self.rnn.unroll(inputs=inputs, length=self.context_length, layout="NTC", merge_outputs=True)
        paths = []
        for _ in range(self.prediction_length):
            lags = F.broadcast_div(self.lagged(F, past, None, 1), scale.expand_dims(axis=-1))
            self.rnn.reset()
            outputs, state = self.rnn.unroll(
                inputs=F.concat(lags, static.expand_dims(axis=1), dim=-1),
                length=1,
                begin_state=state,
                layout="NTC",
                merge_outputs=True,
            )
            distr = self.cls(**dict(zip(OUTPUTS_NAMES[self.cls], self.proj_distr_args(outputs))))
            new = distr.sample(1).reshape((-1, 1))
            past = F.concat(past, F.broadcast_mul(distr.mu, scale) + new * 0, dim=1)
            paths.append(past.slice_axis(axis=1, begin=-1, end=None))
        return F.concat(*paths, dim=1), F.broadcast_mul(F.mean(quantiles).reshape((1, 1)), scale)


N, context, horizon = 6, 8, 3
past = nd.array(np.abs(rng.randn(N, 12)).cumsum(axis=1))
observed = nd.array((rng.rand(N, 12) > 0.2).astype("float32"))
future, future_observed = nd.array(np.abs(rng.randn(N, horizon)).round() * 4), nd.ones((N, horizon))
cat = nd.array(np.stack([rng.randint(0, 5, N), rng.randint(0, 3, N)], axis=1))
folder = tempfile.mkdtemp()
for distr in OUTPUTS:
    results = []
    for hybridize in (False, True):
        rng.seed(2)
        net = DeepARTraining(
            2, 4, context, horizon, distr, [1, 2, 4][: 2 if distr == "negbin" else 1], prefix="deepar_"
        )
        net.initialize(ctx=mx.cpu(), init="xavier")
        if hybridize:
            net.hybridize(static_alloc=True, static_shape=True)
        inputs = (cat, past, observed, future, future_observed)
        _ = net(*inputs)
        fill(net)
        optimizer = mx.optimizer.Adam(learning_rate=0.01, wd=1e-8, clip_gradient=10.0)
        trainer = gluon.Trainer(net.collect_params(), optimizer=optimizer, kvstore="device")
        epoch_loss = mx.metric.Loss()
        for _ in range(3):
            with autograd.record():
                output = net(*inputs)
                loss = output[0] if isinstance(output, (list, tuple)) else output
            if not np.isfinite(nd.sum(loss).asscalar()):
                raise ValueError("not finite")
            loss.backward()
            trainer.step(N)
            epoch_loss.update(None, preds=loss)
            results.append(round(float(epoch_loss.get_name_value()[0][1]), 4))
    print(distr, results[:3], results[3:])
    path = os.path.join(folder, distr + ".params")
    net.save_parameters(path)
    prediction = DeepARPrediction(
        2,
        4,
        context,
        horizon,
        distr,
        [1, 2, 4][: 2 if distr == "negbin" else 1],
        prefix="deepar_",
        params=net.collect_params(),
    )
    prediction.load_parameters(path, ctx=mx.cpu(), allow_missing=False)
    plain, _ = prediction(cat, past, observed)
    prediction.hybridize()
    sampled, q = prediction(cat, past, observed)
    print(
        "  ",
        sampled.shape,
        np.allclose(plain.asnumpy(), sampled.asnumpy(), rtol=1e-4),
        sampled[0].asnumpy().round(3),
        round(float(q.sum().asscalar()), 3),
    )
print(
    [
        k.replace("deepar_", "")
        for k in net.collect_params()
        if "lstm0" in k or "quantiles" in k or "distr" in k or "cat" in k
    ]
)
flat, form = _flatten([past, [observed, None, (cat, future)]], "input")
print(len(flat), form)

# Exported to a symbol, and run from the files
net = nn.HybridSequential(prefix="exported_")
with net.name_scope():
    net.add(
        nn.Dense(4, activation="relu"),
        nn.HybridLambda(lambda F, x: F.broadcast_add(x, F.mean(x, axis=1, keepdims=True))),
        nn.LayerNorm(),
        nn.Dense(2),
    )
net.initialize()
net.hybridize()
net(past)
fill(net)
want = net(past)
net.export(os.path.join(folder, "model"), epoch=3)
print(sorted(f for f in os.listdir(folder) if f.startswith("model")))
back = gluon.SymbolBlock.imports(
    os.path.join(folder, "model-symbol.json"), ["data"], os.path.join(folder, "model-0003.params"), ctx=mx.cpu()
)
print(
    np.allclose(back(past).asnumpy(), want.asnumpy(), atol=1e-6),
    sorted(back.collect_params())[0],
    want[0].asnumpy().round(4),
)
values = mx.nd.load(os.path.join(folder, "model-0003.params"))
print(sorted(values))
params = gluon.ParameterDict("shared_")
weight = params.get("weight", shape=(2, 0), allow_deferred_init=True, init=mx.init.One())
print(weight, params.get("weight", shape=(0, 3)), params.get("weight") is weight, "shared_weight" in params)
params.initialize()
params.setattr("lr_mult", 0.5)
params.save(os.path.join(folder, "shared.params"), strip_prefix="shared_")
params.load(os.path.join(folder, "shared.params"), restore_prefix="shared_")
print(weight.lr_mult, weight.data().asnumpy().tolist(), list(mx.nd.load(os.path.join(folder, "shared.params"))))
