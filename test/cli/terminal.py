# Runs a program in a pseudo-terminal: terminal.py ANSWERS PROGRAM ARGS…
# ANSWERS is JSON, [[prompt, typed], …]: each is typed when its prompt shows. Prints what the terminal showed, and ends as
# the program ends.
import json
import os
import pty
import sys

answers = json.loads(sys.argv[1])
child, terminal = pty.fork()
if child == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
shown = b''
while True:
    try:
        piece = os.read(terminal, 4096)
    except OSError:  # the program closed its side
        break
    if not piece:
        break
    shown += piece
    sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()
    if answers and answers[0][0].encode() in shown:
        shown = b''
        os.write(terminal, answers.pop(0)[1].encode() + b'\r')
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
