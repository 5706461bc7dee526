"""What scripts that test something demand."""
import sys


def check(right, why=''):
    """Unlike `assert`, whatever Python is told to leave out."""
    if not right:
        raise SystemExit(f'{sys.argv[0]}: {why}')
