"""Types, argument checks, state schema, checkpoints, files and locks, used by all packages."""
