"""What all packages share: types, argument checks, state schema, checkpoints, files and locks."""
