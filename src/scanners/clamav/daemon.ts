// Who answers at the address: PING and VERSION. Knows nothing of streams.
import { readVersion, type EngineVersion } from './answer.ts'
import { openConnection, unavailable, type ClamavAddress, type ClamavLimits, type End } from './connection.ts'

/** Sends one command and takes its first answer. */
async function command(
  address: ClamavAddress,
  limits: ClamavLimits,
  signal: AbortSignal,
  name: string,
): Promise<string> {
  let settle: (answer: string | End) => void = () => {}
  const settled = new Promise<string | End>((resolve) => (settle = resolve))
  const connection = await openConnection(address, { ...limits, idleMs: limits.connectMs }, signal, {
    onAnswer: settle,
    onEnd: settle,
  })
  try {
    await connection.send(Buffer.from(`z${name}\0`))
    const answer = await settled
    if (typeof answer === 'string') return answer
    throw unavailable(`The antivirus engine did not answer ${name}.`, answer.cause)
  } finally {
    connection.close()
  }
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
