// The namespace in which a process number is unique.
import { readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

/** Identifies the process namespace: containers with the same host name number their processes separately. */
export function processSpace(): string {
  try {
    return `${hostname()} ${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    return hostname()
  }
}
