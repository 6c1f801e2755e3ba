"""Every scenario gets a folder of its own on the real disk; nothing of it is left behind."""

import os
import shutil
import tempfile
from pathlib import Path

from skillbelt.sources import directory


def before_all(context):
    directory.SETTLE = 0.0  # what a scenario has just written is served at once


def before_scenario(context, scenario):
    context.folder = Path(tempfile.mkdtemp(prefix="skillbelt-feature-"))
    context.folder.chmod(0o755)  # scenarios about permissions read as another user
    context.error = None
    context.outcome = None


def after_scenario(context, scenario):
    if os.getuid() == 0:
        os.seteuid(0)
    for path, folders, _ in os.walk(context.folder):
        for folder in folders:
            below = Path(path, folder)
            if not below.is_symlink():
                below.chmod(0o755)
    shutil.rmtree(context.folder)
