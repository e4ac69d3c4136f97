// Questions that a child process and its parent ask each other over the channel between them, and their answers.
import { inTime } from '../../kernel/in-time.ts'

interface Question {
  question: unknown
  number: number
}

interface Answer {
  answer: unknown
  number: number
}

export interface Asker {
  ask(question: unknown): Promise<unknown>
  /** Takes a message of the other process; ignores messages that are not answers. */
  receive(message: unknown): void
}

export function createAsker(send: (message: Question) => void): Asker {
  const open = new Map<number, (answer: unknown) => void>()
  let number = 0
  return {
    ask: (question) =>
      new Promise((resolve) => {
        number++
        open.set(number, resolve)
        send({ question, number })
      }),
    receive(message) {
      if (!isObject(message) || !('answer' in message)) return
      const { answer, number } = message as unknown as Answer
      open.get(number)?.(answer)
      open.delete(number)
    },
  }
}

/**
 * Asks one question at a time, so that questions do not pile up for a blocked process: callers meanwhile share its answer.
 * The promise rejects when no answer comes within `ms` milliseconds.
 */
export function askInTime<T>(ask: () => Promise<T>, ms: number): () => Promise<T> {
  let open: Promise<T> | null = null
  return () => inTime(() => (open ??= ask().finally(() => (open = null))), ms)
}

/** Answers a message of the other process with `send`; ignores messages that are not questions. */
export async function answerQuestion(
  message: unknown,
  answerOf: (question: unknown) => unknown,
  send: (message: Answer) => void,
): Promise<void> {
  if (!isObject(message) || !('question' in message)) return
  const { question, number } = message as unknown as Question
  send({ answer: await answerOf(question), number })
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
