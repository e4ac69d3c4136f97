// Which addresses outbound requests reach. Names are checked when a connection resolves them, literal addresses before.
import { lookup, type LookupAddress, type LookupOptions } from 'node:dns'
import { Agent, EnvHttpProxyAgent, type Dispatcher } from 'undici'
import { isForbidden, isForbiddenHost } from './forbidden-addresses.ts'
import { forbidden } from './http-error.ts'

export interface AddressGuardOptions {
  /** allows loopback and private addresses; link-local and metadata addresses are always refused */
  allowPrivate: boolean
  /** names and addresses that are allowed although they are private */
  allowedHosts?: readonly string[]
  /** used for http and https, except for the hosts in `except` (syntax of `NO_PROXY`); it resolves the names */
  proxy?: { http: string | null; https: string | null; except: string | null }
}

export interface AddressGuard {
  /** refuses to connect to a name with a forbidden address */
  dispatcher: Dispatcher
  /** Checks a literal address, because it is never resolved. @throws HttpError */
  check(url: URL): void
}

export function createAddressGuard(options: AddressGuardOptions): AddressGuard {
  const { allowedHosts = [], proxy } = options
  const mayBePrivate = (host: string) => options.allowPrivate || allowedHosts.includes(host.toLowerCase())

  const guarded = (
    host: string,
    asked: LookupOptions,
    done: (error: Error | null, address: string | LookupAddress[], family?: number) => void,
  ): void => {
    lookup(host, { ...asked, all: true }, (error, addresses) => {
      if (error) {
        done(error, [])
        return
      }
      // A forbidden address among allowed ones is an attack on this check, so the name is refused.
      if (addresses.some(({ address }) => isForbidden(address, mayBePrivate(host)))) {
        done(forbidden(host), [])
        return
      }
      if (asked.all) {
        done(null, addresses)
        return
      }
      done(null, addresses[0]?.address ?? '', addresses[0]?.family ?? 4)
    })
  }
  const connect = { lookup: guarded as never, timeout: 10_000 }
  // A second protocol would be a second parser of untrusted data; apt, dnf and apk also use HTTP/1.1.
  const allowH2 = false
  const dispatcher: Dispatcher =
    proxy?.http || proxy?.https
      ? new EnvHttpProxyAgent({
          ...{ connect, allowH2 },
          noProxy: proxy.except ?? '',
          ...(proxy.http ? { httpProxy: proxy.http } : {}),
          ...(proxy.https ? { httpsProxy: proxy.https } : {}),
        })
      : new Agent({ connect, allowH2 })

  return {
    dispatcher,
    check(url) {
      if (url.protocol !== 'http:' && url.protocol !== 'https:') throw forbidden(url.href)
      const host = url.hostname.replace(/^\[|\]$/g, '')
      if (isForbiddenHost(host, mayBePrivate(host))) throw forbidden(host)
    },
  }
}
