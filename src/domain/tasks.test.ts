// The states of a task and the events that change them.
import { expect, test } from 'vitest'
import {
  isEnded,
  isHeld,
  TASK_STATES,
  TASK_TRANSITIONS,
  taskStateAfter,
  type TaskEvent,
  type TaskState,
} from './tasks.ts'

const EVENTS: TaskEvent[] = ['claim', 'take_over', 'stop', 'succeed', 'fail', 'cancel']
const ALLOWED: Record<TaskState, Partial<Record<TaskEvent, TaskState>>> = {
  queued: { claim: 'running', cancel: 'cancelled' },
  running: { take_over: 'running', stop: 'queued', succeed: 'done', fail: 'failed', cancel: 'cancelling' },
  cancelling: { stop: 'cancelled', succeed: 'done', fail: 'failed', cancel: 'cancelling' },
  done: {},
  failed: {},
  cancelled: {},
}

test.each(TASK_STATES.flatMap((state) => EVENTS.map((event) => [state, event] as const)))(
  'a %s task answers %s as declared',
  (state, event) => {
    expect(taskStateAfter(state, event)).toBe(ALLOWED[state][event] ?? null)
  },
)

test('a state and an event have one transition', () => {
  const pairs = TASK_TRANSITIONS.map(({ from, event }) => `${from} ${event}`)
  expect(new Set(pairs).size).toBe(pairs.length)
})

test.each(TASK_STATES)('%s is either final, held by a process, or queued', (state) => {
  expect([isEnded(state), isHeld(state), state === 'queued'].filter(Boolean)).toHaveLength(1)
  expect(isEnded(state)).toBe(Object.keys(ALLOWED[state]).length === 0)
})
