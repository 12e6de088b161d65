"""What the pipeline does a second, beside what its parts could do and what a plain pipeline does, in one run."""
