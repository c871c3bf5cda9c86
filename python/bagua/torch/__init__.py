"""Bagua for PyTorch."""
