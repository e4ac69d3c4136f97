// DELETE below /artifacts/: one version, all, or a selection. It answers when clients no longer see the package.
import { expect, test } from 'vitest'
import { buildDeb } from '../../samples/deb.ts'
import type { Gate } from '../harness.ts'
import { send } from '../http.ts'
import { lastAudited, published } from './seen.ts'

export function deletionContract(gate: Gate): void {
  const put = async (name: string, distribution: string, version: string, more: object = {}) => {
    const file = await buildDeb({ name, version, ...more })
    const { status, text } = await gate.upload(file, { distribution })
    if (status !== 201) throw new Error(text)
    return file
  }
  const remove = (path: string, as = gate.people.maintainer.token) => gate.call('DELETE', `/artifacts/${path}`, { as })
  const left = async (name: string) => {
    const all = await Promise.all(
      ['jammy', 'noble', 'focal', 'bookworm'].map(async (codename) =>
        (await published(gate, codename)).map((entry) => `${codename} ${entry}`),
      ),
    )
    return all.flat().filter((entry) => entry.split(' ')[1] === name)
  }

  test('deleting one version removes it from every distribution and keeps the others', async () => {
    await put('doomed', 'jammy', '1-1')
    await put('doomed', 'noble', '1-1')
    await put('doomed', 'noble', '2-1')
    const { status, body } = await remove('doomed/1-1')
    expect([status, body]).toMatchObject([200, { status: 'deleted', package: 'doomed', version: '1-1' }])
    expect([...(body['distributions'] as string[])].sort()).toEqual(['jammy', 'noble'])
    expect(await left('doomed')).toEqual(['noble doomed 2-1'])
    expect(await lastAudited(gate, { action: 'DELETE', package: 'doomed' })).toMatchObject({
      result: 'SUCCESS',
      user: 'token:maintainer-robot',
      version: '1-1',
      outcome: 'published',
    })
    expect(await remove('doomed/1-1')).toMatchObject({ status: 404, body: { code: 'not_found' } })
  })

  test('a query selects one distribution or one architecture', async () => {
    await put('narrowed', 'jammy', '1-1')
    await put('narrowed', 'focal', '1-1')
    expect((await remove('narrowed/1-1?arch=all')).status).toBe(404)
    expect((await remove('narrowed/1-1?distribution=bookworm')).status).toBe(404)
    expect((await remove('narrowed?distribution=jammy&arch=amd64')).body).toEqual({
      status: 'deleted',
      package: 'narrowed',
      versions: ['1-1'],
      deleted: 1,
      ...{ would_break: [], would_break_total: 0, warnings: [] },
    })
    expect(await left('narrowed')).toEqual(['focal narrowed 1-1'])
  })

  test('without a version all versions and the name are deleted', async () => {
    await put('vanishing', 'jammy', '1-1')
    await put('vanishing', 'jammy', '2-1')
    await put('vanishing', 'focal', '2-1')
    const { body } = await remove('vanishing/')
    expect(body).toMatchObject({ status: 'deleted', package: 'vanishing', deleted: 3 })
    expect([...(body['versions'] as string[])].sort()).toEqual(['1-1', '2-1'])
    expect(await left('vanishing')).toEqual([])
    expect((await gate.call('GET', '/artifacts/vanishing')).status).toBe(404)
    expect((await gate.call('GET', '/artifacts/?search=vanishing')).body).toMatchObject({ total: 0 })
    expect((await gate.call('GET', '/packages/')).text).not.toContain('vanishing')
    expect((await remove('vanishing')).status).toBe(404)
  })

  test('deleted bytes may be uploaded again, and so may other bytes of the same file name', async () => {
    const file = await put('returning', 'jammy', '1-1')
    await remove('returning')
    expect((await gate.upload(file, { distribution: 'jammy' })).status).toBe(201)
    await remove('returning')
    await put('returning', 'jammy', '1-1', { files: { other: 'bytes' } })
    expect(await left('returning')).toEqual(['jammy returning 1-1'])
  })

  test('of two concurrent deletions of a package exactly one answers 200', async () => {
    await put('contested', 'focal', '1-1')
    const statuses = (await Promise.all([remove('contested'), remove('contested'), remove('contested')]))
      .map((reply) => reply.status)
      .sort()
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(1)
    for (const status of statuses) expect([200, 404, 409]).toContain(status)
    expect(await left('contested')).toEqual([])
    const { body } = await gate.call<{ items: object[] }>(
      'GET',
      '/artifacts/audit/logs?action=DELETE&package=contested',
    )
    expect(body.items).toHaveLength(1)
  })

  test('sync-index counts the manifests, changes nothing when the database is complete, and is audited', async () => {
    const before = (await gate.call<{ total: number }>('GET', '/artifacts/')).body.total
    const { status, body } = await gate.call('POST', '/artifacts/admin/sync-index', {
      as: gate.people.maintainer.session,
    })
    expect([status, Object.keys(body)]).toEqual([
      200,
      ['status', 'packages_indexed', 'orphans', 'missing_files', 'task_id'],
    ])
    expect(body).toMatchObject({ status: 'ok', orphans: 0, missing_files: 0 })
    expect(body['packages_indexed']).toBeGreaterThanOrEqual(before)
    expect((await gate.call<{ total: number }>('GET', '/artifacts/')).body.total).toBe(before)
    expect(await lastAudited(gate, { action: 'SYNC_INDEX' })).toMatchObject({
      result: 'SUCCESS',
      user: 'maintainer-person',
    })
  })

  test('every indexed file can be downloaded, and no deleted file is indexed', async () => {
    await put('staying', 'focal', '1-1')
    const index = await send(gate.aptPort, { method: 'GET', path: '/repos/dists/focal/main/binary-amd64/Packages' })
    const files = [...index.text.matchAll(/^Filename: (.+)$/gm)].map((match) => match[1] ?? '')
    expect(files.some((file) => file.includes('staying'))).toBe(true)
    for (const file of files)
      expect([file, (await send(gate.aptPort, { method: 'HEAD', path: `/repos/${file}` })).status]).toEqual([file, 200])
    expect(index.text).not.toContain('contested')
  })
}
