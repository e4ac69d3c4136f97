import { expect, test } from 'vitest'
import { formatOf } from '../../formats/index.ts'
import { fixingVersion } from './fix-versions.ts'

const { compare } = formatOf('deb').versions

test.each([
  ['no finding has a version', [], null],
  ['different findings need the highest of their versions', [['1.2-1'], ['1.10-1']], '1.10-1'],
  ['of several branches the next one counts', [['1.0-9', '1.2-1', '2.0-1']], '1.2-1'],
  ['a fix before the version is none', [['1.2-1'], ['0.9-1']], null],
  ['a finding without a fix is not ended by one', [['1.2-1'], []], null],
  ['an epoch counts', [['1.2-1'], ['1:0.1-1']], '1:0.1-1'],
])('%s', (_, fixes, version) => {
  expect(fixingVersion('1.1-1', fixes, compare)).toBe(version)
})
