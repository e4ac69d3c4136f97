// How much the repository held at the end of each day (UTC), for the picture of its growth. Nothing else keeps it.
import { statements } from './run.ts'

export const poolGrowth = statements([
  `create table pool_days (day text primary key, packages bigint not null, bytes bigint not null)`,
])
