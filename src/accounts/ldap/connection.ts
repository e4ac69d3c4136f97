// A connection to the LDAP directory: encrypted as the settings say, bounded in time and bytes.
import { readFile } from 'node:fs/promises'
import { connect, isIP, type Socket } from 'node:net'
import { connect as connectSecurely } from 'node:tls'
import { Client } from 'ldapts'
import type { Settings } from '../../domain/settings.ts'

export type LdapSettings = Settings['ldap']

const CONNECT_MS = 5_000
/** Bytes that one connection reads: 5,000 groups with names of 400 bytes. ldapts joins all pieces of a message again for each. */
const MOST_BYTES = 2 * 1024 * 1024

/**
 * Runs `work` with a connection on which the service account is bound.
 * @param answerMs time limit of one answer
 */
export async function connected<T>(
  ldap: LdapSettings,
  answerMs: number,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const tlsOptions = await tlsOptionsOf(ldap)
  const client = new Client({
    url: urlOf(ldap),
    connectTimeout: CONNECT_MS,
    timeout: answerMs,
    createConnection: bounded(connect),
    createSecureConnection: bounded(connectSecurely),
    ...(ldap.use_ssl ? { tlsOptions } : {}),
  })
  try {
    if (ldap.use_starttls && !ldap.use_ssl) await client.startTLS(tlsOptions)
    if (ldap.bind_dn !== '') await client.bind(ldap.bind_dn, ldap.bind_password)
    return await work(client)
  } finally {
    // The socket is closed also when the directory does not answer any more.
    await client.unbind().catch(() => {})
  }
}

/** A directory may announce a message of 2 GB, or send entries without end. @returns `open` with sockets that end at the limit */
function bounded<Open extends (...to: never[]) => Socket>(open: Open): Open {
  const opened = (...to: never[]) => {
    const socket = open(...to)
    let bytes = 0
    return socket.on('data', (piece: Buffer) => {
      bytes += piece.length
      if (bytes > MOST_BYTES) socket.destroy(new Error(`the directory sent more than ${MOST_BYTES} bytes`))
    })
  }
  return opened as Open
}

function urlOf({ host, port, use_ssl }: LdapSettings): string {
  const name = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host
  return `${use_ssl ? 'ldaps' : 'ldap'}://${name}:${port}`
}

async function tlsOptionsOf({ host, ca_bundle_path, verify_cert, use_ssl, use_starttls }: LdapSettings) {
  if (!use_ssl && !use_starttls) return {}
  const plain = host.replace(/^\[|\]$/g, '')
  return {
    minVersion: 'TLSv1.2' as const,
    rejectUnauthorized: verify_cert,
    host: plain,
    ...(isIP(plain) ? {} : { servername: plain }),
    ...(ca_bundle_path === '' ? {} : { ca: await readFile(ca_bundle_path) }),
  }
}
