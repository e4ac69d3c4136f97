import { expect, test } from 'vitest'
import { EMPTY_DRAFT } from './decision.ts'
import { draftKey, forgetDraft, keepDraft, keptDraft } from './drafts.ts'

const record = { name: 'curl', version: '1', arch: 'amd64', distribution: 'noble' }
const KEY = draftKey('maria', record)
const typed = { action: 'reject' as const, draft: { ...EMPTY_DRAFT, reason: 'exploited, INC-9' } }

function store(before: Record<string, string> = {}) {
  const kept = new Map(Object.entries(before))
  return {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
    removeItem: (key: string) => void kept.delete(key),
  }
}

test('a draft is found again by the person who typed it, about this record only', () => {
  const tab = store()
  keepDraft(tab, KEY, typed)
  expect(keptDraft(tab, KEY)).toEqual(typed)
  expect(keptDraft(tab, draftKey('max', record))).toBeNull()
  expect(keptDraft(tab, draftKey('maria', { ...record, distribution: 'jammy' }))).toBeNull()
})

test('a draft that was sent, or has no text any more, is forgotten', () => {
  const tab = store()
  keepDraft(tab, KEY, typed)
  keepDraft(tab, KEY, { ...typed, draft: { ...typed.draft, reason: ' ' } })
  expect(keptDraft(tab, KEY)).toBeNull()
  keepDraft(tab, KEY, typed)
  forgetDraft(tab, KEY)
  expect(keptDraft(tab, KEY)).toBeNull()
})

test.each(['{', '[]', 'null', '{"action":"explode","draft":{}}', '{"action":null,"draft":{"reason":1}}'])(
  '%s in the store is not a draft',
  (text) => {
    expect(keptDraft(store({ [KEY]: text }), KEY)).toBeNull()
  },
)

test('a store that is full keeps the older draft from coming back', () => {
  const tab = store()
  keepDraft(tab, KEY, typed)
  const full = {
    ...tab,
    setItem: () => {
      throw new Error('full')
    },
  }
  keepDraft(full, KEY, { ...typed, draft: { ...typed.draft, reason: 'newer' } })
  expect(keptDraft(tab, KEY)).toBeNull()
})
