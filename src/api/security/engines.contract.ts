// Declarations: the state of each scan engine and the update of its data.
import Type from 'typebox'
import { EngineLimitsSchema } from '../shared/evidence-schemas.ts'
import { declare } from '../http/route.ts'
import { DoneText, ErrorEvent } from '../shared/event-schemas.ts'
import { Nullable, TimeSchema } from '../http/schemas.ts'

const Text = Nullable(Type.String())
const Status = Type.Object(
  {
    available: Type.Boolean(),
    engine: Text,
    version: Text,
    db_version: Text,
    db_date: Text,
    db_updated_at: Text,
    db_files: Type.Array(Type.String()),
    daemon_running: Type.Boolean(),
    cooldown_until: Text,
    limits: Type.Optional(Nullable(EngineLimitsSchema)),
    warning: Type.Optional(Nullable(Type.String({ description: 'what it should report and is not configured to' }))),
    error: Type.Optional(Nullable(Type.String({ description: 'why it cannot be used' }))),
    feeds: Type.Optional(
      Type.Array(Type.Object({ name: Type.String(), read_at: Nullable(TimeSchema), error: Text }), {
        description: 'what its data are read from, and when each was last read or confirmed to be unchanged',
      }),
    ),
  },
  { title: 'EngineStatus' },
)
const Updated = Type.Object(
  {
    status: Type.Enum(['updated', 'up_to_date', 'failed', 'cooldown']),
    db_version: Text,
    db_date: Text,
    message: Type.String(),
  },
  { title: 'EngineUpdate' },
)

/** @param flags.needsLeader the data are in the database, and the leader updates them; otherwise each machine has its own */
function engine(
  path: string,
  what: string,
  verb: 'update' | 'refresh',
  { hidden = false, needsLeader = true }: { hidden?: boolean; needsLeader?: boolean } = {},
) {
  const common = { tag: 'security', flags: { hidden } } as const
  return {
    what,
    status: declare({
      ...common,
      method: 'GET',
      path: `${path}/status`,
      summary: `The state of the ${what} and of its data`,
      access: 'maintainer+',
      answer: Status,
      problems: [],
    }),
    update: declare({
      ...common,
      flags: { hidden, needsLeader },
      method: 'POST',
      path: `${path}/${verb}`,
      summary: `Update the data of the ${what}; answers a stream with Accept: text/event-stream`,
      access: 'admin',
      answer: Updated,
      media: ['text/event-stream'],
      events: {
        progress: Type.Object({ message: Type.String() }, { title: 'UpdateProgress' }),
        result: Type.Union([Updated, ErrorEvent]),
        message: DoneText,
      },
      problems: ['already_running', 'scanner_unavailable', 'task_cancelled'],
    }),
  }
}

const FEEDS = 'scores and known-exploited list'

export const antivirus = engine('/security/antivirus', 'malware scanner', 'update', { needsLeader: false })
export const clamav = engine('/security/clamav', 'malware scanner', 'update', {
  hidden: true,
  needsLeader: false,
})
export const vulnscan = engine('/security/vulnscan', 'vulnerability scanner', 'update')
export const vulnscanFeeds = engine('/security/vulnscan/feeds', FEEDS, 'refresh')
export const feeds = engine('/security/feeds', FEEDS, 'refresh', { hidden: true })
