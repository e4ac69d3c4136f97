import { closeSync, mkdtempSync, openSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import * as names from './names.ts'
import { isRemote, isRemoteType, lookForRemote } from './remote.ts'

const base = realpathSync(mkdtempSync(join(tmpdir(), 'names-')))
afterAll(() => rmSync(base, { recursive: true }))
afterEach(() => lookForRemote([]))

describe('A type of file system', () => {
  test.each([
    ['NFS', 0x6969, true],
    ['SMB, as `statfs` of some systems extends its sign', 0xff534d42 | 0, true],
    ['SMB 2', 0xfe534d42, true],
    ['FUSE', 0x65735546, true],
    ['Ceph', 0x00c36400, true],
    ['9p', 0x01021997, true],
    ['GFS2', 0x01161970, true],
    ['OCFS2', 0x7461636f, true],
    ['Lustre', 0x0bd00bd0, true],
    ['ext4', 0xef53, false],
    ['XFS', 0x58465342, false],
    ['Btrfs', 0x9123683e, false],
    ['ZFS', 0x2fc12fc1, false],
    ['tmpfs', 0x01021994, false],
    ['overlayfs', 0x794c7630, false],
  ])('%s', (_name, type, expected) => expect(isRemoteType(type)).toBe(expected))
})

test('A directory on a local disk, also one that does not exist yet, is not remote', () => {
  expect(lookForRemote([base, join(base, 'later', 'still')])).toEqual([])
  expect(isRemote(join(base, 'later'))).toBe(false)
})

test('An operation on a name that does not exist fails with its code, and a look finds nothing', async () => {
  const path = join(base, 'nothing')
  await expect(names.unlinkName(path)).rejects.toMatchObject({ code: 'ENOENT' })
  await expect(names.renameName(path, `${path}-2`)).rejects.toMatchObject({ code: 'ENOENT' })
  expect([await names.statName(path), await names.lstatName(path)]).toEqual([undefined, undefined])
})

test('On a local disk an operation is done before its call returns', async () => {
  const path = join(base, 'made')
  closeSync(openSync(path, 'wx'))
  const removed = names.unlinkName(path)
  expect(() => openSync(path, 'r')).toThrow('ENOENT')
  await removed
})
