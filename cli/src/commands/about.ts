// completion, man; and the reference of the documentation: what is made from the table of commands.
import { must, type Command } from '../command.ts'
import { completionScript, SHELLS, type Shell } from '../completion.ts'
import { EXITS } from '../exits.ts'
import { manualPage, reference } from '../manual.ts'

/** @param table of all commands, including these */
export const aboutCommands = (table: () => readonly Command[]): readonly Command[] => [
  {
    name: 'completion',
    summary: 'Print the completion of a shell',
    details:
      'bash: eval "$(gatehouse completion bash)" in ~/.bashrc. zsh: the same with zsh, after compinit, in ~/.zshrc. fish: gatehouse completion fish > ~/.config/fish/completions/gatehouse.fish',
    arguments: [{ name: 'SHELL', choices: SHELLS, summary: 'bash, zsh or fish' }],
    run: async ({ terminal }, given) => {
      terminal.print(completionScript(must(given, 'SHELL') as Shell, table()).trimEnd())
      return EXITS.done
    },
  },
  {
    name: 'man',
    summary: 'Print the manual page',
    examples: [['read it', 'man | man -l -']],
    run: async ({ terminal, version }) => {
      terminal.print(manualPage(table(), version).trimEnd())
      return EXITS.done
    },
  },
  {
    name: 'reference',
    summary: 'Print the reference of docs/cli.md',
    hidden: true,
    run: async ({ terminal }) => {
      terminal.print(reference(table()).trimEnd())
      return EXITS.done
    },
  },
]
