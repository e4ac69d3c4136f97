// Reads the distributions that the environment declares.
import { readFile } from 'node:fs/promises'
import type { Env } from '../../config/env.ts'
import type { Distribution } from '../../domain/package.ts'
import { declareDistributions } from '../../formats/declared/declare.ts'
import { formats } from '../../formats/index.ts'
import { StartError } from '../../kernel/start-error.ts'

/** @throws StartError naming every fault of the three variables and the file */
export async function readDeclared(
  env: Pick<Env, 'distributions' | 'distributionsFile' | 'architectures'>,
): Promise<Distribution[]> {
  const { distributions, faults } = declareDistributions(formats, {
    names: env.distributions,
    architectures: env.architectures ?? ['amd64'],
    file: env.distributionsFile === null ? null : await readJson(env.distributionsFile),
  })
  if (faults.length > 0)
    throw new StartError(`the declared distributions have faults:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`)
  return distributions
}

async function readJson(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as unknown
  } catch (error) {
    throw new StartError(`SVC_DISTRIBUTIONS_FILE cannot be read: ${(error as Error).message}`)
  }
}
