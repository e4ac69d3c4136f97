import { expect, test } from 'vitest'
import { DatabaseStopped } from '../../store/pglite/session.ts'
import { Problem, PROBLEM_CODES } from '../../domain/problem.ts'
import { answerOf, problemOf, STATUS_OF } from './problems.ts'

/** Status codes from the decisions, section 1 and the sections that name a code. */
const STATUSES: [number, string][] = [
  [
    400,
    'validation_error wrong_password unknown_key invalid_role weak_password self_role_change self_delete self_deactivate last_admin external_account',
  ],
  [
    400,
    'reset_token_invalid authorization_pending slow_down access_denied expired_token oidc_disabled invalid_package unknown_distribution distribution_inactive format_mismatch arch_mismatch checksum_mismatch same_distribution forbidden_target malformed_request',
  ],
  [401, 'unauthorized'],
  [402, 'feature_unavailable'],
  [403, 'forbidden session_required mfa_required setup_token_invalid self_approval'],
  [404, 'not_found unknown_api_version'],
  [405, 'method_not_allowed'],
  [408, 'request_timeout'],
  [
    409,
    'already_exists already_running setup_done duplicate_conflict policy_blocked not_under_review ambiguous signing_key_missing signing_key_exists',
  ],
  [409, 'not_published rejected_bytes account_conflict'],
  [413, 'file_too_large body_too_large'],
  [424, 'index_empty'],
  [429, 'rate_limited'],
  [431, 'header_too_large'],
  [500, 'internal_error publication_failed backup_unavailable storage_full'],
  [502, 'upstream_error'],
  [
    503,
    'database_unavailable database_busy scanner_unavailable scan_incomplete passive_replica ldap_unavailable webhook_not_configured shutting_down overloaded',
  ],
  [504, 'timeout'],
]

test.each(STATUSES)('%i: %s', (status, codes) => {
  for (const code of codes.split(' ')) expect([code, STATUS_OF[code as keyof typeof STATUS_OF]]).toEqual([code, status])
})

test('an answer carries the sentence, the code and the extra keys', () => {
  for (const code of PROBLEM_CODES) {
    const { status, headers, body } = answerOf(
      new Problem(code, 'a sentence', { code: 'another', detail: 7, more: true }),
    )
    expect(body).toEqual({ code, detail: 'a sentence', more: true })
    expect(headers['www-authenticate']).toBe(status === 401 ? 'Bearer' : undefined)
    if (status === 503 || status === 429) expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(1)
    else expect(headers['retry-after']).toBeUndefined()
  }
})

test.each([
  [0.2, '1'],
  [0, '1'],
  [12.1, '13'],
])('a wait of %d seconds is sent as Retry-After %s', (retryAfterSeconds, sent) => {
  expect(answerOf(new Problem('rate_limited', 'wait', {}, { retryAfterSeconds })).headers['retry-after']).toBe(sent)
})

test('a full disk has its own code and is still logged', () => {
  // The last is what a database answers, the embedded one too.
  for (const [code, disk] of [
    ['ENOSPC', 'the disk'],
    ['EDQUOT', 'the disk'],
    ['53100', 'the disk of the database'],
  ]) {
    const { problem, isBug } = problemOf(Object.assign(new Error('write /var/x'), { code }), 'r-1')
    expect([problem.code, isBug]).toEqual(['storage_full', true])
    expect(problem.detail).toBe(`${disk} is full; nothing was stored`)
  }
})

test.each([
  [new Error('secret place')],
  ['a string'],
  [null],
  [undefined],
  [{ statusCode: 500 }],
  [{ statusCode: 302 }],
])('any other thrown value (%s) is a bug whose answer reveals nothing', (thrown) => {
  const { problem, isBug } = problemOf(thrown, 'r-1')
  expect([problem.code, isBug, problem.extra]).toEqual(['internal_error', true, { request_id: 'r-1' }])
  expect(problem.detail).not.toContain('secret')
})

test('framework errors caused by the client are answered with 4xx codes', () => {
  const code = (error: object) => problemOf(error, 'r-1').problem.code
  expect(code({ code: 'FST_ERR_MAX_PARAM_LENGTH', statusCode: 414 })).toBe('not_found')
  expect(code({ code: 'FST_ERR_CTP_INVALID_MEDIA_TYPE', statusCode: 415, message: 'Unsupported' })).toBe(
    'validation_error',
  )
  expect(code({ code: 'FST_ERR_BAD_URL', statusCode: 400, message: 'bad' })).toBe('validation_error')
})

test('a database that is away is told as an outage, and is no fault of ours', () => {
  const { problem, isBug } = problemOf(new DatabaseStopped('the embedded database stopped'), 'r-1')
  expect([problem.code, isBug, answerOf(problem).headers['retry-after']]).toEqual(['database_unavailable', false, '5'])
})
