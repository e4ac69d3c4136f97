// The messages that chats get: text of packages and people stays plain text there.
import { describe, expect, test } from 'vitest'
import type { Message } from './events.ts'
import { payloadOf } from './payloads.ts'

const APP = 'https://gate.example.org/'
const message = (text: string, data: Message['data'] = {}, url = APP): Message => ({
  ...{ text, data, url, event: 'PENDING_REVIEW', id: 'audit-7', timestamp: '2026-03-05T00:00:00+00:00' },
})
const slack = (of: Message) => payloadOf(of, 'slack') as any
const card = (of: Message) => (payloadOf(of, 'teams') as any).attachments[0].content
/** Every string of a JSON value, with the key it has. */
function* strings(value: unknown, key = ''): Generator<[key: string, text: string]> {
  if (typeof value === 'string') yield [key, value]
  else if (typeof value === 'object' && value !== null)
    for (const [name, inner] of Object.entries(value)) yield* strings(inner, Array.isArray(value) ? key : name)
}

const ATTACKS: [what: string, text: string][] = [
  ['mentions of a channel', '<!channel> <!here> <!everyone> <!subteam^S1>'],
  ['a mention of a person', '<@U012AB3CD> <at>Ann</at>'],
  ['a link with another text', '<https://evil.example|gate.example.org> [gate](https://evil.example)'],
  ['an image', '![x](https://evil.example/track.png) <img src=x>'],
  ['entities', '&lt;!channel&gt; &amp;lt;'],
  ['a date function', '{{DATE(2026-01-01T00:00:00Z)}} <!date^1392734382^x|y>'],
  ['lines of its own', 'one\r\n*Outcome*\npublished\u2028x'],
  ['turned text', 'a\u202egnp.exe'],
]

describe.each(ATTACKS)('%s', (_, attack) => {
  const attacked = message(`${attack} waits`, {
    ...{ package: attack, version: attack, distribution: attack, arch: attack, outcome: attack, user: attack },
  })

  test('is escaped for Slack', () => {
    // The only entity is our own link.
    const ours = `<${APP}|Gatehouse>`
    for (const [key, text] of strings(slack(attacked))) {
      if (key !== 'text') continue
      expect(text.replace(ours, '')).not.toMatch(/[<>]|&(?!amp;|lt;|gt;)/)
      expect(text).not.toMatch(/[\r\u2028\u202e]/)
    }
    const { blocks } = slack(attacked)
    for (const one of blocks.flatMap(({ type, text, fields, elements }: any) =>
      type === 'header' ? [] : [text, ...(fields ?? []), ...(elements ?? [])].filter(Boolean),
    ))
      expect(one).toMatchObject({ type: 'mrkdwn', verbatim: true })
    // What people read is what was written, but for control characters.
    const read = (blocks[1].text.text as string).replace(/&(amp|lt|gt);/g, (_, name: string) =>
      name === 'amp' ? '&' : name === 'lt' ? '<' : '>',
    )
    expect(read).toBe(`${attack} waits`.replace(/[\u0000-\u001f\u2028\u202e]+/g, ' '))
  })

  test('is in runs of text alone for Teams', () => {
    const of = card(attacked)
    const literal = of.body.filter(({ type }: any) => type === 'RichTextBlock')
    expect(literal.flatMap(({ inlines }: any) => inlines).every(({ type }: any) => type === 'TextRun')).toBe(true)
    const rest = JSON.stringify({ ...of, body: of.body.filter(({ type }: any) => type !== 'RichTextBlock') })
    const clean = payloadOf(message('x'), 'teams') as any
    const other = clean.attachments[0].content
    expect(rest).toBe(
      JSON.stringify({ ...other, body: other.body.filter(({ type }: any) => type !== 'RichTextBlock') }),
    )
    expect(of.msteams).not.toHaveProperty('entities')
  })

  test('is unchanged in our own JSON', () => {
    expect(JSON.parse(JSON.stringify(payloadOf(attacked, 'generic')))).toEqual(attacked)
  })
})

test.each([
  ['@channel and (@all)', '@\u200bchannel and (@\u200ball)'],
  ['ann@example.org', 'ann@example.org'],
  ['a @ b', 'a @ b'],
])('%s is no mention for those that take the messages of Slack', (text, shown) => {
  expect(slack(message(text)).text).toBe(shown)
})

test.each([
  ['ends of a link', 'https://gate.example.org/?a=|<!channel>'],
  ['a quotation mark', 'https://gate.example.org/"><b>'],
])('an address of the console with %s stays one link', (_, url) => {
  const { blocks } = payloadOf(message('x', {}, url), 'slack') as any
  expect(blocks.at(-1).elements[0].text).toMatch(/^<https:\/\/gate\.example\.org\/[^|<>]*\|Gatehouse> · [^<>|]*$/)
})

test('long texts keep within what Slack takes, also when all of them is escaped', () => {
  const long = '&'.repeat(100_000)
  const { blocks } = slack(message(long, { package: long, version: long, user: '😀'.repeat(10_000) }))
  expect(blocks[0].text.text.length).toBeLessThanOrEqual(150)
  expect(blocks[1].text.text.length).toBeLessThanOrEqual(3000)
  expect(blocks[2].fields.length).toBeLessThanOrEqual(10)
  for (const { text } of blocks[2].fields) expect(text.length).toBeLessThanOrEqual(2000)
  for (const [, text] of strings(blocks)) expect(text).not.toMatch(/\p{Surrogate}/u)
})

test('an event without a package has no empty facts', () => {
  expect(slack(message('x', { package: null, user: '' })).blocks.map(({ type }: any) => type as string)).toEqual([
    'header',
    'section',
    'context',
  ])
  expect(card(message('x', { package: null })).body).toHaveLength(3)
})
