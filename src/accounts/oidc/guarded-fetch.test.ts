import { expect, test } from 'vitest'
import { createGuardedFetch } from './guarded-fetch.ts'

test.each([199, 600, 999])(
  'an answer with the status %i, which `fetch` does not know, is a failed request',
  async (status) => {
    const fetch = createGuardedFetch(
      { exchange: () => Promise.resolve({ status, headers: {}, body: Buffer.alloc(0) }) },
      true,
    )
    await expect(fetch('https://id.example/', { method: 'GET', headers: {} })).rejects.toMatchObject({
      reason: 'status',
    })
  },
)
