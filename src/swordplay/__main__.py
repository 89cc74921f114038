"""``python -m swordplay`` is the command ``swordplay``."""

from swordplay.application.cli import main

if __name__ == "__main__":
    main()
