// Named points at which a crash test kills the process; in production they do nothing.

/** Every point at which a crash test can kill, in the order in which an upload passes them. */
export const CHECKPOINTS = [
  'staged',
  'verdicts',
  'pooled',
  'settled',
  'manifest-written',
  'tree-linked',
  'generation-written',
  'before-flip',
  'after-flip',
  'published',
  'deleted',
  'decided',
  'placed',
  'manifest-removed',
  'restored',
  'task-saved',
  'audit-appended',
  'collected',
  'downloads-counted',
] as const
export type CheckpointName = (typeof CHECKPOINTS)[number]

export type Checkpoint = (name: CheckpointName) => void

/** @param dieAt `name` or `name:n` (the n-th time, from 1); empty: never dies */
export function createCheckpoint(dieAt: string | undefined): Checkpoint {
  if (!dieAt) return () => {}
  const [wanted, nth = '1'] = dieAt.split(':')
  let left = Number(nth)
  return (name) => {
    if (name !== wanted || --left > 0) return
    process.kill(process.pid, 'SIGKILL')
    // SIGKILL reaches a multi-threaded process asynchronously: no later line may run before it arrives.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  }
}
