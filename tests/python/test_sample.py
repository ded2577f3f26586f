"""The sample verifies itself."""
import subprocess
import sys
from pathlib import Path


def test_halo():
    sample = Path(__file__).resolve().parents[2] / "samples" / "python" / "halo.py"
    said = subprocess.run([sys.executable, str(sample)], stdout=subprocess.PIPE, encoding="utf-8", check=True).stdout
    assert said == "halo.py: verified, 65536 bytes in 4096 blocks\n"
