"""``python passthrough.py DIRECTORY``: a file system on a directory that shows its content, while this process runs.

If it is stopped (SIGSTOP), every access to the directory waits, also for metadata, as on Lustre without its servers;
the kernel caches nothing. If it ends, every access fails at once, so that no process hangs.

It supports the operations of vLLM's file tier, and answers "not implemented" to others. It uses the kernel's own
protocol (include/uapi/linux/fuse.h), so it needs no library.
"""

import contextlib
import ctypes
import errno
import itertools
import os
import struct
import sys
from collections.abc import Callable

_MINOR = 31
_WRITE_BYTES = 1 << 20
_BIG_WRITES, _MAX_PAGES = 1 << 5, 1 << 22
_HEADER, _REPLY, _TWO = struct.Struct("<IIQQIIII"), struct.Struct("<IiQ"), struct.Struct("<II")
_ATTRIBUTES = struct.Struct("<6Q10I")
_TRANSFER = struct.Struct("<QQI")
# FORGET, INTERRUPT, BATCH_FORGET have no response.
_SILENT = (2, 36, 42)


class Passthrough:
    """Names below an open directory, by the node numbers that the kernel uses; 1 is the directory."""

    def __init__(self, below: int) -> None:
        self._below = below
        self._names = {1: "."}
        self._numbers = {".": 1}
        self._unused = itertools.count(2)
        self._calls: dict[int, Callable[[int, bytes], bytes]] = {
            1: self._look_up,
            3: lambda node, _: struct.pack("<QII", 0, 0, 0) + self._attributes(node),
            9: self._make_directory,
            10: self._remove,
            12: self._rename,
            14: lambda node, body: self._open(node, _TWO.unpack_from(body)[0]),
            15: self._read,
            16: self._write,
            18: self._release,
            26: self._start,
            35: self._create,
        }

    def serve(self, device: int) -> None:
        """Answer until the file system is unmounted."""
        with contextlib.suppress(OSError):
            while message := os.read(device, _WRITE_BYTES + 4096):
                _, operation, unique, node, *_ = _HEADER.unpack_from(message)
                if operation not in _SILENT:
                    error, body = self._answer(operation, node, message[_HEADER.size :])
                    os.write(device, _REPLY.pack(_REPLY.size + len(body), -error, unique) + body)

    def _answer(self, operation: int, node: int, body: bytes) -> tuple[int, bytes]:
        call = self._calls.get(operation)
        if call is None:
            return errno.ENOSYS, b""
        try:
            return 0, call(node, body)
        except OSError as error:
            return error.errno or errno.EIO, b""

    def _start(self, _: int, body: bytes) -> bytes:
        flags = struct.unpack_from("<I", body, 12)[0] & (_BIG_WRITES | _MAX_PAGES)
        pages = _WRITE_BYTES // 4096
        return struct.pack("<4I2H2I2H8I", 7, _MINOR, 0, flags, 64, 48, _WRITE_BYTES, 1, pages, 0, *[0] * 8)

    def _below_node(self, node: int, name: bytes) -> str:
        return os.path.join(self._names[node], name.rstrip(b"\0").decode())

    def _attributes(self, node: int) -> bytes:
        found = os.stat(self._names[node], dir_fd=self._below, follow_symlinks=False)
        times = (int(found.st_atime), int(found.st_mtime), int(found.st_ctime))
        owner = (found.st_mode, found.st_nlink, found.st_uid, found.st_gid)
        return _ATTRIBUTES.pack(node, found.st_size, found.st_blocks, *times, 0, 0, 0, *owner, 0, 4096, 0)

    def _entry(self, path: str) -> bytes:
        node = self._numbers.get(path) or next(self._unused)
        self._numbers[path] = node
        self._names[node] = path
        return struct.pack("<4QII", node, 0, 0, 0, 0, 0) + self._attributes(node)

    def _look_up(self, node: int, body: bytes) -> bytes:
        return self._entry(self._below_node(node, body))

    def _make_directory(self, node: int, body: bytes) -> bytes:
        path = self._below_node(node, body[8:])
        os.mkdir(path, 0o777, dir_fd=self._below)
        return self._entry(path)

    def _remove(self, node: int, body: bytes) -> bytes:
        os.unlink(self._below_node(node, body), dir_fd=self._below)
        return b""

    def _rename(self, node: int, body: bytes) -> bytes:
        (target,) = struct.unpack_from("<Q", body)
        old, new, _ = body[8:].split(b"\0", 2)
        source, path = self._below_node(node, old), self._below_node(target, new)
        os.rename(source, path, src_dir_fd=self._below, dst_dir_fd=self._below)
        self._numbers[path] = number = self._numbers.pop(source)
        self._names[number] = path
        return b""

    def _open(self, node: int, flags: int) -> bytes:
        handle = os.open(self._names[node], flags & (os.O_ACCMODE | os.O_TRUNC), dir_fd=self._below)
        return struct.pack("<QIi", handle, 0, 0)

    def _create(self, node: int, body: bytes) -> bytes:
        flags, mode = _TWO.unpack_from(body)
        path = self._below_node(node, body[16:])
        kept = flags & (os.O_ACCMODE | os.O_EXCL | os.O_TRUNC)
        handle = os.open(path, kept | os.O_CREAT, mode & 0o777, dir_fd=self._below)
        return self._entry(path) + struct.pack("<QIi", handle, 0, 0)

    def _read(self, _: int, body: bytes) -> bytes:
        handle, offset, size = _TRANSFER.unpack_from(body)
        return os.pread(handle, size, offset)

    def _write(self, _: int, body: bytes) -> bytes:
        handle, offset, size = _TRANSFER.unpack_from(body)
        return _TWO.pack(os.pwrite(handle, body[40 : 40 + size], offset), 0)

    def _release(self, _: int, body: bytes) -> bytes:
        os.close(struct.unpack_from("<Q", body)[0])
        return b""


def main(directory: str) -> None:
    """Mount, and serve."""
    below = os.open(directory, os.O_PATH | os.O_DIRECTORY)
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=40777,user_id=0,group_id=0,allow_other"
    library = ctypes.CDLL(None, use_errno=True)
    if library.mount(b"passthrough", directory.encode(), b"fuse", 0, options.encode()) != 0:
        sys.exit(f"cannot mount {directory}: {os.strerror(ctypes.get_errno())}")
    Passthrough(below).serve(device)


if __name__ == "__main__":
    main(sys.argv[1])
