"""Is this posterior right? One call, one report."""

from priorfit.verify.check import Check as Check
from priorfit.verify.report import Report as Report
from priorfit.verify.report import verify as verify
