// Declarations of /packages: the files clients can download, by name.
import Type from 'typebox'
import { listOf } from '../http/schemas.ts'
import { declare } from '../http/route.ts'

export const getPackages = declare({
  method: 'GET',
  path: '/packages',
  tag: 'packages',
  summary: 'The sorted file names of all served packages',
  access: 'reader+',
  answer: listOf('packages', Type.String()),
  problems: [],
})
