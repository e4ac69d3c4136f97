// File systems for a suite: a small one that can be filled to the last page or inode, and one that can become read-only.
import { execFileSync } from 'node:child_process'
import { mkdir, rm, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const PAGE = 4096

export interface SmallDisk {
  directory: string
  /** Fills it until this many pages or file names are left. */
  leave(count: number, what: 'pages' | 'names'): Promise<void>
  /** Removes the filling. */
  free(): Promise<void>
  remove(): Promise<void>
}

export async function mountSmallDisk(directory: string, megabytes: number, names: number): Promise<SmallDisk> {
  await mkdir(directory, { recursive: true })
  asRoot('mount', '-t', 'tmpfs', '-o', `size=${megabytes}m,nr_inodes=${names},mode=0777`, 'tmpfs', directory)
  const filling = join(directory, 'filling')
  const free = () => rm(filling, { recursive: true, force: true })
  return {
    directory,
    free,
    async leave(count, what) {
      await free()
      await mkdir(filling)
      if (what === 'names') {
        // Fill it completely and then free some, because the service changes files meanwhile.
        const names: string[] = []
        for (let n = 0; await written(join(filling, String(n))); n++) names.push(join(filling, String(n)))
        for (const name of names.slice(-count || names.length)) await rm(name)
        return
      }
      const { bavail, bsize } = await statfs(directory)
      await writeFile(join(filling, 'pages'), Buffer.alloc(bavail * bsize - count * PAGE)).catch(
        (error: NodeJS.ErrnoException) => {
          // The service used some of the pages meanwhile: the disk is still full.
          if (error.code !== 'ENOSPC') throw error
        },
      )
    },
    async remove() {
      await free()
      asRoot('umount', '-l', directory)
      await rm(directory, { recursive: true, force: true })
    },
  }
}

async function written(path: string): Promise<boolean> {
  return writeFile(path, '').then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOSPC') throw error
      return false
    },
  )
}

/** Mounts a directory on itself, so that it can turn read-only. Hard links cannot cross the mount. */
export function bindMount(directory: string): { readOnly(): void; writable(): void; remove(): void } {
  asRoot('mount', '--bind', directory, directory)
  return {
    readOnly: () => asRoot('mount', '-o', 'remount,ro,bind', directory),
    writable: () => asRoot('mount', '-o', 'remount,rw,bind', directory),
    remove: () => asRoot('umount', '-l', directory),
  }
}

function asRoot(...command: string[]): void {
  const [program, ...args] = process.getuid?.() === 0 ? command : ['sudo', '-n', ...command]
  execFileSync(program as string, args, { stdio: ['ignore', 'ignore', 'inherit'] })
}
