/** First words that several commands share. */
export const GROUPS: Record<string, string> = {
  review: 'Decide about packages that are held',
  decision: 'What people decided about packages',
  import: 'Bring packages in from repositories of others',
  dist: 'The distributions',
  repo: 'Repositories of libraries',
  source: 'Repositories of others that packages are imported from',
  mirror: 'What is brought from sources day by day',
  reserve: 'Names of packages that only some may bring',
  group: 'Packages that were imported together',
  user: 'The accounts of people',
  token: 'API tokens of people and CI',
  settings: 'The settings of the service',
  policy: 'What findings do to packages',
  task: 'Long work of the service',
  audit: 'The audit log: read, export, verify',
  backup: 'Backups of the whole service',
}
