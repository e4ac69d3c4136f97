// npm audit's answers, for names that objects have too.
import { expect, test } from 'vitest'
import { bulkAnswer, treeAnswer, type Finding } from './audit-answers.ts'
import type { NpmAdvisory } from './npm-advisory.ts'

const finding = (name: string, id: number, version: string): Finding => ({
  version,
  advisory: { id, name, module_name: name, severity: 'high' } as NpmAdvisory,
})

test.each(['left', 'constructor', '__proto__', 'toString'])('%s has its advisories, each once', (name) => {
  const findings = [finding(name, 1, '1.0.0'), finding(name, 1, '1.1.0'), finding(name, 2, '1.0.0')]
  const answer = bulkAnswer([...findings, finding('other', 1, '3.0.0')])
  expect(Object.keys(answer)).toEqual([name, 'other'])
  expect(Object.entries(answer)[0]?.[1].map(({ id }) => id)).toEqual([1, 2])
  expect(treeAnswer(3, findings)).toMatchObject({
    advisories: {
      1: {
        name,
        findings: [
          { version: '1.0.0', paths: [name] },
          { version: '1.1.0', paths: [name] },
        ],
      },
      2: { findings: [{ version: '1.0.0' }] },
    },
    metadata: { vulnerabilities: { high: 2, low: 0 }, totalDependencies: 3 },
  })
})
