// Downloads of packages: who fetched what on which day (UTC), and how far each access log was read.
//
// Days are numbers, days since 1970. A column `latest` counts clients by the last day on which they downloaded: as every
// question is about the days up to today, its sum over them is the exact number of distinct clients.
import { statements } from './run.ts'

export const downloads = statements([
  // A log is known by how it begins, so that it may be renamed, copied and compressed.
  `create table download_logs (
    id bigint generated always as identity primary key,
    first_line text not null, head_bytes int not null, head_digest text not null,
    path text not null, kind text not null, position bigint not null default 0,
    lines bigint not null default 0, unreadable bigint not null default 0, unknown bigint not null default 0,
    seen_at timestamptz not null)`,
  `create index download_logs_first on download_logs (first_line)`,
  `create index download_logs_seen on download_logs (seen_at)`,
  // Which kind of log counts from a time on, in seconds since 1970.
  `create table download_log_choices (since bigint primary key, kind text not null)`,

  `create table download_clients (
    id bigint generated always as identity primary key, address text not null unique, last_day int not null)`,
  `create index download_clients_last on download_clients (last_day)`,
  `create table download_agents (
    id bigint generated always as identity primary key, agent text not null unique, client_type text not null, last_day int not null)`,
  `create index download_agents_last on download_agents (last_day)`,
  `create table download_packages (
    id bigint generated always as identity primary key, format text not null, name text not null, last_day int not null,
    unique (name, format))`,
  `create index download_packages_last on download_packages (last_day)`,
  // A file of a distribution; stays when its record is deleted.
  `create table download_files (
    id bigint generated always as identity primary key, package_id bigint not null, distribution text not null,
    sha256 text not null, filename text not null, version text not null, arch text not null, size_bytes bigint not null,
    last_day int not null, unique (distribution, sha256))`,
  `create index download_files_package on download_files (package_id, last_day)`,
  `create index download_files_last on download_files (last_day)`,

  `create table downloads (
    package_id bigint not null, client_id bigint not null, file_id bigint not null, day int not null, agent_id bigint not null,
    downloads int not null, bytes bigint not null, primary key (package_id, client_id, file_id, day, agent_id))`,
  `create index downloads_file on downloads (file_id, day, client_id, agent_id)`,

  `create table download_days (
    counted text not null, day int not null, downloads bigint not null, bytes bigint not null, latest bigint not null,
    primary key (counted, day))`,
  `create table download_package_days (
    day int not null, package_id bigint not null, downloads bigint not null, bytes bigint not null, latest bigint not null,
    primary key (day, package_id))`,
  `create index download_package_days_package on download_package_days (package_id, day)`,
  `create table download_file_days (
    day int not null, file_id bigint not null, downloads bigint not null, bytes bigint not null, latest bigint not null,
    primary key (day, file_id))`,
  `create index download_file_days_file on download_file_days (file_id, day)`,
  // All that were ever counted: metrics must not fall when retention removes days.
  `create table download_totals (format text primary key, downloads bigint not null)`,
  `create table recent_downloads (
    id bigint generated always as identity primary key, at timestamptz not null, file_id bigint not null,
    address text not null, agent text not null, client_type text not null, path text not null,
    status int not null, bytes bigint not null)`,
  `create index recent_downloads_at on recent_downloads (at, id)`,

  // Logs name files that are offered no more; the other index has those that are.
  `create index offers_filename_ended on offers (filename) where until_revision is not null`,
])
