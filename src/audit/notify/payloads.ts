// The body of a webhook request: our own JSON, a message for Slack, or a card for Teams (docs/api-decisions.md, section 19).
// Names and texts come from packages and people: chats show them as they are, without markup, links or mentions. Pure.
import type { Settings } from '../../domain/settings.ts'
import type { Message } from './events.ts'
import { plain } from './plain.ts'

export type WebhookFormat = Settings['notifications']['webhook_format']

export function payloadOf(message: Message, format: WebhookFormat): object {
  switch (format) {
    case 'generic':
      return message
    case 'slack':
      return slackMessage(message)
    case 'teams':
      return teamsMessage(message)
  }
}

const TITLES: Record<Message['event'], string> = {
  CVE_BLOCKED: 'Blocked for vulnerabilities',
  PENDING_REVIEW: 'A package waits for a decision',
  DECISION: 'A decision was recorded',
  SLA_EXPIRING: 'Deadlines approach',
  SLA_OVERDUE: 'A deadline was missed',
  SYNC_RESULT: 'Sync of a source',
  MIRROR_RESULT: 'Mirror run',
  UPLOAD_FAILED: 'A package was not accepted',
  ANTIVIRUS_HIT: 'Malware found',
  INTEGRITY_ALERT: 'Integrity alert',
  SCHEDULER_JOB_FAILED: 'A scheduled job failed',
  TEST: 'Test',
}

const FACTS = [
  ['Package', 'package'],
  ['Version', 'version'],
  ['Distribution', 'distribution'],
  ['Architecture', 'arch'],
  ['Outcome', 'outcome'],
  ['By', 'user'],
] as const

/**
 * Escaped text is at most five times as long, and Slack refuses sections of more than 3,000 characters and fields of more
 * than 2,000.
 */
const TEXT_LENGTH = 500
const FACT_LENGTH = 300

function factsOf({ data }: Message): [label: string, value: string][] {
  return FACTS.flatMap(([label, key]) => {
    const value = data[key]
    return typeof value === 'string' && value !== '' ? [[label, plain(value, FACT_LENGTH)]] : []
  })
}

/**
 * https://docs.slack.dev/messaging/formatting-message-text: `&`, `<` and `>` begin entities, links and mentions.
 * `verbatim` keeps names of channels and addresses from becoming links. Notifications show `text`, and so do receivers that
 * do not know blocks.
 */
function slackMessage(message: Message): object {
  const text = escapeSlack(plain(message.text, TEXT_LENGTH))
  const fields = factsOf(message).map(([label, value]) => mrkdwn(`*${label}*\n${escapeSlack(value)}`))
  return {
    text: unmentioned(text),
    unfurl_links: false,
    unfurl_media: false,
    blocks: [
      { type: 'header', text: { type: 'plain_text', text: TITLES[message.event], emoji: false } },
      { type: 'section', text: mrkdwn(text) },
      ...(fields.length > 0 ? [{ type: 'section', fields }] : []),
      {
        type: 'context',
        elements: [mrkdwn(`<${linkOf(message.url)}|Gatehouse> · ${message.timestamp} · ${message.id}`)],
      },
    ],
  }
}

const mrkdwn = (text: string) => ({ type: 'mrkdwn', text, verbatim: true })

const SLACK_ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }

const escapeSlack = (text: string) => text.replace(/[&<>]/g, (character) => SLACK_ENTITIES[character] as string)

/** Mattermost and others that accept Slack's messages treat `@all` in plain text as a mention; a zero-width space prevents it. */
const unmentioned = (text: string) => text.replace(/(?<![\w.+-])@(?=\w)/g, '@\u200b')

/**
 * A message with one Adaptive Card, as workflows of Teams accept it ("When a Teams webhook request is received"). A
 * TextBlock interprets Markdown and `{{DATE()}}`; a TextRun interprets nothing, so all text that is not ours is in TextRuns.
 * Mentions need an entry under `msteams.entities`, and there is none.
 */
function teamsMessage(message: Message): object {
  const runs = (...inlines: object[]) => ({ type: 'RichTextBlock', inlines })
  const run = (text: string, more: object = {}) => ({ type: 'TextRun', text, ...more })
  const card = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.4',
    fallbackText: TITLES[message.event],
    msteams: { width: 'Full' },
    body: [
      { type: 'TextBlock', text: TITLES[message.event], size: 'Medium', weight: 'Bolder', wrap: true },
      runs(run(plain(message.text, TEXT_LENGTH))),
      ...factsOf(message).map(([label, value]) => runs(run(`${label}: `, { weight: 'Bolder' }), run(value))),
      runs(run(`${message.timestamp} · ${message.id}`, { isSubtle: true, size: 'Small' })),
    ],
    actions: [{ type: 'Action.OpenUrl', title: 'Open Gatehouse', url: linkOf(message.url) }],
  }
  return {
    type: 'message',
    attachments: [{ contentType: 'application/vnd.microsoft.card.adaptive', contentUrl: null, content: card }],
  }
}

/** The address without the characters that end a link. */
const linkOf = (url: string) => new URL(url).href.replace(/[|<>]/g, encodeURIComponent)
