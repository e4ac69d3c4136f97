// How the clients of npm are set up.
import type { ClientSnippet } from '../registry-format.ts'

/** A token in the environment stays out of files that are committed. */
const TOKEN = '${GATEHOUSE_TOKEN}'

export function setup(address: string, isPublic: boolean): ClientSnippet[] {
  const withoutScheme = address.replace(/^https?:/, '')
  const npmrc = [`registry=${address}`, ...(isPublic ? [] : [`${withoutScheme}:_authToken=${TOKEN}`])]
  const yarn = [
    `npmRegistryServer: "${address}"`,
    ...(isPublic ? [] : [`npmAuthToken: "${TOKEN}"`, 'npmAlwaysAuth: true']),
    ...(address.startsWith('http:') ? ['unsafeHttpWhitelist:', `  - "${new URL(address).hostname}"`] : []),
  ]
  return [
    { client: 'npm, pnpm, bun', into: '.npmrc', text: `${npmrc.join('\n')}\n` },
    { client: 'yarn 4', into: '.yarnrc.yml', text: `${yarn.join('\n')}\n` },
    // It sends the token with no other request than a publish otherwise.
    {
      client: 'yarn 1',
      into: '.npmrc',
      text: `${[...npmrc, ...(isPublic ? [] : ['always-auth=true'])].join('\n')}\n`,
    },
    { client: 'npm login', into: 'sh', text: `npm login --auth-type=legacy --registry=${address}\n` },
  ]
}
