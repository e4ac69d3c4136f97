// The listeners that package clients use. They read files and need no database, so separate processes can run them.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ListenerEnv } from '../../config/env.ts'
import { REPO_FORMAT_WORDS } from '../../config/repo-format.ts'
import { formatOf, formats, switchedOn } from '../../formats/index.ts'
import type { ListenerId, SetupKeys } from '../../formats/serving.ts'
import { createClientAddress, createTrust } from '../../kernel/client-address.ts'
import type { Clock } from '../../kernel/clock.ts'
import { isMissing } from '../../kernel/files.ts'
import type { Log } from '../../kernel/log.ts'
import { createKnownAccess } from '../../serve/access/known-access.ts'
import { createAccessLog } from '../../serve/access-log.ts'
import { createClientSetups, createSetupAnswer } from '../../serve/client-setups.ts'
import { mountsOf } from '../../serve/mounts.ts'
import type { OwnReport } from '../../serve/own-report.ts'
import type { PairTurns } from '../../serve/pair-turns.ts'
import { createRepositoryListener, DEFAULT_MEMORY } from '../../serve/repository-listener.ts'
import { ACCESS_KEY_NAME, APK_KEY_NAME } from '../../publish/signing/key-names.ts'
import { createPaths, type Paths } from '../../store/paths.ts'
import { readDeclared } from './declared.ts'
import { checkStore } from '../../store/objects/ownership.ts'
import { openObjectStore } from './object-store.ts'
import { openPort } from './ports.ts'
import { readPublicUrls } from './public-addresses.ts'

export interface RepositoryPorts {
  apt: number
  rpm: number
}

export interface RepositoryListeners {
  /** @returns the ports in use */
  listen(): Promise<RepositoryPorts>
  /** Accepts nothing new and gives open transfers at most `deadlineMs`. */
  close(deadlineMs: number): Promise<void>
}

export interface RepositoryListenersDeps {
  env: ListenerEnv
  clock: Clock
  log: Log
  report: OwnReport
  /** shared by all processes that listen on the same ports; without it this is the only one */
  pairTurns?: PairTurns
}

/** Every process caches files in memory; the more processes, the less each caches. */
const LEAST_MEMORY_BYTES = 16 * 1024 * 1024

export async function createRepositoryListeners({
  env,
  clock,
  log,
  report,
  pairTurns,
}: RepositoryListenersDeps): Promise<RepositoryListeners> {
  const paths = createPaths(env.reposDir)
  const activeFormats = switchedOn(REPO_FORMAT_WORDS[env.repoFormat])
  const offered = (await readDeclared(env))
    .filter(({ format }) => activeFormats.some(({ id }) => id === format))
    .map((distribution) => ({ distribution, format: formatOf(distribution.format) }))
  const setups = createClientSetups(offered, () => readKeys(paths))
  const trusts = createTrust(env.trustedProxies)
  const clientAddress = createClientAddress(env.trustedProxies)
  const totalBytes = Math.max(LEAST_MEMORY_BYTES, DEFAULT_MEMORY.totalBytes / env.serveProcesses)
  const store = await openObjectStore(env, log)
  await checkStore(paths, store)
  const known = createKnownAccess({
    ...{ directory: paths.access, keyPath: join(paths.keys, ACCESS_KEY_NAME), clock, log },
    hours: env.accessFactsHours,
  })
  const signIn = {
    known,
    declared: new Set(offered.map(({ distribution }) => distribution.codename)),
    certificateHeader: env.clientCertificateHeader,
    trusts,
  }
  const repository = (id: ListenerId) =>
    createRepositoryListener({
      reposDir: paths.root,
      mounts: mountsOf(id, formats, activeFormats),
      clock,
      log,
      clientAddress,
      accessLog: createAccessLog({
        ...{ clock, log, mostBytes: env.accessLogMb * 1024 * 1024 },
        path: join(env.accessLogDir, `access-${id}.log`),
      }),
      setup: createSetupAnswer(id, setups, () => readPublicUrls(env, paths.settings)[id], trusts, known.isPrivate),
      pairTurns,
      signIn,
      traffic: report.traffic(id),
      objects: store && { store, redirects: env.poolRedirect },
      memory: { ...DEFAULT_MEMORY, totalBytes },
    })
  const apt = repository('apt')
  const rpm = repository('rpm')
  return {
    async listen() {
      await known.start()
      const open = (name: string, port: number, listener: typeof apt) =>
        openPort({ mode: env.mode, log }, name, port, (port) => listener.listen(port, env.bindHost))
      return {
        apt: await open('apt and apk', env.aptPort, apt),
        rpm: await open('dnf and zypper', env.rpmRepoPort, rpm),
      }
    },
    async close(deadlineMs) {
      known.stop()
      await Promise.all([apt.close(deadlineMs), rpm.close(deadlineMs)])
      store?.close()
    },
  }
}

/** The public keys, which the first start of the service creates; null before. */
function readKeys({ keys }: Paths): SetupKeys | null {
  try {
    const read = (name: string) => readFileSync(join(keys, name), 'utf8')
    return { openpgpArmored: read('gpg.key'), apk: { name: APK_KEY_NAME, pem: read(APK_KEY_NAME) } }
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}
