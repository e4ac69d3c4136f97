import { expect, test } from 'vitest'
import type { Finding } from '../../domain/finding.ts'
import { formatOf } from '../../formats/index.ts'
import { fixesHere } from './fixed-here.ts'

const row = { version: '1.0-1', distribution: 'noble', arch: 'amd64' }
const finding = (fixes: string[], type = 'deb') => ({ package_type: type, fix_versions: fixes }) as Finding
const sibling = (version: string, status: 'published' | 'pending_review' | 'rejected', more = {}) => ({
  ...{ ...row, version, status },
  ...more,
})

test.each([
  ['published', [sibling('1.2-1', 'published')], finding(['1.2-1']), ['1.2-1', null]],
  ['under review', [sibling('1.10-1', 'pending_review')], finding(['1.2-1']), [null, '1.10-1']],
  ['both', [sibling('1.2-1', 'published'), sibling('1.3-1', 'pending_review')], finding(['1.2-1']), ['1.2-1', '1.3-1']],
  ['too old', [sibling('1.1-1', 'published')], finding(['1.2-1']), [null, null]],
  ['older than the package', [sibling('0.9-1', 'published')], finding(['0.8-1']), [null, null]],
  ['rejected', [sibling('1.2-1', 'rejected')], finding(['1.2-1']), [null, null]],
  ['elsewhere', [sibling('1.2-1', 'published', { distribution: 'jammy' })], finding(['1.2-1']), [null, null]],
  ['of another architecture', [sibling('1.2-1', 'published', { arch: 'arm64' })], finding(['1.2-1']), [null, null]],
  ['of a component', [sibling('1.2-1', 'published')], finding(['1.2-1'], 'npm'), [null, null]],
  ['unknown', [sibling('1.2-1', 'published')], finding([]), [null, null]],
] as const)('a fix that is %s', (_, records, of, [here, waiting]) => {
  expect(fixesHere(row, records, formatOf('deb'))(of)).toEqual({ fixed_here: here, fixed_waiting: waiting })
})
