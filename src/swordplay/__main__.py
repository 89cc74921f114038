"""``python -m swordplay`` is the command ``swordplay``."""

from swordplay.cli import main

if __name__ == "__main__":
    main()
