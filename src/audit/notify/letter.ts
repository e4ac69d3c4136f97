// The layout of every mail, as text and as HTML with the same content. All input is escaped here. Pure.
import { plain as plainText } from './plain.ts'

export interface Letter {
  subject: string
  /** before the list */
  intro: readonly string[]
  items?: readonly Item[]
  link?: { label: string; url: string }
  /** below everything, small */
  closing?: string
}

export interface Item {
  title: string
  facts: readonly (readonly [label: string, value: string])[]
  /** its page */
  url?: string
}

export interface Rendered {
  subject: string
  text: string
  html: string
}

const SUBJECT_LENGTH = 160
const VALUE_LENGTH = 500
/** Browsers and mail programs cut longer addresses. */
const URL_LENGTH = 2000
/** Longer mails are not read, and servers refuse them. */
const MOST_ITEMS = 100

const plain = (text: string, most = VALUE_LENGTH) => plainText(text, most)

export function render(letter: Letter): Rendered {
  const { items = [], link } = letter
  const subject = plain(`[Gatehouse] ${letter.subject}`, SUBJECT_LENGTH)
  const shown = items.slice(0, MOST_ITEMS)
  const more = items.length > shown.length ? `And ${items.length - shown.length} more.` : ''
  const intro = letter.intro.map((line) => plain(line))
  const closing = plain(
    letter.closing ?? 'Sent by Gatehouse. Who receives these mails is set under "email" in its settings.',
  )
  const url = link ? address(link.url) : null
  return {
    subject,
    text:
      [
        intro.join('\n'),
        ...shown.map(itemText),
        more,
        link && url ? `${plain(link.label)}:\n${url}` : '',
        `-- \n${closing}`,
      ]
        .filter(Boolean)
        .join('\n\n') + '\n',
    html: [
      `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${escape(subject)}</title></head>`,
      '<body style="font-family:sans-serif;font-size:15px;line-height:1.5;color:#1f2430">',
      ...intro.map((line) => `<p>${escape(line)}</p>`),
      ...shown.map(itemHtml),
      more && `<p>${more}</p>`,
      link && url
        ? `<p><a href="${escape(url)}">${escape(plain(link.label))}</a><br><small>${escape(url)}</small></p>`
        : '',
      `<p style="color:#5a6072"><small>${escape(closing)}</small></p>`,
      '</body></html>',
    ]
      .filter(Boolean)
      .join('\n'),
  }
}

function itemText({ title, facts, url }: Item): string {
  const link = url === undefined ? null : address(url)
  const lines = facts.map(([label, value]) => `  ${plain(label)}: ${plain(value)}`)
  return [plain(title), ...lines, ...(link ? [`  ${link}`] : [])].join('\n')
}

function itemHtml({ title, facts, url }: Item): string {
  const link = url === undefined ? null : address(url)
  const name = escape(plain(title))
  const rows = facts.map(
    ([label, value]) =>
      `<tr><td style="padding:0 12px 0 0;color:#5a6072;vertical-align:top">${escape(plain(label))}</td><td>${escape(plain(value))}</td></tr>`,
  )
  return `<h3 style="margin:16px 0 4px;font-size:15px">${link ? `<a href="${escape(link)}">${name}</a>` : name}</h3>\n<table style="border-collapse:collapse">${rows.join('')}</table>`
}

/** Only a web address becomes a link: other schemes could run code. */
function address(url: string): string | null {
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) return null
  const { href } = new URL(url)
  return href.length <= URL_LENGTH ? href : null
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] as string)
}
