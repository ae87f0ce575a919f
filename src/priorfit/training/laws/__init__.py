"""The law of a simulator's targets given its latents, learned from draws."""
