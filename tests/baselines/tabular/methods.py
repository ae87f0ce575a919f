"""Every tuned classifier with a small grid, and tables to try them on."""

import torch

from priorfit.baselines import TunedBNN, TunedCatBoost, TunedGP, TunedKNN, TunedLogistic, TunedXGBoost

METHODS = {
    "logistic": TunedLogistic(grid={"C": (0.1, 1.0), "penalty": ("l2", "none")}),
    "knn": TunedKNN(grid={"n_neighbors": (1, 4)}),
    "gp": TunedGP(grid={"params_y_scale": (1.0, 5.0), "params_length_scale": (1.0,)}),
    "bnn": TunedBNN(
        grid={"embed": (3, 5), "lr": (0.01,), "num_training_steps": (4,), "num_samples_for_prediction": (8,)}
    ),
    "catboost": TunedCatBoost(grid={"iterations": (3, 6), "depth": (2,), "loss_function": ("Logloss",)}),
    "xgboost": TunedXGBoost(grid={"n_estimators": (5, 10), "max_depth": (2,), "subsample": (0.8,)}),
}


def table(num_rows=30, num_classes=2, seed=0):
    """Rows of four numbers, the last one increasing (so that they are in the baselines' own order), and labels."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(num_rows, 4, generator=generator, dtype=torch.float64)
    x[:, 3] = x[:, 3].sort().values
    noise = torch.randn(num_rows, generator=generator, dtype=torch.float64)
    rank = (x[:, 0] - x[:, 1] + 0.5 * noise).argsort().argsort()
    return x, (rank * num_classes // num_rows).double()
