// How the clients of npm are set up.
import type { ClientSnippet } from '../registry-format.ts'

/** A token in the environment stays out of files that are committed. */
const TOKEN = '${GATEHOUSE_TOKEN}'

/** `.npmrc` is read by npm, pnpm, yarn 1 and bun. */
export function setup(address: string, isPublic: boolean): ClientSnippet[] {
  const withoutScheme = address.replace(/^https?:/, '')
  const npmrc = [`registry=${address}`, ...(isPublic ? [] : [`${withoutScheme}:_authToken=${TOKEN}`])]
  const yarn = [
    `npmRegistryServer: "${address}"`,
    ...(isPublic ? [] : [`npmAuthToken: "${TOKEN}"`, 'npmAlwaysAuth: true']),
    ...(address.startsWith('http:') ? ['unsafeHttpWhitelist:', `  - "${new URL(address).hostname}"`] : []),
  ]
  return [
    { client: 'npm, pnpm, yarn 1, bun', into: '.npmrc', text: `${npmrc.join('\n')}\n` },
    { client: 'yarn 4', into: '.yarnrc.yml', text: `${yarn.join('\n')}\n` },
    { client: 'npm login', into: 'sh', text: `npm login --auth-type=legacy --registry=${address}\n` },
  ]
}
