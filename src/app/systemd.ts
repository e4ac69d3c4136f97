// How systemd learns that the service is ready (Type=notify in deploy/systemd).
import { execFile } from 'node:child_process'
import type { Log } from '../kernel/log.ts'

/**
 * Does nothing when systemd did not start this process. Uses the program that systemd brings, because Node has no datagram
 * sockets with names.
 */
export function tellSystemd(socket: string | undefined, log: Log): void {
  if (!socket) return
  execFile('systemd-notify', ['--ready'], (error) => {
    if (error) log.error({ err: error }, 'systemd was not told that the service is ready')
  })
}
