/** First words that several commands share. */
export const GROUPS: Record<string, string> = {
  review: 'Decide about packages that are held',
  import: 'Bring packages in from repositories of others',
  dist: 'The distributions',
  token: 'API tokens of people and CI',
  audit: 'The audit log: read, export, verify',
  backup: 'Backups of the whole service',
}
