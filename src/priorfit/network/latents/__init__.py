"""Latents as tokens: what is saved of them, their encoders and densities, and their posterior."""
