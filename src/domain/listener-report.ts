// What the processes that serve repositories report of themselves, for the metrics of the API.
/** What was counted at one port since the start of the process. */
export interface PortReport {
  /** by class of status: `2xx` */
  requests: Readonly<Record<string, number>>
  sentBytes: number
  /** requests that are being answered now */
  transfers: number
  /** requests refused because of a limit */
  refused: number
}

/** What a process that serves repositories says of itself. */
export interface ListenerReport {
  /** by the name of the port */
  ports: Readonly<Record<string, PortReport>>
  /** the longest time, in seconds, that the event loop was held since the last report */
  loopLagSeconds: number
  uptimeSeconds: number
  /** by kind, in bytes */
  memory: Readonly<Record<string, number>>
  /** null where the system does not tell */
  openFiles: number | null
}

/** One of the processes that serve repositories, as its parent knows it. */
export interface KnownListener {
  /** from 1 */
  number: number
  /** how often it ended by itself and was started again */
  restarts: number
  /** null when it does not run, or does not answer */
  report: ListenerReport | null
}
