"""Runs a program that gets no socket of IPv6: the kernel answers EAFNOSUPPORT, as one without IPv6 does (seccomp(2), Linux on x64).

A test cannot take IPv6 from the kernel, and systemd's RestrictAddressFamilies= works in the same way.
"""

import ctypes
import os
import struct
import sys

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
NUMBER_AT, FIRST_ARGUMENT_AT = 0, 16
SOCKET, AF_INET6 = 41, 10
ALLOW, FAIL_WITH_EAFNOSUPPORT = 0x7FFF0000, 0x00050000 | 97

steps = [
    (LOAD, 0, 0, NUMBER_AT),
    (EQUAL, 0, 3, SOCKET),
    (LOAD, 0, 0, FIRST_ARGUMENT_AT),
    (EQUAL, 0, 1, AF_INET6),
    (RETURN, 0, 0, FAIL_WITH_EAFNOSUPPORT),
    (RETURN, 0, 0, ALLOW),
]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


program = Program(len(steps), ctypes.addressof(code))
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0):
    sys.exit(f"seccomp: {os.strerror(ctypes.get_errno())}")
os.execvp(sys.argv[1], sys.argv[1:])
