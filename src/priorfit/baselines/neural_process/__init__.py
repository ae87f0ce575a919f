"""The attentive neural process, trained by the same loop as a PFN."""
