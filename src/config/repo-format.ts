// The formats that each value of REPO_FORMAT enables (specification, "Environment variables").

export type RepoFormat = 'apt' | 'rpm' | 'apk' | 'both' | 'all'

/** Each word selects one package format, which names it in its plug-in. */
type Word = 'apt' | 'rpm' | 'apk'

export const REPO_FORMAT_WORDS: Record<RepoFormat, readonly Word[]> = {
  apt: ['apt'],
  rpm: ['rpm'],
  apk: ['apk'],
  both: ['apt', 'rpm'],
  all: ['apt', 'rpm', 'apk'],
}

/** The variable with the port of the format. */
export const PORT_OF_WORD: Record<Word, 'aptPort' | 'rpmRepoPort'> = {
  apt: 'aptPort',
  rpm: 'rpmRepoPort',
  apk: 'aptPort',
}
