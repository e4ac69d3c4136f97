// Which conditions are refused as too wide, and which ID tokens conditions accept.
import { describe, expect, test } from 'vitest'
import { claimsFault, differingClaims, publisherOfActor, jobTokenName, type Publisher } from './publishers.ts'

describe('conditions', () => {
  test.each<Record<string, string>>([
    { repository: 'acme/tools' },
    { repository: 'acme/*', ref: 'refs/tags/v*' },
    { project_path: 'group/sub/*' },
    { repository_id: '123' },
    { repository_owner_id: '123', environment: '*' },
    { project_id: '7', ref_protected: 'true' },
    { namespace_path: 'group' },
    { sub: 'repo:acme/tools:ref:refs/heads/main' },
    { sub: 'repo:acme/*' },
    { sub: 'repo:acme/tools:*' },
    { sub: 'project_path:acme/*:ref_type:branch:ref:main' },
    { sub: 'organization:acme:pipeline:*' },
    { sub: 'repository_owner:acme:*' },
    { sub: 'org/0123/project/*' },
    { sub: 'a-machine' },
    { sub: 'environment:production:repository_owner:acme' },
    { sub: 'repository_owner_id:123:*' },
  ])('%j name somebody', (claims) => {
    expect(claimsFault(claims)).toBeNull()
  })

  test.each<[Record<string, string>, RegExp]>([
    [{}, /condition on one of sub, repository/],
    [{ ref: 'refs/heads/main' }, /condition on one of sub/],
    [{ actor: 'ann', environment: 'prod' }, /condition on one of sub/],
    [{ repository: '*' }, /owner in repository/],
    [{ repository: 'acme*' }, /owner in repository/],
    [{ repository: '*/tools' }, /owner in repository/],
    [{ repository: 'ac?e/tools' }, /owner in repository/],
    [{ repository: 'tools' }, /owner in repository/],
    [{ project_path: '?/x' }, /owner in project_path/],
    [{ sub: '*' }, /owner in sub/],
    [{ sub: 'repo:*' }, /owner in sub/],
    [{ sub: 'environment:production:*' }, /owner in sub/],
    [{ sub: 'a/*' }, /owner in sub/],
    [{ sub: 'org/*' }, /owner in sub/],
    [{ sub: 'organization:*:pipeline:x' }, /owner in sub/],
    [{ sub: 'ref:refs/heads/main:repo:acme/*' }, /owner in sub/],
    [{ sub: 'repo:acme*' }, /owner in sub/],
    [{ sub: 'repo:*/tools:ref:refs\/heads/main' }, /owner in sub/],
    [{ sub: 'repo:?cme/tools' }, /owner in sub/],
    [{ sub: 'repo*' }, /owner in sub/],
    [{ sub: '*:acme/tools' }, /owner in sub/],
    [{ repository_id: '12*' }, /whole repository_id/],
    [{ repository_owner: '*' }, /whole repository_owner/],
    // One good condition does not excuse a misleading one.
    [{ repository: 'acme/tools', sub: '*' }, /owner in sub/],
  ])('%j are refused', (claims, sentence) => {
    expect(claimsFault(claims)).toMatch(sentence)
  })
})

describe('an ID token', () => {
  const publisher = (claims: Record<string, string>): Publisher => ({
    name: 'p',
    issuer: 'https://issuer.example',
    audience: 'a',
    claims,
    role: 'uploader',
  })
  const payload = {
    sub: 'repo:acme/x:ref:r',
    repository: 'acme/x',
    run_attempt: 2,
    ok: true,
    groups: ['a', 'b'],
    o: {},
  }
  test.each<[Record<string, string>, string[]]>([
    [{ repository: 'acme/x' }, []],
    [{ repository: 'acme/*', sub: 'repo:acme/x:*' }, []],
    [{ repository: 'Acme/x' }, ['repository']],
    [{ repository: 'acme/x ' }, ['repository']],
    [{ repository: 'acme/' }, ['repository']],
    [{ repository: 'acme/x', ref: '*' }, ['ref']],
    [{ run_attempt: '2', ok: 'true' }, []],
    [{ groups: 'b' }, []],
    [{ groups: 'c' }, ['groups']],
    [{ o: '*' }, ['o']],
    [{ constructor: '*', __proto__x: '*' }, ['constructor', '__proto__x']],
  ])('is judged by %j', (claims, differing) => {
    expect(differingClaims(publisher(claims), payload)).toEqual(differing)
  })
})

test('the name of a token of a job leads to its publisher', () => {
  expect(publisherOfActor(`token:${jobTokenName('release', '0a1b2c3d-0000')}`)).toBe('release')
  expect(['token:release', 'ann', 'release#0a1b2c3d'].map(publisherOfActor)).toEqual([null, null, null])
})
