// Declarations of /packages: the files clients can download, by name.
import Type from 'typebox'
import { listOf } from './schemas.ts'
import { declare } from './route.ts'

export const getPackages = declare({
  method: 'GET',
  path: '/packages',
  tag: 'packages',
  summary: 'File names of every package that is served, sorted',
  access: 'reader+',
  answer: listOf('packages', Type.String()),
  problems: [],
})
