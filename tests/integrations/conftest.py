"""BoTorch is imported by our own modules first, which know the warnings that its import gives."""

import priorfit.integrations.botorch as botorch  # noqa: F401
