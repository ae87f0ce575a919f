"""The live page: click and drag points, and see the network's posterior beside the exact one (extra ``demo``)."""
