// Which answer a request to a repository listener gets: a set-up, a published file, an object or a refusal.
import type { IncomingMessage } from 'node:http'
import { after } from '../kernel/at-once.ts'
import { socketAddress } from '../kernel/client-address.ts'
import type { Clock } from '../kernel/clock.ts'
import type { AccessCheck, Refusal } from './access/access-check.ts'
import { hasTwoHosts } from '../kernel/connections.ts'
import type { Reader } from './access/known-access.ts'
import { setupCodename } from './client-setups.ts'
import {
  answerWithContent,
  answerWithFile,
  answerWithNothing,
  answerWithText,
  refuse,
  type Exchange,
} from './files/answers.ts'
import type { Representation } from './files/representation.ts'
import type { Mount } from './mounts.ts'
import type { ObjectAnswers } from './object-answers.ts'
import type { PublishedTree } from './published-tree.ts'
import type { Representations } from './representations.ts'
import { locate, type Admission, type Located, type Refused } from './request-path.ts'
import type { SignedPairs } from './signed-pairs.ts'

export interface RepositoryAnswersDeps {
  mounts: readonly Mount[]
  clock: Clock
  tree: PublishedTree
  representations: Representations
  pairs: SignedPairs
  access: AccessCheck
  /** null where packages are on the disk */
  objects: ObjectAnswers | null
  setup(request: IncomingMessage): string | null
}

/** @returns a function that answers one request; it throws or rejects for a failure that has no answer yet */
export function createRepositoryAnswers(deps: RepositoryAnswersDeps): (exchange: Exchange) => Promise<void> | void {
  const { mounts, clock, tree, representations, pairs, access, objects, setup } = deps

  /** Synchronous for files in memory, which are nearly all requests: a promise for each request has a measurable cost. */
  const answer = (exchange: Exchange): Promise<void> | void => {
    const { method, url = '' } = exchange.request
    if (hasTwoHosts(exchange.request)) {
      refuse(exchange, 400, ['Connection', 'close'])
      return
    }
    if (method !== 'GET' && method !== 'HEAD') {
      refuse(exchange, 405, ['Allow', 'GET, HEAD'])
      return
    }
    const reader = access.readerOf(exchange.request)
    exchange.reader = reader?.name
    if (url === ACCESS_PATH) return answerAccess(exchange, reader)
    const wanted = wantedBy(url)
    return after(admission(exchange, reader, wanted), (admitted) => {
      if (isRefusal(admitted)) {
        refuse(exchange, admitted.status, admitted.headers)
        return
      }
      // A set-up is read synchronously, so it must not be read from a stalled file system.
      return wanted.codename === null
        ? answerPublished(exchange, wanted.file, admitted)
        : after(tree.isThere(), () => answerSetup(exchange, wanted.file, admitted))
    })
  }

  const wantedBy = (url: string): Wanted => ({ file: locate(url, mounts), codename: setupCodename(url) })

  const admission = (exchange: Exchange, reader: Reader | null, { file, codename }: Wanted) => {
    const isKey = typeof file !== 'string' && file.mount.format === null
    return access.admit(exchange.request, reader, typeof file === 'string' ? null : file, isKey ? null : codename)
  }

  /** Tells a proxy that sends files itself whether the client may have one (nginx: `auth_request`). */
  const answerAccess = (exchange: Exchange, reader: Reader | null): Promise<void> | void => {
    const asked = exchange.request.headers['x-original-uri']
    const wanted = wantedBy(typeof asked === 'string' ? asked : '')
    if (typeof wanted.file === 'string') {
      refuse(exchange, REFUSALS[wanted.file])
      return
    }
    return after(admission(exchange, reader, wanted), (admitted) =>
      isRefusal(admitted)
        ? refuse(exchange, admitted.status, admitted.headers)
        : answerWithNothing(exchange, [
            ...['X-Gatehouse-Cache', typeof admitted?.place === 'string' ? 'private' : 'public'],
            ...(reader ? ['X-Gatehouse-Reader', reader.name] : []),
          ]),
    )
  }

  const answerSetup = (exchange: Exchange, file: Located | Refused, admitted?: Admission): Promise<void> | void => {
    const text = setup(exchange.request)
    if (text === null) return answerPublished(exchange, file, admitted)
    answerWithText(exchange, text, SETUP_HEADERS)
  }

  const answerPublished = (exchange: Exchange, file: Located | Refused, admitted?: Admission): Promise<void> | void => {
    if (typeof file === 'string') {
      refuse(exchange, REFUSALS[file])
      return
    }
    const located = admitted ? { ...file, admission: admitted } : file
    const placed = located.mount.format?.serving.signedPair
      ? pairs.place(located, exchange.request.method ?? '', () => clientOf(exchange.request))
      : located
    return after(placed, (found) => answerFrom(exchange, found))
  }

  const answerFrom = (exchange: Exchange, file: Located): Promise<void> | void => {
    const observedMs = clock.now().getTime()
    const found = representations.find(file, observedMs)
    if (found && !(found instanceof Promise)) return answerWithFile(exchange, found, observedMs)
    return answerLater(exchange, file, found, observedMs)
  }

  const answerLater = async (
    exchange: Exchange,
    file: Located,
    found: Promise<Representation | null> | null,
    observedMs: number,
  ): Promise<void> => {
    const shown = await found
    if (shown) return answerWithFile(exchange, shown, observedMs)
    const object = objects ? await tree.object(file) : null
    if (objects && object) return objects(exchange, file, object, observedMs)
    const substitute = file.mount.format?.serving.substitute?.(file.path)
    const instead = substitute ? await representations.find({ ...file, path: substitute.path }, observedMs) : null
    if (!instead) {
      refuse(exchange, 404)
      return
    }
    return substitute?.gunzip
      ? answerWithContent(exchange, instead, observedMs)
      : answerWithFile(exchange, instead, observedMs)
  }

  return answer
}

/** What a request asks for. */
interface Wanted {
  file: Located | Refused
  /** of the distribution whose set-up it may be */
  codename: string | null
}

/** Where a proxy asks about the request that it names in `X-Original-URI`. */
export const ACCESS_PATH = '/gatehouse/access'

const isRefusal = (admitted: Admission | Refusal | undefined): admitted is Refusal =>
  admitted !== undefined && 'status' in admitted

/** The text depends on the address that the client used. */
const SETUP_HEADERS = ['Cache-Control', 'no-store', 'Vary', 'Host, X-Forwarded-Host, X-Forwarded-Proto']

const REFUSALS: Readonly<Record<Refused, number>> = { not_found: 404, malformed: 400, too_long: 414 }

/** Best effort: clients open a connection for each file, and clients behind a proxy share its address. */
function clientOf({ socket, headers }: IncomingMessage): string {
  const said = [headers['user-agent'], headers['x-forwarded-for']].map((value) => String(value ?? '').slice(0, 200))
  return [socketAddress(socket.remoteAddress), ...said].join(' ')
}
