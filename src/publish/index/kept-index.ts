// The index of one distribution between publishes: in memory, in a file of blocks, or neither.
import type { Offered } from '../../formats/format.ts'
import type { Db } from '../../store/db.ts'
import { loadBlocks, saveBlocks } from './block-cache.ts'
import { emptyState, follow, holdsPublished, sizeInMemory, type IndexState } from './index-state.ts'

/** The functions that return a promise are called one after another. */
export interface KeptIndex {
  /** The blocks at the distribution's current revision: from memory, from disk, or from the database. */
  followed(): Promise<IndexState>
  /** The next `followed` starts from the database alone: neither from memory nor from the blocks on disk. */
  distrust(): void
  /** Writes the blocks to disk unless nothing changed since the last time. */
  save(): Promise<void>
  /** Bytes of memory that the blocks take; 0 when none are kept. */
  bytes(): number
  /** Saves the blocks and frees their memory, unless a publish that failed still needs them. */
  drop(): Promise<void>
}

type Kept =
  /** complete up to `state.revision` */
  | { kind: 'cached'; state: IndexState; bytes: number; savedRevision: number }
  /** no state: the next publish starts from the blocks on disk. Also while a change is applied, which may fail half-way */
  | { kind: 'loading' }
  /** no state, and the blocks on disk must not be used */
  | { kind: 'untrusted' }

/** @param cachePath of the blocks on disk */
export function createKeptIndex(db: Db, offered: Offered, cachePath: string): KeptIndex {
  let kept: Kept = { kind: 'loading' }

  async function followed(): Promise<IndexState> {
    const before = kept
    // Half of a change must not be published: the state after a failure is trusted no more than the state before it.
    const pending: Kept = { kind: before.kind === 'untrusted' ? 'untrusted' : 'loading' }
    kept = pending
    const stored = before.kind === 'loading' ? await loadBlocks(cachePath, offered) : null
    let state = before.kind === 'cached' ? before.state : (stored ?? emptyState(offered))
    await follow(db, state, offered)
    if (stored && !(await holdsPublished(db, state, offered))) {
      state = emptyState(offered)
      await follow(db, state, offered)
    }
    const savedRevision = before.kind === 'cached' ? before.savedRevision : -1
    // `distrust` may have been called meanwhile.
    if (kept === pending) kept = { kind: 'cached', state, bytes: sizeInMemory(state), savedRevision }
    return state
  }

  async function save(): Promise<void> {
    // A saved state counts all its packages as linked, so it must not contain packages that are not in the tree yet.
    if (kept.kind !== 'cached' || kept.state.linked < kept.state.revision || kept.state.revision === kept.savedRevision)
      return
    const { revision } = kept.state
    await saveBlocks(cachePath, kept.state)
    kept.savedRevision = revision
  }

  return {
    followed,
    distrust: () => (kept = { kind: 'untrusted' }),
    save,
    bytes: () => (kept.kind === 'cached' ? kept.bytes : 0),
    async drop() {
      if (kept.kind !== 'cached' || kept.state.linked < kept.state.revision) return
      await save()
      kept = { kind: 'loading' }
    },
  }
}
