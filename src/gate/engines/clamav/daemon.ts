// Whether clamd answers, and in which version: PING and VERSION.
import { readVersion, type EngineVersion } from './answer.ts'
import { openConnection, unavailable, type ClamavAddress, type ClamavLimits, type End } from './connection.ts'

/**
 * Sends a request. Returns the first answer or, if none came, how the connection ended.
 * @param options.hangUp half-closes the connection, so that the daemon ends an unfinished request immediately
 * @throws Problem('scanner_unavailable') when the address does not answer
 */
export async function firstAnswer(
  address: ClamavAddress,
  limits: ClamavLimits,
  signal: AbortSignal,
  request: Uint8Array[],
  options: { hangUp?: boolean } = {},
): Promise<string | End> {
  let settle: (answer: string | End) => void = () => {}
  const settled = new Promise<string | End>((resolve) => (settle = resolve))
  const brief = { ...limits, idleMs: limits.connectMs }
  const connection = await openConnection(address, brief, signal, { onAnswer: settle, onEnd: settle })
  try {
    await connection.send(...request)
    if (options.hangUp) connection.finish()
    return await settled
  } finally {
    connection.close()
  }
}

async function command(
  address: ClamavAddress,
  limits: ClamavLimits,
  signal: AbortSignal,
  name: string,
): Promise<string> {
  const answer = await firstAnswer(address, limits, signal, [Buffer.from(`z${name}\0`)])
  if (typeof answer === 'string') return answer
  throw unavailable(`the antivirus engine did not answer ${name}`, answer.cause)
}

/** Whether something at the address answers a PING as clamd does. */
export async function isAlive(address: ClamavAddress, limits: ClamavLimits, signal: AbortSignal): Promise<boolean> {
  return command(address, limits, signal, 'PING').then(
    (answer) => answer === 'PONG',
    () => false,
  )
}

/**
 * The engine's version; null when the daemon works but does not report it (EnableVersionCommand no).
 * @throws Problem('scanner_unavailable')
 */
export async function askVersion(
  address: ClamavAddress,
  limits: ClamavLimits,
  signal: AbortSignal,
): Promise<EngineVersion | null> {
  const answer = await command(address, limits, signal, 'PING')
  if (answer !== 'PONG') throw unavailable('the service at the antivirus address is not clamd')
  return readVersion(await command(address, limits, signal, 'VERSION'))
}
