// Credentials of clients that send a name and a password.
import { expect, test } from 'vitest'
import { credentialOf, type Protocol } from './protocol.ts'

const asking = (scheme: 'Basic' | 'Bearer'): Protocol => ({
  prefix: '/x',
  errors: { media: 'text/plain', body: () => '' },
  challenge: { scheme, parameters: () => ({}) },
})
const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`

test.each<[string, Protocol | undefined, string | undefined, string | undefined]>([
  ['a password is a token', asking('Basic'), basic('__token__:svc_1'), 'Bearer svc_1'],
  ['under any name', asking('Basic'), basic(':svc_1'), 'Bearer svc_1'],
  ['with a colon inside', asking('Basic'), basic('a:b:c'), 'Bearer b:c'],
  ['or without a name', asking('Basic'), basic('svc_1'), 'Bearer svc_1'],
  ['in any case', asking('Basic'), basic('a:svc_1').replace('Basic', 'bASIC'), 'Bearer svc_1'],
  ['a token stays', asking('Basic'), 'Bearer svc_1', 'Bearer svc_1'],
  ['nothing stays', asking('Basic'), undefined, undefined],
  ['other schemes stay', asking('Basic'), 'Digest x', 'Digest x'],
  ['what is not Base64 stays', asking('Basic'), 'Basic a b', 'Basic a b'],
  ['where a token is asked for', asking('Bearer'), basic('a:svc_1'), basic('a:svc_1')],
  ['in our own API', undefined, basic('a:svc_1'), basic('a:svc_1')],
])('%s', (_, protocol, header, credential) => expect(credentialOf(protocol, header)).toBe(credential))
