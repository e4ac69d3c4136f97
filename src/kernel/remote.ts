// Which directories are on a file system that may wait for a network.
import { statfsSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * File system types of `statfs` that depend on another machine, or on a process that may. A type that is not listed
 * counts as local. https://man7.org/linux/man-pages/man2/statfs.2.html and linux/magic.h; Lustre, GPFS, BeeGFS and Ceph
 * define theirs in their own sources.
 */
export const REMOTE_TYPES: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB 2'],
  [0x65735546, 'FUSE'],
  [0x00c36400, 'Ceph'],
  [0x01021997, '9p'],
  [0x5346414f, 'AFS (kernel)'],
  [0x6b414653, 'AFS'],
  [0x73757245, 'Coda'],
  [0x564c, 'NCP'],
  [0x7461636f, 'OCFS2'],
  [0x01161970, 'GFS2'],
  [0x0bd00bd0, 'Lustre'],
  [0x47504653, 'GPFS'],
  [0x19830326, 'BeeGFS'],
  [0xaad7aaea, 'PanFS'],
  [0x786f4256, 'VirtualBox'],
  [0xbacbacbc, 'VMware'],
])

/** Whether a type is in the table. Some systems extend the sign of the 32 bits. */
export const isRemoteType = (type: number) => REMOTE_TYPES.has(type >>> 0)

/**
 * A property of the process, like its umask: `main` determines it once, before anything reads a file, and all other code
 * uses it. A file system that is mounted over a directory later is not noticed.
 */
let remote: readonly string[] = []

/** @returns the remote ones of these directories; for a directory that does not exist yet, its parent decides */
export function lookForRemote(directories: readonly string[]): readonly string[] {
  remote = directories.filter((directory) => isRemoteType(typeAt(directory)))
  return remote
}

/** Whether operations on this path may wait for a network. */
export function isRemote(path: string): boolean {
  for (const directory of remote) {
    if (path.startsWith(directory) && (path.length === directory.length || path[directory.length] === '/')) return true
  }
  return false
}

function typeAt(path: string): number {
  try {
    return statfsSync(path).type
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || path === dirname(path)) throw error
    return typeAt(dirname(path))
  }
}
