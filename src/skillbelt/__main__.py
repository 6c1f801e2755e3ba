"""``python -m skillbelt`` is the ``skillbelt`` command."""

from skillbelt.cli import main

__all__: list[str] = []

if __name__ == "__main__":
    main()
