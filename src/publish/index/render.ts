// The index files of one state: of the published revision, or of an earlier one.
import type { IndexFile, IndexInput, Offered } from '../../formats/format.ts'
import { composeStream } from './compose.ts'
import { countOf, streamKey, type IndexState } from './index-state.ts'

export function renderIndex(
  state: IndexState,
  { format, distribution }: Offered,
  about: Pick<IndexInput, 'architectures' | 'date' | 'signers' | 'backgroundIndexes'>,
): Promise<IndexFile[]> {
  return format.index({
    ...about,
    distribution,
    revision: state.revision,
    count: (arch) => countOf(state, arch),
    compose: async (key, arch, head, tail) => {
      const stream = state.streams.get(streamKey(key, arch))
      if (!stream) throw new Error(`the format ${format.id} has no stream ${key} for ${arch}`)
      return composeStream(stream.blocks, head, tail, stream.spec, stream.digests)
    },
  })
}
