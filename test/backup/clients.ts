// One real client per format, which reads one distribution before the system is lost and after it was restored.
import { expect } from 'vitest'
import { apkClients } from '../clients/apk-roots.ts'
import { createAptRoot } from '../clients/apt-root.ts'
import { dnf } from '../clients/dnf-root.ts'
import type { Format } from '../crash/packages.ts'
import { need } from '../need.ts'
import type { Service } from '../service.ts'

export interface Client {
  /** environment that gives a restored service the addresses that the client knows */
  addresses: Record<string, string>
  /** Reads the index again and fetches a package; fails on any warning about it. */
  takes(name: string): Promise<void>
  remove(): Promise<void>
}

export async function createClient(format: Format, service: Service, codename: string, key: string): Promise<Client> {
  const addresses = { APT_PORT: new URL(service.apt).port, RPM_REPO_PORT: new URL(service.rpm).port }
  if (format === 'apt') {
    const root = await createAptRoot({ url: `${service.apt}/repos`, suite: codename, key })
    return {
      addresses,
      async takes(name) {
        const { code, text } = await root.update()
        expect([code, text]).toEqual([0, expect.not.stringContaining('W:')])
        await root.download(name)
      },
      remove: () => root.remove(),
    }
  }
  if (format === 'rpm') {
    need(...dnf.needs)
    const root = await dnf.createRoot({ url: `${service.rpm}/repos/${codename}/x86_64`, key })
    return {
      addresses,
      async takes(name) {
        for (const { code, text } of [await root.refresh(), await root.download(name)]) expect(code, text).toBe(0)
      },
      remove: () => root.dispose(),
    }
  }
  const [apko] = apkClients()
  await apko!.prepare()
  const pem = await (await fetch(`${service.apt}/apk/svc.rsa.pub`)).text()
  const url = `${service.apt}/apk/${codename}/main`
  const root = await apko!.createRoot({ url, keys: [{ name: 'svc.rsa.pub', pem }] })
  return {
    addresses,
    async takes(name) {
      const { code, text } = await root.add(name)
      expect(code, text).toBe(0)
    },
    remove: () => root.remove(),
  }
}
