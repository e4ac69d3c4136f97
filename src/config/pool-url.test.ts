// Which addresses of object stores are accepted.
import { describe, expect, test } from 'vitest'
import { addressOf, poolUrl, type PoolUrl } from './pool-url.ts'

describe('POOL_URL', () => {
  test.each<[string, Partial<PoolUrl>]>([
    ['s3://packages', { bucket: 'packages', prefix: '', endpoint: null, region: 'us-east-1' }],
    ['s3://packages/', { bucket: 'packages', prefix: '' }],
    ['s3://packages/gate/one/', { prefix: 'gate/one' }],
    ['s3://packages/gate/../../one', { prefix: 'one' }],
    ['s3://my.bucket-1/a_b/C.d?region=eu-1', { bucket: 'my.bucket-1', prefix: 'a_b/C.d', region: 'eu-1' }],
    ['s3://packages/p?endpoint=https://objects.example.org', { endpoint: 'https://objects.example.org' }],
    ['s3://packages/p?endpoint=http%3A%2F%2F127.0.0.1%3A9000&region=a', { endpoint: 'http://127.0.0.1:9000' }],
    ['s3://packages/p?endpoint=http://[::1]:9000/', { endpoint: 'http://[::1]:9000/' }],
  ])('accepts %s', (text, expected) => {
    const url = poolUrl.parse(text)
    expect(url).toMatchObject(expected)
    expect(poolUrl.parse(addressOf(url))).toEqual(url)
  })

  test.each([
    ['', 'must be s3://bucket/prefix'],
    ['packages', 'must be s3://bucket/prefix'],
    ['https://packages.example.org/p', 'must be s3://bucket/prefix'],
    ['s3:///prefix', 'must be s3://bucket/prefix'],
    ['s3://Packages/p', 'must be s3://bucket/prefix'],
    ['s3://ab', 'must be s3://bucket/prefix'],
    ['s3://-packages', 'must be s3://bucket/prefix'],
    ['s3://packages:9000/p', 'must be s3://bucket/prefix'],
    ['s3://key:secret@packages/p', 'without credentials'],
    ['s3://packages/p#part', 'without credentials'],
    ['s3://packages/a//b', 'must have a prefix of letters'],
    ['s3://packages/a b', 'must have a prefix of letters'],
    ['s3://packages/a%2fb', 'must have a prefix of letters'],
    ['s3://packages/p?secret=x', 'may have the parameters endpoint and region only'],
    ['s3://packages/p?endpoint=objects.example.org', 'must have an endpoint such as'],
    ['s3://packages/p?endpoint=https://objects.example.org/path', 'must have an endpoint such as'],
    ['s3://packages/p?endpoint=https://user:secret@objects.example.org', 'must have an endpoint such as'],
    ['s3://packages/p?endpoint=https://objects.example.org%3Fa=b', 'must have an endpoint such as'],
    ['s3://packages/p?endpoint=file:///etc', 'must have an endpoint such as'],
    ['s3://packages/p?endpoint=', 'must have an endpoint such as'],
    ['s3://packages/p?region=EU%20west', 'must have a region'],
  ])('refuses %j', (text, expected) => {
    let message = ''
    try {
      poolUrl.parse(text)
    } catch (error) {
      message = (error as Error).message
    }
    expect(message).toContain(expected)
    // The variable is printed with the sentence; what it holds is not.
    expect(message).not.toContain('secret')
  })
})
