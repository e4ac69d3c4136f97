#!/usr/bin/python3
"""A directory seen through FUSE, whose answers take as long as a test says (Debian: python3-pyfuse3).

Usage: slow-files.py <directory> <mount point>
Reads lines from stdin: `delay <seconds>`, `stall` (nothing is answered) and `go`; answers each with `ok`.
The end of stdin ends it.
"""
import asyncio
import errno
import os
import stat as modes
import sys

import pyfuse3
import pyfuse3_asyncio

pyfuse3_asyncio.enable()


class Weather:
    def __init__(self):
        self.delay = 0.0
        self.going = asyncio.Event()
        self.going.set()

    async def wait(self):
        if self.delay:
            await asyncio.sleep(self.delay)
        await self.going.wait()


def failing(call, *args, **named):
    try:
        return call(*args, **named)
    except OSError as error:
        raise pyfuse3.FUSEError(error.errno or errno.EIO)


class Files(pyfuse3.Operations):
    """Inodes are those of the directory. A path is remembered for each name that was looked up."""

    enable_writeback_cache = False

    def __init__(self, root, weather):
        super().__init__()
        self.weather = weather
        self.paths = {pyfuse3.ROOT_INODE: {root}}
        self.opened = {}

    def path(self, inode):
        for path in self.paths.get(inode, ()):
            return path
        raise pyfuse3.FUSEError(errno.ENOENT)

    def below(self, inode, name):
        return os.path.join(self.path(inode), os.fsdecode(name))

    def forget_path(self, path):
        for inode, paths in list(self.paths.items()):
            paths.discard(path)

    def attributes(self, path=None, fd=None):
        found = failing(os.fstat, fd) if fd is not None else failing(os.lstat, path)
        entry = pyfuse3.EntryAttributes()
        for name in ('st_mode', 'st_nlink', 'st_uid', 'st_gid', 'st_rdev', 'st_size', 'st_atime_ns', 'st_mtime_ns', 'st_ctime_ns'):
            setattr(entry, name, getattr(found, name))
        entry.st_ino = pyfuse3.ROOT_INODE if path in self.paths[pyfuse3.ROOT_INODE] else found.st_ino
        entry.st_blksize = 512
        entry.st_blocks = (found.st_size + 511) // 512
        # Nothing is answered from the kernel's memory.
        entry.entry_timeout = entry.attr_timeout = 0
        return entry

    def entered(self, path):
        entry = self.attributes(path)
        self.paths.setdefault(entry.st_ino, set()).add(path)
        return entry

    async def lookup(self, parent, name, ctx=None):
        await self.weather.wait()
        return self.entered(self.below(parent, name))

    async def forget(self, inodes):
        pass

    async def getattr(self, inode, ctx=None):
        await self.weather.wait()
        # An open file has attributes also when its last name is gone.
        for fd, opened in self.opened.items():
            if opened == inode:
                return self.attributes(fd=fd)
        return self.attributes(self.path(inode))

    async def setattr(self, inode, attr, fields, fh, ctx):
        await self.weather.wait()
        path = fh if fh is not None else self.path(inode)
        if fields.update_size:
            failing(os.truncate, path, attr.st_size)
        if fields.update_mode:
            failing(os.chmod, path, modes.S_IMODE(attr.st_mode))
        if fields.update_uid or fields.update_gid:
            failing(os.chown, path, attr.st_uid if fields.update_uid else -1, attr.st_gid if fields.update_gid else -1)
        if fields.update_atime or fields.update_mtime:
            now = failing(os.stat, path)
            atime = attr.st_atime_ns if fields.update_atime else now.st_atime_ns
            mtime = attr.st_mtime_ns if fields.update_mtime else now.st_mtime_ns
            failing(os.utime, path, ns=(atime, mtime))
        return self.attributes(fd=fh) if fh is not None else self.attributes(path)

    async def mkdir(self, parent, name, mode, ctx):
        await self.weather.wait()
        path = self.below(parent, name)
        failing(os.mkdir, path, mode & ~ctx.umask)
        return self.entered(path)

    async def symlink(self, parent, name, target, ctx):
        await self.weather.wait()
        path = self.below(parent, name)
        failing(os.symlink, os.fsdecode(target), path)
        return self.entered(path)

    async def readlink(self, inode, ctx):
        await self.weather.wait()
        return os.fsencode(failing(os.readlink, self.path(inode)))

    async def link(self, inode, parent, name, ctx):
        await self.weather.wait()
        path = self.below(parent, name)
        failing(os.link, self.path(inode), path, follow_symlinks=False)
        return self.entered(path)

    async def rename(self, parent, name, new_parent, new_name, flags, ctx):
        await self.weather.wait()
        old, new = self.below(parent, name), self.below(new_parent, new_name)
        if flags:
            raise pyfuse3.FUSEError(errno.EINVAL)
        failing(os.rename, old, new)
        self.forget_path(new)
        for paths in self.paths.values():
            for path in list(paths):
                if path == old or path.startswith(old + '/'):
                    paths.remove(path)
                    paths.add(new + path[len(old):])

    async def unlink(self, parent, name, ctx):
        await self.weather.wait()
        path = self.below(parent, name)
        failing(os.unlink, path)
        self.forget_path(path)

    async def rmdir(self, parent, name, ctx):
        await self.weather.wait()
        path = self.below(parent, name)
        failing(os.rmdir, path)
        self.forget_path(path)

    async def create(self, parent, name, mode, flags, ctx):
        await self.weather.wait()
        path = self.below(parent, name)
        fd = failing(os.open, path, (flags & ~os.O_APPEND) | os.O_CREAT, mode & ~ctx.umask)
        entry = self.entered(path)
        self.opened[fd] = entry.st_ino
        return pyfuse3.FileInfo(fh=fd), entry

    async def open(self, inode, flags, ctx):
        await self.weather.wait()
        fd = failing(os.open, self.path(inode), flags & ~(os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW))
        self.opened[fd] = inode
        return pyfuse3.FileInfo(fh=fd)

    async def read(self, fh, offset, size):
        await self.weather.wait()
        return failing(os.pread, fh, size, offset)

    async def write(self, fh, offset, content):
        await self.weather.wait()
        return failing(os.pwrite, fh, content, offset)

    async def fsync(self, fh, datasync):
        await self.weather.wait()
        failing(os.fsync, fh)

    async def fsyncdir(self, fh, datasync):
        await self.weather.wait()

    async def flush(self, fh):
        await self.weather.wait()

    async def release(self, fh):
        self.opened.pop(fh, None)
        os.close(fh)

    async def opendir(self, inode, ctx):
        await self.weather.wait()
        return inode

    async def readdir(self, fh, start, token):
        await self.weather.wait()
        directory = self.path(fh)
        names = sorted(failing(os.listdir, directory))
        for number, name in enumerate(names[start:], start + 1):
            path = os.path.join(directory, name)
            try:
                entry = self.entered(path)
            except pyfuse3.FUSEError:
                continue
            if not pyfuse3.readdir_reply(token, os.fsencode(name), entry, number):
                return

    async def releasedir(self, fh):
        pass

    async def access(self, inode, mode, ctx):
        await self.weather.wait()
        return True

    async def statfs(self, ctx):
        await self.weather.wait()
        found = os.statvfs(self.path(pyfuse3.ROOT_INODE))
        data = pyfuse3.StatvfsData()
        for name in ('f_bsize', 'f_frsize', 'f_blocks', 'f_bfree', 'f_bavail', 'f_files', 'f_ffree', 'f_favail'):
            setattr(data, name, getattr(found, name))
        return data


async def obey(weather):
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := (await reader.readline()).decode().split():
        if line[0] == 'delay':
            weather.delay = float(line[1])
        elif line[0] == 'stall':
            weather.going.clear()
        elif line[0] == 'go':
            weather.going.set()
        print('ok', flush=True)
    weather.delay = 0
    weather.going.set()


async def main(root, mount):
    weather = Weather()
    options = set(pyfuse3.default_options) | {'fsname=slow-files', 'allow_other'}
    options.discard('default_permissions')
    pyfuse3.init(Files(root, weather), mount, options)
    print('ok', flush=True)
    serving = asyncio.create_task(pyfuse3.main())
    await obey(weather)
    pyfuse3.close(unmount=True)
    serving.cancel()


os.umask(0)
asyncio.run(main(os.path.realpath(sys.argv[1]), sys.argv[2]))
