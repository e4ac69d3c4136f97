// Declarations of /webhooks. Bodies are signed with HMAC-SHA256 (RFC 2104) and the shared secret.
import Type from 'typebox'
import { declare } from '../http/route.ts'

const KEV_BYTES = 16 * 1024 * 1024

const common = {
  method: 'POST',
  root: true,
  tag: 'webhooks',
  access: 'public',
  limit: 'webhook',
  flags: { rawBody: true },
  problems: ['unauthorized', 'webhook_not_configured', 'validation_error', 'body_too_large', 'overloaded'],
} as const

const vcs = {
  ...common,
  summary: 'Receive security advisories of a code host',
  answer: Type.Object({
    status: Type.Enum(['processed', 'ok', 'ignored', 'duplicate']),
    cve_id: Type.Optional(Type.String()),
    event: Type.Optional(Type.String()),
    manifests_updated: Type.Optional(Type.Integer()),
  }),
}

export const postWebhooksVcs = declare({ ...vcs, path: '/webhooks/vcs' })

export const postWebhooksGithub = declare({
  ...vcs,
  path: '/webhooks/github',
  flags: { rawBody: true, hidden: true },
})

export const postWebhooksKev = declare({
  ...common,
  path: '/webhooks/kev',
  bodyLimitBytes: KEV_BYTES,
  summary: 'Receive known-exploited vulnerabilities',
  answer: Type.Object({
    status: Type.Enum(['processed', 'duplicate']),
    cve_ids: Type.Optional(Type.Array(Type.String())),
    count: Type.Optional(Type.Integer()),
    manifests_updated: Type.Optional(Type.Integer()),
  }),
})
