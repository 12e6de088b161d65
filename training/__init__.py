"""What the learned layer is taught with, and the teaching."""
