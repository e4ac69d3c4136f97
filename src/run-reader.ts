// The main module of a reader: a process that reads untrusted bytes, and may do nothing else (THREATS.md, "Readers").
import { packageJobs } from './formats/reading/jobs.ts'
import { gateJobs } from './gate/contents/jobs.ts'
import { publishJobs } from './publish/reader-jobs.ts'
import { reviewJobs } from './review/component-reading/jobs.ts'
import { serveRequests } from './formats/readers/serve.ts'
import { upstreamJobs } from './upstream/jobs/jobs.ts'

// One table for each room with jobs.
serveRequests([packageJobs, upstreamJobs, gateJobs, publishJobs, reviewJobs])
