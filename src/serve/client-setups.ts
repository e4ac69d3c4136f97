// Ready set-up files for package clients: `/repos/<codename>.sources`, `.repo`, `.list`, and `.sh` for each distribution.
import type { IncomingMessage } from 'node:http'
import type { Offered } from '../formats/format.ts'
import type { DistributionSetup, ListenerId, SetupKeys } from '../formats/serving.ts'
import { addressOf, peerOf } from './public-address.ts'

export interface ClientSetups {
  /**
   * The text for a request path of a listener; null for a path without a set-up file.
   * @param url address of the listener without a slash at the end
   */
  find(listener: ListenerId, path: string, url: string, signsIn?: (codename: string) => boolean): string | null
  /**
   * The set-up of one distribution; null where it is not offered, and before the keys exist.
   * @param signsIn whether clients must sign in
   */
  of(codename: string, urls: Record<ListenerId, string>, signsIn?: boolean): DistributionSetup | null
}

const SETUP_PATH = /^\/repos\/([a-z0-9.-]+)(\.[a-z]+)$/

/**
 * @param active the distributions that are offered
 * @param keysOf the keys; null before they exist, when there are no set-ups yet
 */
export function createClientSetups(active: readonly Offered[], keysOf: () => SetupKeys | null): ClientSetups {
  const byCodename = new Map(active.map((offered) => [offered.distribution.codename, offered]))

  function of(codename: string, urls: Record<ListenerId, string>, signsIn = false): DistributionSetup | null {
    const offered = byCodename.get(codename)
    const keys = keysOf()
    if (!offered || !keys) return null
    const { distribution, format } = offered
    const { listener, key } = format.serving
    const url = urls[listener]
    const { file, credentials, script, run, install } = format.serving.setup({ distribution, url, keys, signsIn })
    const at = (suffix: string) => `${url}/repos/${codename}${suffix}`
    return {
      url,
      keyUrl: `${url}${key.prefix}`,
      file: { url: at(file.suffix), installAs: file.installAs, content: file.content },
      credentials,
      script: { url: at('.sh'), content: script },
      command: run(at('.sh')),
      install,
    }
  }

  return {
    find(listener, path, url, signsIn = () => false) {
      const [, codename = '', suffix = ''] = SETUP_PATH.exec(path) ?? []
      const offered = byCodename.get(codename)
      if (!offered || offered.format.serving.listener !== listener) return null
      const keys = keysOf()
      if (!keys) return null
      const { distribution, format } = offered
      const { file, script } = format.serving.setup({ distribution, url, keys, signsIn: signsIn(codename) })
      return suffix === '.sh' ? script : suffix === file.suffix ? file.content : null
    },
    of,
  }
}

/** The codename in the path of a set-up file; null for other paths. Its answer reads the keys and the settings. */
export function setupCodename(url: string): string | null {
  return SETUP_PATH.exec(url.split('?', 1)[0] ?? '')?.[1] ?? null
}

/**
 * Answers the set-up paths of one listener.
 * @param publicUrl the configured address, if any; null to use the address that each client used
 * @param trusts whether the forwarding headers of a peer are trusted
 * @param signsIn whether clients of a distribution must sign in
 */
export function createSetupAnswer(
  listener: ListenerId,
  setups: ClientSetups,
  publicUrl: () => string | null,
  trusts: (address: string) => boolean,
  signsIn: (codename: string) => boolean = () => false,
): (request: IncomingMessage) => string | null {
  return ({ url = '', headers, socket }) => {
    if (setupCodename(url) === null) return null
    const [path = ''] = url.split('?', 1)
    return setups.find(listener, path, addressOf(headers, peerOf(socket), publicUrl(), trusts), signsIn)
  }
}
