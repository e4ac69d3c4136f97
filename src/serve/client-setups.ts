// Ready set-up files for package clients: `/repos/<codename>.sources`, `.repo`, `.list`, and `.sh` for each distribution.
import type { IncomingMessage } from 'node:http'
import type { Offered } from '../formats/format.ts'
import type { ListenerId, SetupKeys } from '../formats/serving.ts'
import { socketAddress } from '../kernel/client-address.ts'
import { addressOf } from './public-address.ts'

export interface ClientSetups {
  /**
   * The text for a request path of a listener; null where the path names none.
   * @param url address of the listener without a slash at the end
   */
  find(listener: ListenerId, path: string, url: string): string | null
  /** For each distribution the command that sets a machine up. */
  commands(urls: Record<ListenerId, string>): { offered: Offered; command: string }[]
}

const SETUP_PATH = /^\/repos\/([a-z0-9.-]+)(\.[a-z]+)$/

/**
 * @param active the distributions that are offered
 * @param keysOf the keys; null before they exist, when there are no set-ups yet
 */
export function createClientSetups(active: readonly Offered[], keysOf: () => SetupKeys | null): ClientSetups {
  const byCodename = new Map(active.map((offered) => [offered.distribution.codename, offered]))
  return {
    find(listener, path, url) {
      const [, codename = '', suffix = ''] = SETUP_PATH.exec(path) ?? []
      const offered = byCodename.get(codename)
      if (!offered || offered.format.serving.listener !== listener) return null
      const keys = keysOf()
      if (!keys) return null
      const { file, script } = offered.format.serving.setup({ distribution: offered.distribution, url, keys })
      return suffix === '.sh' ? script : suffix === file.suffix ? file.content : null
    },
    commands(urls) {
      const keys = keysOf()
      if (!keys) return []
      return active.map((offered) => {
        const { distribution, format } = offered
        const url = urls[format.serving.listener]
        const { run } = format.serving.setup({ distribution, url, keys })
        return { offered, command: run(`${url}/repos/${distribution.codename}.sh`) }
      })
    },
  }
}

/**
 * Answers the set-up paths of one listener.
 * @param publicUrl the configured address; null to name the address that each client used
 * @param trusts whether the forwarding headers of a peer are believed
 */
export function createSetupAnswer(
  listener: ListenerId,
  setups: ClientSetups,
  publicUrl: string | null,
  trusts: (address: string) => boolean,
): (request: IncomingMessage) => string | null {
  return ({ url = '', headers, socket }) => {
    const [path = ''] = url.split('?', 1)
    if (!SETUP_PATH.test(path)) return null
    const peer = {
      remoteAddress: socketAddress(socket.remoteAddress),
      localAddress: socketAddress(socket.localAddress),
      localPort: socket.localPort ?? 0,
    }
    return setups.find(listener, path, addressOf(headers, peer, publicUrl, trusts))
  }
}
