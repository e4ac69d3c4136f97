// The manual page and the page of the documentation, made from the table of commands.
import { GLOBAL_FLAGS, shown, type Command } from './command.ts'
import { EXIT_TEXTS } from './exits.ts'
import { argumentUsage, flagUsage, summaryOf } from './parser.ts'

export const VARIABLES: [string, string][] = [
  ['GATEHOUSE_URL', 'address of the service'],
  ['GATEHOUSE_TOKEN', 'API token; there is no flag for it, because flags end in logs'],
  ['GATEHOUSE_PROFILE', 'which sign-in of the configuration'],
  ['GATEHOUSE_ID_TOKEN', 'ID token of a CI job, exchanged where there is no other sign-in; GitHub gives one by itself'],
  ['GATEHOUSE_AUDIENCE', 'who ID tokens are for; by default the address of the service'],
  ['HTTPS_PROXY, HTTP_PROXY, NO_PROXY', 'proxies, and the hosts that are reached without one'],
  ['XDG_CONFIG_HOME', 'where gatehouse/config.json is; ~/.config by default'],
  ['NO_COLOR', 'no colours'],
]

export function usageLine(command: Command): string {
  const given = shown(command.arguments).map((one) => argumentUsage(one))
  const needed = shown(command.flags)
    .filter(({ required }) => required)
    .map((flag) => `--${flag.name} <${flag.value ?? ''}>`)
  return ['gatehouse', command.name, ...given, ...needed].join(' ')
}

/** Escapes text for a manual page: dots and quotes at the start of a line, and backslashes, have a meaning (groff_man(7)). */
function roff(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/[^ -~\n]/gu, (one) => `\\[u${(one.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}]`)
    .split('\n')
    .map((line) => line.replace(/^([.'])/, '\\&$1'))
    .join('\n')
}

export function manualPage(table: readonly Command[], version: string): string {
  const tagged = (items: readonly (readonly [string, string])[]) =>
    items.flatMap(([term, text]) => ['.TP', `.B ${roff(term)}`, roff(text)])
  const lines = [
    `.TH GATEHOUSE 1 "" "gatehouse ${version}" "User Commands"`,
    '.SH NAME',
    'gatehouse \\- uploads packages to a Gatehouse and looks after what is in it',
    ...['.SH SYNOPSIS', '.B gatehouse', '.I COMMAND', '[\\fIARGUMENT\\fR...] [\\fIFLAG\\fR...]'],
    '.SH COMMANDS',
    ...shown(table).flatMap((command) => [
      `.SS ${roff(usageLine(command).slice('gatehouse '.length))}`,
      roff(command.details ? `${command.summary}.\n${command.details}` : `${command.summary}.`),
      ...tagged(shown(command.arguments).map((one) => [one.name, one.summary] as const)),
      ...tagged(shown(command.flags).map((flag) => [flagUsage(flag), summaryOf(flag)] as const)),
      ...(command.examples ?? []).flatMap(([what, line]) => [
        '.PP',
        `${roff(what)}:`,
        '.RS',
        '.EX',
        roff(`gatehouse ${line}`),
        '.EE',
        '.RE',
      ]),
    ]),
    ...['.SH FLAGS OF EVERY COMMAND', ...tagged(GLOBAL_FLAGS.map((flag) => [flagUsage(flag), flag.summary] as const))],
    ...['.SH EXIT STATUS', ...tagged(EXIT_TEXTS.map(([code, text]) => [String(code), text] as const))],
    ...['.SH ENVIRONMENT', ...tagged(VARIABLES)],
    ...[
      '.SH FILES',
      ...tagged([['$XDG_CONFIG_HOME/gatehouse/config.json', 'sign-ins; mode 0600, refused when others can read it']]),
    ],
  ]
  return `${lines.join('\n')}\n`
}

const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll('<', '&lt;')

/** The part of docs/cli.md that is made from the table. */
export function reference(table: readonly Command[]): string {
  const sections = shown(table).map((command) => {
    const rows = [
      ...shown(command.arguments).map((one) => [one.name, one.summary]),
      ...shown(command.flags).map((flag) => [flagUsage(flag), summaryOf(flag)]),
    ]
    return [
      `### ${command.name}`,
      `${command.summary}.${command.details ? ` ${command.details}` : ''}`,
      `    ${usageLine(command)}`,
      ...(rows.length > 0
        ? [
            [
              '| | |',
              '|---|---|',
              ...rows.map(([term = '', text = '']) => `| \`${term.replaceAll('|', '\\|')}\` | ${cell(text)} |`),
            ].join('\n'),
          ]
        : []),
      ...(command.examples
        ? [command.examples.map(([what, line]) => `    # ${what}\n    gatehouse ${line}`).join('\n')]
        : []),
    ].join('\n\n')
  })
  const list = (items: readonly (readonly [string | number, string])[]) =>
    items.map(([term, text]) => `| \`${term}\` | ${cell(text)} |`).join('\n')
  return `## Flags of every command

| | |
|---|---|
${list(GLOBAL_FLAGS.map((flag) => [flagUsage(flag), flag.summary] as const))}

## Exit codes

| Code | Meaning |
|---|---|
${list(EXIT_TEXTS)}

Of several files all are tried, and the gravest decides: 4, 3, 2, 6, 1, 5.

## Environment

| Variable | Meaning |
|---|---|
${list(VARIABLES)}

## Commands

${sections.join('\n\n')}
`
}
