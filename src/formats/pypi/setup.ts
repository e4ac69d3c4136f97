// How clients of Python packages are set up for a repository.
import type { ClientSnippet } from '../registry-format.ts'

/** The user name of people who have a token; any other works too. */
const USER = '__token__'

export function setup(address: string, isPublic: boolean): ClientSnippet[] {
  const simple = `${address}simple/`
  const read = isPublic ? simple : simple.replace('://', `://${USER}:TOKEN@`)
  return [
    { client: 'pip', into: '~/.config/pip/pip.conf', text: `[global]\nindex-url = ${read}\n` },
    {
      client: 'uv',
      into: 'uv.toml',
      text: `[[index]]\nname = "gatehouse"\nurl = "${read}"\npublish-url = "${address}legacy/"\ndefault = true\n`,
    },
    {
      client: 'poetry',
      into: 'sh',
      text: [
        `poetry source add --priority=primary gatehouse ${simple}`,
        ...(isPublic ? [] : [`poetry config http-basic.gatehouse ${USER} TOKEN`]),
        '',
      ].join('\n'),
    },
    {
      client: 'twine',
      into: '~/.pypirc',
      text: [
        ...['[distutils]', 'index-servers = gatehouse', '', '[gatehouse]'],
        ...[`repository = ${address}legacy/`, `username = ${USER}`, 'password = TOKEN', ''],
      ].join('\n'),
    },
  ]
}
