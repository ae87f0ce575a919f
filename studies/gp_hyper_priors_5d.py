"""Figure 4b with five features: PFN, MLE-II and NUTS beside the truth where hyper-parameters are hard to tell.

    python studies/gp_hyper_priors_5d.py

Claim to test: the released ``gp-hyper-5d`` comes within 0.05 nats of the oracle at n = 5 ... 30, closer than MLE-II and
than NUTS with 256 samples. The paper has no such figure; all else is as in `gp_hyper_priors.py`.
Cost on one core: PFN, oracle and MLE-II eight minutes, NUTS by NumPyro ten.
"""

from collections.abc import Sequence
from functools import partial

from gp_hyper_priors import Case, run
from hyper_results import draw, tell
from matplotlib.figure import Figure
from study import Row, Study

from priorfit.priors import HyperGaussianProcess

FIVE_FEATURES = Case(HyperGaussianProcess(num_features=5), "gp-hyper-5d", 100, (("numpyro", 256, 40, 10),))


def draw_alone(rows: Sequence[Row]) -> Figure:
    """NLL, gap, seconds, without the paper's numbers."""
    return draw(rows, beside_paper=False)


STUDY = Study(
    "gp_hyper_priors_5d", __doc__, partial(run, case=FIVE_FEATURES), partial(tell, beside_paper=False), draw_alone
)

if __name__ == "__main__":
    STUDY.main()
