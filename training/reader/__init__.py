"""Training of the detector's reader. README.md of the folder `training` says how to run it."""
