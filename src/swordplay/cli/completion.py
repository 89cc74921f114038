"""``swordplay completion``: for shells that complete what is being typed."""

from __future__ import annotations

import click

HOW = """\b
Examples:
  swordplay completion bash >> ~/.bashrc
  swordplay completion zsh >> ~/.zshrc
  swordplay completion fish > ~/.config/fish/completions/swordplay.fish
"""


@click.command("completion", epilog=HOW)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion_command(shell: str) -> None:
    """Print a script that teaches SHELL to complete commands and options of swordplay."""
    from click.shell_completion import get_completion_class

    from swordplay.cli.commands import program

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(program, {}, "swordplay", "_SWORDPLAY_COMPLETE").source())
