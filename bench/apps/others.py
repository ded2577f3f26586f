"""Applications that cannot be had quickly: each stands in the table as skipped, and why."""
from turns import Missing

REASONS = {
    "mugrid": "Debian does not have it, the wheel of PyPI is without MPI, and its source takes more than ten minutes to build",
    "heat": "needs PyTorch, whose package of PyPI brings gigabytes of CUDA libraries, and Debian's 150 other packages",
}


def skipped(reason):
    def programs(_place):
        raise Missing(reason)
    return programs


APPLICATIONS = {name: skipped(reason) for name, reason in REASONS.items()}
