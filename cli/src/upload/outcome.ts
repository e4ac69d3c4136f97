// The result of one upload, in words and as an exit code.
import type { Problem, UploadAnswer } from 'gatehouse-client'
import { EXITS, exitOf, exitOfStatus, type Exit } from '../exits.ts'
import { sentence } from '../failure.ts'
import type { Decided, Held } from './wait.ts'

export interface Outcome {
  exit: Exit
  /** one word: a status of the package, `already_there`, `held` or `failed` */
  word: string
  text: string
  /** what `--wait` waits for; null when nothing is held */
  held: Held | null
  /** the answer of the API, or its error */
  answer: Record<string, unknown>
}

export function outcomeOf(answer: UploadAnswer): Outcome {
  const { status, package: name, version, arch, distribution, held_reason: reason, message } = answer
  const held = status === 'pending_review' ? { package: name, version, arch, distribution } : null
  const why = held && reason ? `held for review (${reason}): ${message}` : message
  return {
    exit: exitOfStatus(status),
    word: status,
    text: `${name} ${version} (${arch}): ${why}`,
    held,
    answer: { ...answer },
  }
}

/** The same bytes may exist there already. That is a success, unless they are held or refused there. */
export function problemOutcome(problem: Problem, distribution: string): Outcome {
  const { code, body } = problem
  const status = body['existing_status'] ?? body['status']
  if (code !== 'already_exists' || typeof status !== 'string')
    return { exit: exitOf(problem), word: 'failed', text: sentence(problem), held: null, answer: body }
  const text = (key: string) => String(body[key])
  const held =
    status === 'pending_review' && body['package']
      ? { package: text('package'), version: text('version'), arch: text('arch'), distribution }
      : null
  const words: Record<string, string> = {
    published: 'already there',
    pending_review: 'already there and held for review',
  }
  return {
    exit: exitOfStatus(status),
    word: status === 'published' ? 'already_there' : status,
    text: `${problem.detail} (${words[status] ?? `and is ${status} there`})`,
    held,
    answer: body,
  }
}

/** The result after waiting for people. */
export function decidedOutcome(before: Outcome, decided: Decided): Outcome {
  const { package: name, version, arch } = before.held ?? { package: '', version: '', arch: '' }
  const what = `${name} ${version} (${arch})`
  if (decided.status !== null)
    return {
      ...before,
      exit: exitOfStatus(decided.status),
      word: decided.status,
      text: `${what}: ${decided.status} after review`,
    }
  if ('problem' in decided) {
    const { problem } = decided
    const text = `${what}: cannot be followed: ${sentence(problem)}`
    return { ...before, exit: exitOf(problem), word: 'failed', text }
  }
  const ends: Record<typeof decided.why, [Exit, string]> = {
    deleted: [EXITS.refused, 'deleted while it was waited for'],
    time: [EXITS.held, 'still held for review; the same command waits again'],
    interrupted: [EXITS.interrupted, 'interrupted while it was waited for'],
  }
  const [exit, text] = ends[decided.why]
  return { ...before, exit, word: decided.why === 'time' ? before.word : 'failed', text: `${what}: ${text}` }
}
