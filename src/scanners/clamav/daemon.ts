// Who answers at the address: PING and VERSION. Knows nothing of streams.
import { readVersion, type EngineVersion } from './answer.ts'
import { openConnection, unavailable, type ClamavAddress, type ClamavLimits, type End } from './connection.ts'

/**
 * Sends a request and takes the first answer; how the connection ended where none came.
 * @param options.hangUp tells the daemon that no more will follow, so that it ends an unfinished request at once
 * @throws Problem('scanner_unavailable') when nobody is there
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
  throw unavailable(`The antivirus engine did not answer ${name}.`, answer.cause)
}

/** Whether something at the address answers a PING as clamd does. */
export async function isAlive(address: ClamavAddress, limits: ClamavLimits, signal: AbortSignal): Promise<boolean> {
  return command(address, limits, signal, 'PING').then(
    (answer) => answer === 'PONG',
    () => false,
  )
}

/**
 * The version in force; null where the daemon is well but keeps it to itself (EnableVersionCommand no).
 * @throws Problem('scanner_unavailable')
 */
export async function askVersion(
  address: ClamavAddress,
  limits: ClamavLimits,
  signal: AbortSignal,
): Promise<EngineVersion | null> {
  const answer = await command(address, limits, signal, 'PING')
  if (answer !== 'PONG') throw unavailable('What answers at the antivirus address is not an antivirus engine.')
  return readVersion(await command(address, limits, signal, 'VERSION'))
}
