// Advisories as the suites of the gate bring them into a running service.
import { expect } from 'vitest'
import type { Service } from '../service.ts'

/** Has a service read its advisories again, after the update its start began. @throws when that fails */
export async function readAdvisories(service: Service): Promise<void> {
  for (;;) {
    const { status, body } = await service.call('POST', '/security/vulnscan/update')
    if (status === 409) continue
    expect(status, JSON.stringify(body)).toBe(200)
    expect(['updated', 'up_to_date'], body.message).toContain(body.status)
    return
  }
}
