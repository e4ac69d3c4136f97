// Opens ports, or free ones in place of those that are unavailable.
import type { Env } from '../../config/env.ts'
import type { Log } from '../../kernel/log.ts'

/** In development a port that is taken or needs root is replaced by a free one. @returns the port in use */
export async function openPort(
  { mode, log }: Pick<Env, 'mode'> & { log: Log },
  name: string,
  port: number,
  listen: (port: number) => Promise<number>,
): Promise<number> {
  try {
    return await listen(port)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (mode === 'production' || (code !== 'EACCES' && code !== 'EADDRINUSE')) throw error
    const free = await listen(0)
    log.warn(`port ${port} for ${name} cannot be had (${code}); using ${free}, because this is development`)
    return free
  }
}
