// Runs commands of a package manager as root, because files of packages belong to root.
import { spawn } from 'node:child_process'

/** Exit code and combined output of a command. */
export interface CommandResult {
  code: number
  text: string
}

/** Never throws because of the exit code. Only PATH is passed on from the environment. */
export function runAsRoot(
  command: readonly string[],
  cwd: string,
  env: Record<string, string> = {},
): Promise<CommandResult> {
  const settings = { PATH: `${process.env['PATH']}:/usr/sbin:/sbin`, LC_ALL: 'C.UTF-8', ...env }
  const pairs = Object.entries(settings).map(([name, value]) => `${name}=${value}`)
  const [program, ...args] =
    process.getuid?.() === 0 ? ['env', '-i', ...pairs, ...command] : ['sudo', '-n', 'env', '-i', ...pairs, ...command]
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] })
    let text = ''
    child.stdout.on('data', (piece) => (text += String(piece)))
    child.stderr.on('data', (piece) => (text += String(piece)))
    child.once('error', reject)
    child.once('close', (code) => resolve({ code: code ?? -1, text }))
  })
}
