"""Every head with an outcome that it serves: a new one is a new line here."""

from priorfit.data import Classes, Real
from priorfit.network import NormalHead, NormalMixtureHead, RiemannHead, SigmoidHead, SoftmaxHead

HEADS = {
    "smooth riemann": (RiemannHead(num_buckets=40), Real()),
    "plain riemann": (RiemannHead(num_buckets=40, shape="plain"), Real()),
    "bounded riemann": (RiemannHead(num_buckets=40, tails="none"), Real()),
    "normal": (NormalHead(), Real()),
    "mixture of normals": (NormalMixtureHead(components=5), Real()),
    "sigmoid": (SigmoidHead(), Classes(2)),
    "softmax": (SoftmaxHead(), Classes(4)),
}
