"""status.py STATUS COMMAND…: runs the command, which must end with that status."""
import subprocess
import sys

status = subprocess.call(sys.argv[2:])
if status != int(sys.argv[1]):
    sys.exit("status %d instead of %s" % (status, sys.argv[1]))
