"""damage.py PROGRAM PREFIX: copies of a program, cut off, for another machine, and with wild numbers in its headers."""
import os
import struct
import sys

data = bytearray(open(sys.argv[1], "rb").read())


def write(suffix, content):
    path = sys.argv[2] + suffix
    with open(path, "wb") as f:
        f.write(content)
    os.chmod(path, 0o755)


write(".short", data[:80])
foreign = bytearray(data)
foreign[18:20] = struct.pack("<H", 8)  # e_machine: MIPS
write(".foreign", foreign)
# Segments beyond the end of the file: e_phoff stays, every p_offset and p_filesz goes wild.
wild = bytearray(data)
phoff, phnum = struct.unpack_from("<Q", data, 32)[0], struct.unpack_from("<H", data, 56)[0]
for i in range(phnum):
    struct.pack_into("<Q", wild, phoff + 56 * i + 8, 2**63 + 5)
    struct.pack_into("<Q", wild, phoff + 56 * i + 32, 2**63)
write(".wild", wild)
