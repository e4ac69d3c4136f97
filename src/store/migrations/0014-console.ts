// Indexes for the filters of the web console: known exploited, likely exploited, by advisory, and decisions by what they cover.
import { statements } from './run.ts'

export const console = statements([
  `create index findings_kev on findings (risk desc, cve, package_id) where in_kev`,
  `create index findings_kev_package on findings (package_id) where in_kev`,
  `create index findings_package_epss on findings (package_id, epss) where epss is not null`,
  `create index findings_epss on findings (epss) where epss >= 0.01`,
  // The worst finding of an advisory, and whether it is the worst.
  `create index findings_cve_risk on findings (cve, risk)`,
  // Prefixes, whatever the collation of the database.
  `create index findings_cve_prefix on findings (cve text_pattern_ops)`,
  `create index decisions_covers on decisions using gin (jsonb_path_query_array(covers, '$[*].id'))`,
  `create index decisions_package_all on decisions (package_id, id)`,
])
