// Declarations of /cli: the command, in the same version as the service.
import { declare } from '../http/route.ts'

export const getCli = declare({
  method: 'GET',
  path: '/cli/gatehouse.mjs',
  root: true,
  tag: 'cli',
  summary: 'The command `gatehouse` as one file for Node 20, of the version of this service',
  access: 'public',
  // Many build machines behind one address may load it before each use.
  limit: 'none',
  also: { 304: 'Not changed since the state that `If-None-Match` names' },
  answer: null,
  media: ['text/javascript'],
  problems: ['not_found'],
})

export const getCliDigest = declare({
  method: 'GET',
  path: '/cli/gatehouse.mjs.sha256',
  root: true,
  tag: 'cli',
  summary: 'The SHA-256 of that file, as `sha256sum -c` reads it',
  access: 'public',
  limit: 'none',
  answer: null,
  media: ['text/plain'],
  problems: ['not_found'],
})
