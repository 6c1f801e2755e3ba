"""The program that stands between the host and a script.

It starts the script and stays until nothing of it is left: it is the sub-reaper of everything the script starts, so
that no process gets away by leaving its group, its session or its parent. It ends the run when it took too long or too
much, when the host says so, and when the host is gone.

The host compiles these modules, sends them to a bare interpreter (``python -I -S``, working folder ``/``) and has them
run there; that interpreter imports nothing but builtin modules: no ``os``, no ``ctypes`` package. So it starts fast,
which every run pays for, and nothing a skill brings can be imported in it. On the host's side nothing here is imported.
"""
