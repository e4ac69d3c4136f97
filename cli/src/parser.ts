// Builds the parser from the table of commands.
import { Argument as ParserArgument, Command as Parser, CommanderError, Option } from 'commander'
import { GLOBAL_FLAGS, shown, type Argument, type Command, type Flag } from './command.ts'
import { EXIT_TEXTS } from './exits.ts'
import { GROUPS } from './groups.ts'

export interface Parsed {
  command: Command
  values: Record<string, unknown>
}

export interface ParserOutput {
  out(text: string): void
  err(text: string): void
}

/** The text for a flag in help, manual and documentation. */
export const summaryOf = ({ summary, required }: Flag): string => (required ? `${summary} (required)` : summary)

/** How a flag is written in help: `-d, --distribution <CODENAME>`. */
export function flagUsage({ name, short, value, bare }: Flag): string {
  const long = `--${name}${value === undefined ? '' : bare === undefined ? ` <${value}>` : `[=${value}]`}`
  return short ? `-${short}, ${long}` : long
}

/** How an argument is written in help: `<FILE...>`. */
export function argumentUsage({ name, optional, many }: Argument): string {
  const text = `${name}${many ? '...' : ''}`
  return optional ? `[${text}]` : `<${text}>`
}

/**
 * @returns the command to run; null when help or the version was printed
 * @throws CommanderError for wrong usage; its sentence is already printed
 */
export function parse(
  argv: readonly string[],
  table: readonly Command[],
  version: string,
  output: ParserOutput,
): Parsed | null {
  let parsed: Parsed | null = null
  const program = prepared(new Parser('gatehouse'), output)
    .description('Uploads packages to a Gatehouse and looks after what is in it.')
    .version(version, '--version', 'the version of this command')
    .addHelpText(
      'after',
      `\nExit codes:\n${EXIT_TEXTS.map(([code, text]) => `  ${String(code).padEnd(4)} ${text}`).join('\n')}\n\nBegin with \`gatehouse login\`. \`gatehouse help COMMAND\` explains one command.`,
    )
  for (const flag of GLOBAL_FLAGS) program.addOption(optionOf(flag))
  const groups = new Map<string, Parser>()
  for (const command of table) {
    const words = command.name.split(' ')
    const last = words.pop() ?? ''
    const [group] = words
    if (group !== undefined && !groups.has(group)) {
      const made = prepared(program.command(group), output).description(GROUPS[group] ?? '')
      groups.set(group, made)
    }
    const parent = group === undefined ? program : (groups.get(group) ?? program)
    const one = prepared(parent.command(last, { hidden: command.hidden ?? false }), output)
      .summary(command.summary)
      .description(command.details ? `${command.summary}\n\n${command.details}` : command.summary)
    for (const argument of command.arguments ?? []) one.addArgument(argumentOf(argument))
    one.usage(['[options]', ...shown(command.arguments).map(argumentUsage)].join(' '))
    for (const flag of command.flags ?? []) one.addOption(optionOf(flag))
    if (command.examples)
      one.addHelpText(
        'after',
        `\nExamples:\n${command.examples.map(([what, line]) => `  # ${what}\n  gatehouse ${line}`).join('\n')}`,
      )
    one.action((...given: unknown[]) => {
      const values: Record<string, unknown> = {}
      for (const [i, { name }] of (command.arguments ?? []).entries()) values[name] = given[i]
      const options = one.optsWithGlobals<Record<string, unknown>>()
      for (const flag of [...(command.flags ?? []), ...GLOBAL_FLAGS]) values[flag.name] = valueOf(flag, options)
      parsed = { command, values }
    })
  }
  try {
    program.parse(withBareFlags(argv, table), { from: 'user' })
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return null
    throw error
  }
  return parsed
}

/** Names in commander's form: `dry-run` is `dryRun`. */
const keyOf = (name: string) => name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())

/** `--no-tags` is off for commander, under the name `tags`. */
const valueOf = ({ name }: Flag, options: Record<string, unknown>) =>
  name.startsWith('no-') ? options[keyOf(name.slice(3))] === false : options[keyOf(name)]

function prepared(parser: Parser, { out, err }: ParserOutput): Parser {
  return parser
    .exitOverride()
    .configureOutput({ writeOut: out, writeErr: err })
    .configureHelp({
      ...{ showGlobalOptions: true, sortSubcommands: false },
      // Without `[options]`, which every command has.
      subcommandTerm: (command) => `${command.name()} ${command.usage().replace(/^\[options\] ?/, '')}`.trim(),
      // A hidden argument has no description.
      visibleArguments: ({ registeredArguments }) =>
        registeredArguments.filter(({ description }) => description !== ''),
    })
    .helpOption('-h, --help', 'how it is used')
    .showHelpAfterError('(add --help for how it is used)')
}

function argumentOf(argument: Argument): ParserArgument {
  const made = new ParserArgument(argumentUsage(argument), argument.hidden ? '' : argument.summary)
  return argument.choices ? made.choices(argument.choices) : made
}

function optionOf(flag: Flag): Option {
  const made = new Option(
    flagUsage({ ...flag, ...(flag.bare === undefined ? {} : { value: flag.value ?? 'VALUE' }) }).replace(
      /\[=(\w+)\]$/,
      ' <$1>',
    ),
    summaryOf(flag),
  )
  // With a new list each time, because a default array would be shared.
  if (flag.many) made.argParser((value: string, before: string[] | undefined) => [...(before ?? []), value])
  if (flag.choices) made.choices(flag.choices)
  if (flag.required) made.makeOptionMandatory()
  if (flag.hidden) made.hideHelp()
  return made
}

/**
 * `--wait FILE` would use the file as the time, so such a flag only takes a value after `=`.
 * Words after `--` are left alone.
 */
export function withBareFlags(argv: readonly string[], table: readonly Command[]): string[] {
  const bare = new Map<string, string>(
    table.flatMap(({ flags = [] }) =>
      flags.flatMap(({ name, bare: value }) => (value === undefined ? [] : [[`--${name}`, value] as const])),
    ),
  )
  const end = argv.indexOf('--')
  return argv.map((word, i) => {
    const value = end === -1 || i < end ? bare.get(word) : undefined
    return value === undefined ? word : `${word}=${value}`
  })
}
