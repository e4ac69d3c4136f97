// Declaration of /cli: the command of the same version as the service.
import { declare } from './route.ts'

export const getCli = declare({
  method: 'GET',
  path: '/cli/gatehouse.mjs',
  root: true,
  tag: 'cli',
  summary: 'The command `gatehouse` as one file for Node 20, of the version of this service',
  access: 'public',
  // Build machines behind one address load it before each use.
  limit: 'none',
  answer: null,
  problems: ['not_found'],
})
