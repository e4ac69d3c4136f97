// Makes a running service read its advisories again.
import { expect } from 'vitest'
import type { Service } from '../service.ts'

/** Starts an update after the one from the start of the service is over. @throws when it fails */
export async function readAdvisories(service: Service): Promise<void> {
  for (;;) {
    const { status, body } = await service.call('POST', '/security/vulnscan/update')
    if (status === 409) continue
    expect(status, JSON.stringify(body)).toBe(200)
    expect(['updated', 'up_to_date'], body.message).toContain(body.status)
    return
  }
}
