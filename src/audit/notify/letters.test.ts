import { describe, expect, test } from 'vitest'
import { render } from './letter.ts'
import {
  alertLetter,
  deadlineLetter,
  decisionLetter,
  heldLetter,
  resetLetter,
  testLetter,
  type HeldItem,
} from './letters.ts'

const APP = 'https://gate.example.org'
const counts = { critical: 0, high: 2, medium: 1, low: 0, negligible: 0, unknown: 0 }
const openssl = { package: 'openssl', version: '3.0.2-1', arch: 'amd64', distribution: 'jammy' }
const held: HeldItem = {
  ...openssl,
  findings: { worst: 'High', counts, exploited: ['CVE-2026-1111'] },
  due: new Date('2026-04-01T00:00:00Z'),
  reason: '2 high',
}

/** The visible text of the HTML. */
const seen = (html: string) =>
  html
    .replace(/<style[\s\S]*?<\/style>|<[^>]+>/g, '\n')
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&quot;/g, '"')
    .replace(/&#39;/g, "'")
    .replace(/&amp;/g, '&')

describe('a held package', () => {
  test('is described with everything a reviewer needs, in text and in HTML', () => {
    const { subject, text, html } = heldLetter([held], APP)
    expect(subject).toBe('[Gatehouse] openssl 3.0.2-1 in jammy waits for a decision: known to be exploited')
    expect(text).toContain(
      'openssl 3.0.2-1 (amd64) in jammy\n  Worst severity: High\n  Vulnerabilities: 2 high, 1 medium\n  Known to be exploited: CVE-2026-1111\n  Why: 2 high\n  To be decided by: 2026-04-01T00:00:00.000+00:00',
    )
    const page = 'https://gate.example.org/review?item=openssl%203.0.2-1%20amd64%20jammy'
    expect(text).toContain(`\n  ${page}\n`)
    expect(html).toContain(`<a href="${page}">openssl 3.0.2-1 (amd64) in jammy</a>`)
    for (const word of [
      'openssl 3.0.2-1 (amd64) in jammy',
      'High',
      '2 high, 1 medium',
      'CVE-2026-1111',
      '2026-04-01T00:00:00.000+00:00',
    ])
      expect(seen(html)).toContain(word)
    expect(html).toContain('<a href="https://gate.example.org/review">')
  })

  test('is described without known-exploited vulnerabilities, and without findings when it was not scanned', () => {
    expect(heldLetter([{ ...held, findings: { worst: 'High', counts, exploited: [] } }], APP)).toMatchObject({
      subject: '[Gatehouse] openssl 3.0.2-1 in jammy waits for a decision',
      text: expect.stringContaining('Known to be exploited: none'),
    })
    expect(heldLetter([{ ...held, findings: null, due: null }], APP).text).not.toMatch(/severity|exploited|decided by/)
  })

  test('shares its mail with others, of which those beyond the limit are counted', () => {
    const many = Array.from({ length: 130 }, (_, i) => ({ ...held, package: `lib${i}` }))
    const { subject, text, html } = heldLetter(many, APP)
    expect(subject).toBe('[Gatehouse] 130 packages wait for a decision, 130 of them known to be exploited')
    for (const body of [text, seen(html)]) {
      expect(body).toContain('lib99 3.0.2-1')
      expect(body).not.toContain('lib100 3.0.2-1')
      expect(body).toContain('And 30 more.')
    }
  })
})

test('deadlines are listed, and missed ones are marked', () => {
  const items = [
    { ...openssl, due: '2026-03-02T00:00:00+00:00' },
    { ...openssl, package: 'zlib', due: null },
  ]
  const overdue = deadlineLetter('overdue', items, APP)
  expect(overdue.subject).toBe('[Gatehouse] 2 deadlines missed')
  expect(overdue.text).toContain(
    'openssl 3.0.2-1 (amd64) in jammy\n  Was due: 2026-03-02T00:00:00+00:00\n  https://gate.example.org/review?item=openssl%203.0.2-1%20amd64%20jammy\n\nzlib 3.0.2-1 (amd64) in jammy\n',
  )
  expect(deadlineLetter('expiring', items.slice(0, 1), APP)).toMatchObject({
    subject: '[Gatehouse] 1 deadline within a week',
    text: expect.stringContaining('  Due: 2026-03-02'),
  })
})

test('a decision is described with person, reason, subject and expiry', () => {
  const { subject, text } = decisionLetter(
    [
      {
        ...openssl,
        action: 'exception',
        by: 'ann',
        justification: 'not reachable',
        cves: ['CVE-1', 'CVE-2'],
        expires: '2026-05-01',
        target: null,
      },
    ],
    APP,
  )
  expect(subject).toBe('[Gatehouse] openssl 3.0.2-1 in jammy: accepted for a time')
  expect(text).toContain(
    '  Decision: accepted for a time\n  By: ann\n  Justification: not reachable\n  Vulnerabilities: CVE-1, CVE-2\n  Ends: 2026-05-01\n',
  )
})

test('the password reset mail has the link and its lifetime', () => {
  const { text, html } = resetLetter('ann', `${APP}/reset-password?token=a-B_1`, 30)
  expect(text).toContain('\nhttps://gate.example.org/reset-password?token=a-B_1\n')
  expect(text).toContain('within 30 minutes')
  expect(html).toContain('<a href="https://gate.example.org/reset-password?token=a-B_1">')
})

describe('text from packages and people', () => {
  const evil = '<script>alert(1)</script><img src=x onerror="x()">&amp;\'"'
  const letters = [
    heldLetter(
      [
        {
          ...held,
          package: evil,
          version: evil,
          arch: evil,
          distribution: evil,
          reason: evil,
          findings: { worst: 'High', counts, exploited: [evil] },
        },
      ],
      APP,
    ),
    deadlineLetter('overdue', [{ ...openssl, package: evil, due: evil }], APP),
    decisionLetter(
      [{ ...openssl, action: evil, by: evil, justification: evil, cves: [evil], expires: evil, target: evil }],
      APP,
    ),
    alertLetter('ANTIVIRUS_HIT', [{ ...openssl, package: evil, what: evil, at: new Date(0) }], APP),
    testLetter(evil, new Date(0), `https://gate.example.org/"><script>`),
    resetLetter(evil, 'https://gate.example.org/?a=1&b="><script>', 30),
  ]
  test.each(letters.map((letter) => [letter.subject.slice(0, 40), letter]))(
    'is escaped in HTML (%s)',
    (_, { html }) => {
      expect(
        html.match(/<(?!\/?(html|head|meta|title|body|p|h3|table|tr|td|a|br|small|!doctype)\b)[^>]*>/gi),
      ).toBeNull()
      expect(html).not.toMatch(/<[^>]*\son\w+=/i)
      expect(html).not.toContain('<script')
    },
  )

  test('cannot begin a line or a header, or change the text direction', () => {
    const { subject, text, html } = heldLetter(
      [{ ...held, package: 'a\r\nBcc: eve@example.org\u2028x\u202egnp', reason: 'line\n\n-- \nSent by Gatehouse' }],
      APP,
    )
    expect(subject).toBe(
      '[Gatehouse] a Bcc: eve@example.org x gnp 3.0.2-1 in jammy waits for a decision: known to be exploited',
    )
    expect(text.split('\n').filter((line) => line === '-- ')).toHaveLength(1)

    for (const body of [subject, text, html]) expect(body).not.toMatch(/[\r\u2028\u202e\u0000]/)
  })

  test('is cut between characters when it is too long', () => {
    const { subject, text } = heldLetter([{ ...held, package: '😀'.repeat(5000), reason: '😀'.repeat(5000) }], APP)
    expect([...subject].length).toBeLessThanOrEqual(160)
    expect(text.length).toBeLessThan(5000)
    for (const body of [subject, text]) expect(body).not.toMatch(/\p{Surrogate}/u)
  })

  test.each(['javascript:alert(1)', 'data:text/html,x', 'file:///etc/passwd', 'no address'])(
    '%s does not become a link',
    (url) => {
      const { text, html } = render({ subject: 's', intro: [], link: { label: 'Go', url } })
      expect(html).not.toContain('href')
      expect(text).not.toContain(url)
    },
  )
})
