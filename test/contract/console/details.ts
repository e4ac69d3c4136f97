// One distribution and one version in detail: set-up, publications, files, dependants; the preview of a migration.
import { expect, test } from 'vitest'
import type { Gate } from '../harness.ts'

export function detailContract(gate: Gate): void {
  const get = async <T = Record<string, unknown>>(path: string) => {
    const { status, body, text } = await gate.call<T>('GET', path)
    expect(status, text).toBe(200)
    return body
  }

  interface Setup {
    command: string
    file: { url: string; content: string }
    script: { url: string; content: string }
  }

  test('the set-up of a distribution is what its listener answers with, and names the settings first', async () => {
    const own = `http://127.0.0.1:${gate.aptPort}`
    const compare = async (address: string) => {
      const setup = await get<Setup>('/distributions/jammy/setup')
      expect(setup).toMatchObject({
        codename: 'jammy',
        format: 'deb',
        package_manager: 'apt',
        url: address,
        key_url: `${address}/repos/gpg.key`,
        command: `curl -fsSL ${address}/repos/jammy.sh | sudo sh`,
        install_command: 'sudo apt-get install',
      })
      for (const { url, content } of [setup.file, setup.script]) {
        expect(url.startsWith(`${address}/repos/jammy.`)).toBe(true)
        expect(await (await fetch(url.replace(address, own))).text()).toBe(content)
      }
    }
    await compare(own)
    const set = (apt_url: string) => gate.call('PATCH', '/settings/', { body: { addresses: { apt_url } } })
    expect((await set('https://packages.example.org/x/')).status).toBe(200)
    await compare('https://packages.example.org/x')
    for (const address of ['https://a.example.org/?q', 'ftp://a.example.org', 'https://a$(id).example.org'])
      expect((await set(address)).status).toBe(400)
    expect((await set('')).status).toBe(200)
    await compare(own)
  })

  test('a distribution that is not served has no set-up', async () => {
    const { status, body } = await gate.call('GET', '/distributions/rocky9/setup')
    expect([status, body['code']]).toEqual([400, 'distribution_inactive'])
    expect((await gate.call('GET', '/distributions/none/setup')).status).toBe(404)
  })

  test('publications are listed with what entered, and one of them is live', async () => {
    const { items, total } = await get<{ items: Record<string, unknown>[]; total: number }>(
      '/distributions/jammy/publications?per_page=3',
    )
    expect(items).toHaveLength(3)
    expect(total).toBeGreaterThan(3)
    expect(items.map((one) => one['live'])).toEqual([true, false, false])
    expect(items.map((one) => one['added'])).toEqual([1, 1, 1])
    expect(items.map((one) => one['causes'])).toEqual([['approve'], ['upload'], ['upload']])
    const all = await get<{ items: Record<string, unknown>[] }>(`/distributions/jammy/publications?per_page=200`)
    expect(all.items.at(-1)).toMatchObject({ added: null, removed: null })
    expect((await gate.call('GET', '/distributions/none/publications')).status).toBe(404)
  })

  test.each([
    ['', ['usr/lib/libheld.so.1', 'usr/share/doc/libheld/copyright', 'etc/held.conf'], 3],
    ['?per_page=2&page=2', ['etc/held.conf'], 3],
    ['?q=LIBHELD', ['usr/lib/libheld.so.1', 'usr/share/doc/libheld/copyright'], 2],
    ['?q=nothing', [], 0],
  ])('files%s are %j', async (query, items, total) => {
    expect(await get(`/artifacts/lib-held/1.1-1/files${query}`)).toMatchObject({
      package: 'lib-held',
      version: '1.1-1',
      distribution: 'jammy',
      items,
      total,
    })
  })

  test('dependants are those that the version satisfies; `only` tells those that have nothing else', async () => {
    const at = (version: string) =>
      get<{ items: { name: string; only: boolean }[]; total: number }>(`/artifacts/lib-held/${version}/dependants`)
    const published = await at('1.0-1')
    expect(published.items).toEqual([
      { name: 'user-a', version: '1.0-1', arch: 'amd64', requirements: ['lib-held (>= 1.0)'], only: true },
      { name: 'user-b', version: '1.0-1', arch: 'amd64', requirements: ['lib-held'], only: true },
    ])
    const held = await at('1.1-1')
    expect(held.items.map(({ name, only }) => [name, only])).toEqual([
      ['user-a', false],
      ['user-b', false],
    ])
    expect((await get<{ total: number }>('/artifacts/user-a/1.0-1/dependants')).total).toBe(0)
    expect((await gate.call('GET', '/artifacts/none/1/dependants')).status).toBe(404)
  })

  test('a dry run of a migration tells what it would do, and does nothing', async () => {
    const migrate = (dry_run: boolean) =>
      gate.call('POST', '/distributions/migrate', { body: { from_dist: 'jammy', to_dist: 'focal', dry_run } })
    const dry = await migrate(true)
    expect(dry.status, dry.text).toBe(200)
    expect(dry.body).toMatchObject({ status: 'dry_run', skipped: 0, failed: 0, task_id: null })
    const count = dry.body['migrated'] as number
    expect(count).toBeGreaterThanOrEqual(4)
    expect((await get<{ total: number }>('/distributions/focal/packages')).total).toBe(0)
    expect((await migrate(false)).body).toMatchObject({ status: 'ok', migrated: count })
    expect((await migrate(true)).body).toMatchObject({ migrated: 0, skipped: count, failed: 0 })
  })
}
