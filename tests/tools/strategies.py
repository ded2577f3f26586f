"""Each row of `packwright run --list-strategies` is a word that the variable, the option and the completion take, and
an entry of the manual page: strategies.py PACKWRIGHT ROOT."""
import os
import subprocess
import sys

packwright, root = sys.argv[1:3]
wrong = []


def run(*words, **variables):
    done = subprocess.run(words, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=dict(os.environ, **variables))
    return done.returncode, done.stdout, done.stderr


page = open(os.path.join(root, "docs/man/packwright-run.1")).read()
completion = run("bash", os.path.join(root, "tests/tools/complete.bash"), root, packwright, "run", "--strategy", "=")
rows = [line.split(None, 1) for line in run(packwright, "run", "--list-strategies")[1].splitlines()]
offered = completion[1].split()
if not rows or offered != ["auto"] + [name for name, _ in rows]:
    wrong.append("rows %s, but completion offers %s" % ([name for name, _ in rows], offered))
for name, text in rows:
    status, out, err = run(packwright, "env", PACKWRIGHT_STRATEGY=name)
    if status or err or "PACKWRIGHT_STRATEGY=%s\n" % name not in out:
        wrong.append("PACKWRIGHT_STRATEGY=%s: %s" % (name, err))
    status, out, err = run(packwright, "run", "--strategy=" + name)
    if "nothing to run" not in err:
        wrong.append("--strategy=%s: %s" % (name, err))
    if ".B %s\n%s\n" % (name, text) not in page:
        wrong.append("packwright-run.1 has no entry '%s' with the text '%s'" % (name, text))
print("\n".join(wrong))
sys.exit(bool(wrong))
