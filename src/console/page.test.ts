import { describe, expect, test } from 'vitest'
import { prefixOf, renderPage } from './page.ts'

describe('the prefix of a proxy', () => {
  test.each([
    [undefined, '/'],
    ['', '/'],
    ['/', '/'],
    ['/gatehouse', '/gatehouse/'],
    ['/tools/gatehouse/', '/tools/gatehouse/'],
    ['gatehouse', '/'],
    ['//evil.test', '/'],
    ['/a/../b', '/'],
    ['/a"><script>', '/'],
    ['https://evil.test/', '/'],
  ])('%j is %j', (field, expected) => {
    expect(prefixOf(field)).toBe(expected)
  })
})

describe('a page', () => {
  const template = '<base href="/" /><meta property="csp-nonce" nonce="__NONCE__"><script nonce="__NONCE__"></script>'

  test('names its prefix, and the same nonce in its text and its policy', () => {
    const { html, policy } = renderPage(template, '/gatehouse/')
    const nonce = /'nonce-([^']+)'/.exec(policy)?.[1] ?? ''
    expect(nonce).toHaveLength(24)
    expect(html).toBe(
      `<base href="/gatehouse/" /><meta property="csp-nonce" nonce="${nonce}"><script nonce="${nonce}"></script>`,
    )
  })

  test('has another nonce each time', () => {
    expect(renderPage(template, '/').policy).not.toBe(renderPage(template, '/').policy)
  })

  test('allows scripts of this origin only, and no frame', () => {
    const { policy } = renderPage(template, '/')
    expect(policy).toContain("script-src 'self';")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).toContain("default-src 'none'")
    expect(policy).not.toContain('unsafe')
  })
})
