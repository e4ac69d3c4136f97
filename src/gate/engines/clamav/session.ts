// Many small INSTREAMs over one connection (IDSESSION), several at the same time. Knows nothing of packages.
import { answerNumber, readAnswer, type Answer } from './answer.ts'
import { openConnection, type ClamavAddress, type ClamavLimits } from './connection.ts'
import { chunkHeader } from './stream.ts'

const BEGIN = Buffer.from('zIDSESSION\0')
const COMMAND = Buffer.from('zINSTREAM\0')
const LAST_CHUNK = Buffer.alloc(4)

export interface Session {
  /**
   * The answer for `content`; null when the session ended before it came. The daemon may be well: clamd
   * ends a session after ReadTimeout even while it scans, and after any stream over its size limit, and the answers to
   * others are lost with it. The caller asks again on a connection of its own, where neither happens.
   * @throws Problem('scanner_unavailable') when no session can be opened
   */
  ask(content: Uint8Array): Promise<Answer | null>
}

type Waiting = Map<number, (answer: Answer | null) => void>

/** Connects at the first question, and again at the next one after a session ended; `signal` ends it for good. */
export function createSession(address: ClamavAddress, limits: ClamavLimits, signal: AbortSignal): Session {
  let current: Promise<Session['ask']> | null = null

  async function open() {
    const waiting: Waiting = new Map()
    let asked = 0
    let ended = false
    const connection = await openConnection(address, limits, signal, {
      onAnswer(text) {
        const number = answerNumber(text)
        if (number === null) return
        waiting.get(number)?.(readAnswer(text))
        waiting.delete(number)
      },
      onEnd() {
        ended = true
        current = null
        for (const settle of waiting.values()) settle(null)
        waiting.clear()
      },
    })
    void connection.send(BEGIN)
    return async (content: Uint8Array) => {
      if (ended) return null
      // Commands are sent in the order of the calls, so this count is clamd's count.
      const answer = new Promise<Answer | null>((settle) => waiting.set(++asked, settle))
      await connection.send(COMMAND, chunkHeader(content.byteLength), content, LAST_CHUNK)
      return answer
    }
  }

  return {
    async ask(content) {
      current ??= open()
      const opening = current
      try {
        return await (
          await opening
        )(content)
      } catch (error) {
        if (current === opening) current = null
        throw error
      }
    },
  }
}
