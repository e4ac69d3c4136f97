// Counts for the dashboard: records and decisions by triggers, activity by day from the audit chain.
import { statements } from './run.ts'

/** Packages whose missing dependencies somebody can still do something about. */
const lacks = (row: 'new' | 'old') =>
  `(${row}.deps_missing <> '[]'::jsonb and ${row}.status in ('published', 'pending_review'))`

export const dashboard = statements([
  // Every transaction that changes these holds the row lock of the distribution, so the counters cannot deadlock.
  `create table dashboard_counts (distribution text not null, counted text not null, n bigint not null, primary key (distribution, counted))`,
  `create function add_to_dashboard(place text, what text, amount bigint) returns void language sql as $$
    insert into dashboard_counts (distribution, counted, n) values (place, what, amount)
      on conflict (distribution, counted) do update set n = dashboard_counts.n + excluded.n;
  $$`,
  `insert into dashboard_counts select distribution, 'deps_missing', count(*) from packages new where ${lacks('new')} group by 1`,
  `insert into dashboard_counts select distribution, 'decisions', count(*) from decisions group by 1`,
  `insert into dashboard_counts select distribution, 'active ' || action, count(*) from decisions where active group by 1, 2`,

  `create function count_missing() returns trigger language plpgsql as $$ begin
    if tg_op = 'DELETE' then
      perform add_to_dashboard(old.distribution, 'deps_missing', -1);
    elsif tg_op = 'INSERT' or ${lacks('new')} then
      perform add_to_dashboard(new.distribution, 'deps_missing', 1);
    else
      perform add_to_dashboard(new.distribution, 'deps_missing', -1);
    end if;
    return null;
  end $$`,
  `create trigger packages_missing_added after insert on packages for each row
    when ${lacks('new')} execute function count_missing()`,
  `create trigger packages_missing_changed after update of deps_missing, status on packages for each row
    when (${lacks('new')} is distinct from ${lacks('old')}) execute function count_missing()`,
  `create trigger packages_missing_removed after delete on packages for each row
    when ${lacks('old')} execute function count_missing()`,

  `create function count_decision() returns trigger language plpgsql as $$ begin
    if tg_op = 'INSERT' then
      perform add_to_dashboard(new.distribution, 'decisions', 1);
      if new.active then perform add_to_dashboard(new.distribution, 'active ' || new.action, 1); end if;
    else
      perform add_to_dashboard(new.distribution, 'active ' || new.action, case when new.active then 1 else -1 end);
    end if;
    return null;
  end $$`,
  `create trigger decisions_added after insert on decisions for each row execute function count_decision()`,
  `create trigger decisions_changed after update of active on decisions for each row
    when (new.active is distinct from old.active) execute function count_decision()`,

  `create index packages_missing on packages (id desc) where deps_missing <> '[]'::jsonb and status in ('published', 'pending_review')`,

  // What the audit chain says of each day (UTC), up to the entry that was counted last. Kept when its entries are removed.
  `create table activity_days (
    day text primary key, imports bigint not null, failures bigint not null, decisions bigint not null, cve_scans bigint not null)`,
  `create table activity_cursor (id int primary key, seq bigint not null)`,
])
