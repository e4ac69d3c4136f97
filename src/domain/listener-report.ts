// What the processes that serve repositories report about themselves, for the metrics of the API.
/** The counts of one port since the start of the process. */
export interface PortReport {
  /** by class of status: `2xx` */
  requests: Readonly<Record<string, number>>
  sentBytes: number
  /** requests that are being answered now */
  transfers: number
  /** requests refused because of a limit */
  refused: number
}

/** The report of a process that serves repositories. */
export interface ListenerReport {
  /** by the name of the port */
  ports: Readonly<Record<string, PortReport>>
  /** the longest time, in seconds, that the event loop was held since the last report */
  loopLagSeconds: number
  uptimeSeconds: number
  /** by kind, in bytes */
  memory: Readonly<Record<string, number>>
  /** null if the system does not report it */
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
