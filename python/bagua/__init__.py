"""What Python programs use of Bagua."""
