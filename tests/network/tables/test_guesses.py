"""Kernel regressions beside scikit-learn's, beside dense formulas, and beside themselves without a row."""

import numpy as np
import pytest
import torch
from network.tables.tiny_tables import labels_of, table
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct

from priorfit.network.tables import guesses
from priorfit.network.tables.cells import CellFeatures, ColumnStatistics
from priorfit.network.tables.codings import against_others, standard_coding
from priorfit.network.tables.guesses import ADDITIVE_WIDTHS, JITTER, NUM_KERNELS, KernelGuesses, SolvedGuesses

CASES = [(seed, rows, columns) for seed in range(3) for rows, columns in ((1, 1), (2, 4), (13, 3))]
every_case = pytest.mark.parametrize(("seed", "rows", "columns"), CASES)
LINEAR, RADIAL = 0, 1


def solver(seed: int) -> KernelGuesses:
    torch.manual_seed(seed)
    made = KernelGuesses().double()
    for weight in made.parameters():
        weight.data.add_(0.3 * torch.randn_like(weight))
    return made.requires_grad_(False)


def solved(seed: int, rows: int, columns: int) -> tuple[KernelGuesses, SolvedGuesses, CellFeatures]:
    x, y, queries = table(seed, rows, columns, (1,))
    statistics, made = ColumnStatistics.of(x, y), solver(seed)
    condition = made.condition(statistics.features, y, statistics.relevances())
    return made, condition, statistics.features_of(queries)


def dense_kernels(made: KernelGuesses, rows: CellFeatures, known: SolvedGuesses) -> np.ndarray:
    """All kernels between rows and the context, of the first coding, by loops over pairs."""
    scales, relevances = made.log_lengthscales.exp().numpy(), known.relevances[0].numpy()
    v, r = (part[0].numpy() for part in (rows.values, rows.ranks))  # (columns, rows)
    w, s = (part[0].numpy() for part in (known.context.values, known.context.ranks))
    kernels = np.empty((NUM_KERNELS, v.shape[1], w.shape[1]))
    for i in range(v.shape[1]):
        for j in range(w.shape[1]):
            found = []
            for weight in (np.ones_like(relevances), relevances):
                product, square = np.mean(weight * v[:, i] * w[:, j]), np.mean(weight * (v[:, i] - w[:, j]) ** 2)
                apart = np.mean(weight * np.abs(r[:, i] - s[:, j]))
                near = [np.mean(weight * np.exp(-0.5 * ((r[:, i] - s[:, j]) / h) ** 2)) for h in ADDITIVE_WIDTHS]
                found.append((product, square, apart, *near))
            (product, square, apart, near, wide), (p, q, a, n, _) = found
            radial = [np.exp(-0.5 * square / scales[k] ** 2) for k in (1, 2)]
            laplace = [np.exp(-apart / scales[k]) for k in (3, 4)]
            told = [p, np.exp(-0.5 * q / scales[8] ** 2), np.exp(-a / scales[9]), n]
            kernels[:, i, j] = [product, *radial, *laplace, near, wide, *told]
    return kernels


@every_case
def test_similarities_are_those_of_a_loop_over_pairs(seed, rows, columns):
    made, known, queries = solved(seed, rows, columns)
    for features in (known.context, queries):
        found = made.similarities(features, known.context, known.relevances)[:, 0].numpy()
        np.testing.assert_allclose(found, dense_kernels(made, features, known), atol=1e-10)


def split(told: torch.Tensor) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Means, deviations, weights (each rows x kernels) and average of what rows of the first coding are told."""
    numbers = told[0].numpy()
    return (*np.split(numbers[:, :-1], 3, axis=1), numbers[:, -1])


@every_case
def test_means_deviations_and_weights_are_those_of_the_dense_formulas(seed, rows, columns):
    made, known, queries = solved(seed, rows, columns)
    y, noises = known.targets[0].numpy(), made.log_noises.exp().numpy()
    inner, outer = (dense_kernels(made, part, known) for part in (known.context, queries))
    values, relevances = queries.values[0].numpy(), known.relevances[0].numpy()
    means, deviations, weights, average = split(made.predict(queries, known))
    evidences = []
    for k in range(NUM_KERNELS):
        matrix = inner[k] + (noises[k] + JITTER) * np.eye(rows)
        np.testing.assert_allclose(means[:, k], outer[k] @ np.linalg.solve(matrix, y), atol=1e-9)
        own = np.ones(values.shape[1])
        if k in (0, 7):
            own = np.mean((relevances[:, None] if k else 1) * values**2, axis=0)
        variance = own - np.einsum("ij,ji->i", outer[k], np.linalg.solve(matrix, outer[k].T)) + noises[k]
        np.testing.assert_allclose(deviations[:, k], np.sqrt(variance), atol=1e-9)
        evidences.append(-0.5 * (y @ np.linalg.solve(matrix, y) + np.linalg.slogdet(2 * np.pi * matrix)[1]))
    expected = np.exp(np.array(evidences) - np.logaddexp.reduce(evidences))
    np.testing.assert_allclose(weights, np.tile(expected, (len(weights), 1)), atol=1e-9)
    np.testing.assert_allclose(average, means @ expected, atol=1e-9)


@every_case
def test_linear_and_radial_regressions_are_those_of_scikit_learn(seed, rows, columns):
    made, known, queries = solved(seed, rows, columns)
    x, asked = known.context.values[0].T.numpy(), queries.values[0].T.numpy()
    scale = float(made.log_lengthscales[RADIAL].exp())
    kernels = {
        LINEAR: ConstantKernel(1 / columns) * DotProduct(sigma_0=1e-9),
        RADIAL: RBF(scale * columns**0.5),
    }
    means, deviations, weights, _ = split(made.predict(queries, known))
    evidence = {}
    for k, kernel in kernels.items():
        noise = float(made.log_noises[k].exp())
        reference = GaussianProcessRegressor(kernel, alpha=noise + JITTER, optimizer=None)
        mean, latent = reference.fit(x, known.targets[0].numpy()).predict(asked, return_std=True)
        np.testing.assert_allclose(means[:, k], mean, atol=1e-8)
        np.testing.assert_allclose(deviations[:, k], np.sqrt(latent**2 + noise), atol=1e-6)
        evidence[k] = reference.log_marginal_likelihood_value_
    odds = np.log(weights[0, LINEAR] / weights[0, RADIAL])
    assert odds == pytest.approx(evidence[LINEAR] - evidence[RADIAL], abs=1e-7)


@every_case
def test_leave_one_out_is_a_regression_without_the_row(seed, rows, columns):
    made, known, _ = solved(seed, rows, columns)
    kernels, y = dense_kernels(made, known.context, known), known.targets[0].numpy()
    noises = made.log_noises.exp().numpy() + JITTER
    means, deviations, weights, _ = split(made.leave_one_out(known))
    for row in range(rows):
        others = np.arange(rows) != row
        for k in range(NUM_KERNELS):
            matrix = kernels[k][np.ix_(others, others)] + noises[k] * np.eye(rows - 1)
            solution = np.linalg.solve(matrix, np.c_[y[others], kernels[k][others, row]])
            mean, explained = kernels[k][row, others] @ solution
            assert means[row, k] == pytest.approx(mean, abs=1e-9)
            assert deviations[row, k] ** 2 == pytest.approx(kernels[k][row, row] + noises[k] - explained, abs=1e-9)
    np.testing.assert_allclose(weights.sum(1), 1, atol=1e-12)


@pytest.mark.parametrize("most", [1, 60, 500])
def test_columns_taken_a_few_at_a_time_give_the_same_guesses(most, monkeypatch):
    made, known, queries = solved(0, 13, 5)
    whole = made.predict(queries, known)
    monkeypatch.setattr(guesses, "MOST_PAIRS", most)
    torch.testing.assert_close(made.predict(queries, known), whole)


def test_codings_of_one_table_are_guessed_as_each_alone():
    x, y, queries = table(3, 20, 4, (2,))
    coded = standard_coding(against_others(labels_of(y, 3), 3).double())
    together, alone = ColumnStatistics.of(x, coded), ColumnStatistics.of(x.repeat_interleave(3, 0), coded)
    made, found = solver(0), []
    for statistics, asked in ((together, queries), (alone, queries.repeat_interleave(3, 0))):
        known = made.condition(statistics.features, coded, statistics.relevances())
        found.append((made.leave_one_out(known), made.predict(statistics.features_of(asked), known)))
    torch.testing.assert_close(found[0], found[1])


def test_no_rows_give_the_prior():
    made = solver(0)
    statistics = ColumnStatistics.of(torch.empty(1, 0, 3).double(), torch.empty(1, 0).double())
    known = made.condition(statistics.features, statistics.targets, statistics.relevances())
    means, deviations, weights, average = split(
        made.predict(statistics.features_of(torch.randn(1, 4, 3).double()), known)
    )
    assert (means == 0).all() and (average == 0).all()
    np.testing.assert_allclose(weights, 1 / NUM_KERNELS)
    np.testing.assert_allclose(deviations[:, RADIAL], float((1 + made.log_noises[RADIAL].exp()).sqrt()))
