"""What every other house needs: checked arguments, shapes and protocols, states and files, a
lock, the compiler's flags.
"""
