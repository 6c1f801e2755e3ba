"""A folder that only its owner can write to, as far as the system has such a thing."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from skillbelt.errors import SourceError

__all__ = ["private_folder"]


def private_folder(folder: str | os.PathLike[str]) -> Path:
    """Return the absolute path of a folder, made with mode 0700 if it does not exist and can be made.

    That it cannot be made, or not be written to, is no error here: a cache is of no use then, and nothing worse.

    Args:
        folder: Where; ``~`` stands for the home of the user.

    Raises:
        SourceError: It is a file, or everybody may write to it: an alias that somebody else put there would be
            believed.
    """
    path = Path(os.path.abspath(os.path.expanduser(os.fsdecode(folder))))
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        everybody = path.stat().st_mode & stat.S_IWOTH
    except (FileExistsError, NotADirectoryError):
        raise SourceError(f"{str(folder)!r} is a file, not a folder; give a folder to keep packages in.") from None
    except OSError:
        return path
    if everybody:
        raise SourceError(
            f"Everybody may write to the folder {str(folder)!r}, so what is kept there cannot be trusted; "
            "take the permission away with 'chmod o-w', or choose another folder."
        )
    return path
