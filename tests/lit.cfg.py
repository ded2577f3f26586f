"""Text tests: run by ctest (cmake/PackwrightLit.cmake passes the parameters). Every process is the real tool's."""
import os
import sys

import lit.formats

config.name = "packwright"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".ir", ".test"]
config.test_source_root = os.path.dirname(__file__)


def parameter(name):
    value = lit_config.params.get(name)
    if not value:
        lit_config.fatal("run these tests with ctest, or pass -D%s=..." % name)
    return value


config.test_exec_root = parameter("exec_root")
config.substitutions.append(("%packwright", parameter("packwright")))
config.substitutions.append(("%python", sys.executable))
config.substitutions.append(("%root", parameter("source_root")))

# `not` and `FileCheck` live side by side in LLVM's own directory.
tools = os.path.dirname(os.path.realpath(parameter("filecheck")))
config.environment["PATH"] = os.pathsep.join([tools, config.environment.get("PATH", "")])
# What the caller's environment says about Packwright must not change what tests see.
for name in [n for n in config.environment if n.startswith("PACKWRIGHT_")]:
    del config.environment[name]
