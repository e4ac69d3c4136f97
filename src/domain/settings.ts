// Every runtime setting, declared once: type, default, range and description. Validation, masking and docs follow from it.
import Type, { type Static, type TProperties } from 'typebox'
import { ACTIONS } from './finding.ts'
import { ROLES } from './roles.ts'
import { claimsFault, PUBLISHER_MINUTES, PUBLISHER_ROLES } from './publishers.ts'
import { ScopesSchema } from './scopes-schema.ts'
import { BUILT_IN_SOURCES, BUILT_IN_SOURCE_KEYS, type BuiltInSourceKey } from './sources.ts'
import * as is from './setting-kinds.ts'
import { choice, entries, flag, inactive, integer, line, list, optionalChoice, secret } from './setting-kinds.ts'

const section = <T extends TProperties>(description: string, keys: T) =>
  Type.Object(keys, { description, additionalProperties: false })

const at = (hour: number, minute: number) => ({
  hour: integer(hour, 0, 23, 'Hour of the day.'),
  minute: integer(minute, 0, 59, 'Minute of the hour.'),
  timezone: line('Europe/Paris', 'Time zone of hour and minute, a name of the IANA database.', {
    needed: true,
    check: is.isTimeZone,
  }),
})

/** The five fields of crontab(5) for a time of the day. */
export const dailyPattern = ({ hour, minute }: { hour: number; minute: number }) => `${minute} ${hour} * * *`

const sourceToggles = Object.fromEntries(
  BUILT_IN_SOURCE_KEYS.map((key) => [key, flag(true, `${BUILT_IN_SOURCES[key].label}.`)]),
) as Record<BuiltInSourceKey, ReturnType<typeof flag>>

const BUILT_IN_OR_ID = `^(${BUILT_IN_SOURCE_KEYS.map((key) => key.replaceAll('.', '\\.')).join('|')}|[1-9][0-9]{0,14})$`

/** As in a file of distributions; `*` means those that are not named. */
const CODENAME_OR_ALL = '^(\\*|[A-Za-z0-9][A-Za-z0-9._-]{0,99})$'

/** One line of text. */
const LINE = '^[^\\u0000-\\u001f\\u007f]*$'

const days = (value: number, severity: string) =>
  integer(value, 0, 3650, `Days within which a ${severity} finding must be decided; 0 means immediately.`)

const action = (value: (typeof ACTIONS)[number], severity: string) =>
  choice(ACTIONS, value, `What a ${severity} finding does to its package.`)

const group = (role: string) => line('', `Group whose members are ${role}: its name or its full DN.`)

const attribute = (value: string, what: string, needed = false) =>
  line(value, `Attribute that holds the ${what}.`, { check: is.isAttribute, needed })

const MOST_CLAIMS = 20

// prettier-ignore
const PublisherSchema = Type.Object(
  {
    name: Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,49}$', description: 'In the names of its tokens: `token:<name>#<id>`.' }),
    issuer: line('', 'As in the claim `iss`: `https://token.actions.githubusercontent.com`, `https://gitlab.com`.', { needed: true, check: is.isIssuer, maxLength: 2048 }),
    audience: line('', 'What jobs must ask their provider for, such as the address of this service.', { needed: true, maxLength: 512 }),
    claims: Type.Refine(
      Type.Record(Type.String({ pattern: '^[A-Za-z0-9_.:/-]{1,100}$' }), Type.String({ minLength: 1, maxLength: 512, pattern: LINE }), {
        additionalProperties: false,
        maxProperties: MOST_CLAIMS,
        description: 'Patterns by claim, all of which must match: `*` any text, `?` one character, case counts. One of them says whose jobs are meant. Names may change hands; ids (`repository_id`, `repository_owner_id`, `project_id`, `namespace_id`) do not.',
      }),
      (claims) => claimsFault(claims) === null,
      (claims) => claimsFault(claims) ?? 'is not valid',
    ),
    role: Type.Enum([...PUBLISHER_ROLES]),
    scopes: Type.Optional(ScopesSchema),
    minutes: Type.Optional(Type.Integer({ minimum: 1, maximum: 60, description: `Life of a token, ${PUBLISHER_MINUTES} by default.` })),
  },
  { additionalProperties: false },
)

const publishersFault = (publishers: readonly { name: string }[]) =>
  new Set(publishers.map(({ name }) => name)).size === publishers.length ? null : 'must have different names'

export const MFA_RULES = ['nobody', 'admins', 'maintainers', 'everybody'] as const

/** The document as `GET /settings` shows it, without `_meta`. */
// prettier-ignore
export const SettingsSchema = Type.Object(
  {
    app_url: line('http://localhost:3003', 'Address of the web console, for links in mails.', { needed: true, check: is.isHttpUrl, maxLength: 2048 }),
    addresses: section('Addresses under which package clients reach this service, for the set-up files and commands that it hands out. Empty: those of the environment, otherwise the host that the request named.', {
      apt_url: line('', 'Repositories of apt and apk; replaces `PUBLIC_APT_URL`.', { check: is.isPublicAddress, maxLength: 2048 }),
      rpm_url: line('', 'Repositories of dnf and zypper; replaces `PUBLIC_RPM_URL`.', { check: is.isPublicAddress, maxLength: 2048 }),
    }),
    sync: section('The daily sync of security sources.', {
      enabled: flag(true, 'Run it.'),
      ...at(3, 0),
    }),
    sources: section('Built-in import sources that are enabled. Sources of formats that are not served count as disabled.', sourceToggles),
    mirror: section('The daily bulk import of new versions.', {
      enabled: flag(false, 'Run it.'),
      ...at(4, 30),
      max_packages_per_run: integer(200, 1, 100_000, 'Largest number of packages one run imports.'),
      max_runtime_minutes: integer(60, 1, 1440, 'Longest time a run may take, in minutes.'),
      min_free_disk_gb: integer(5, 0, 100_000, 'Free disk space in GB below which a run stops and a sync ends with `storage_full`.'),
      sources: entries(BUILT_IN_OR_ID, Type.Boolean(), 'Whether the daily run includes a source, by built-in key or by id; takes precedence over the switch of its mirror.'),
    }),
    notifications: section('Outbound webhook.', {
      webhook_url: line('', 'Where events are posted.', { check: is.isHttpUrl, maxLength: 2048 }),
      webhook_enabled: flag(false, 'Post events.'),
      webhook_min_packages: integer(1, 0, 1_000_000, 'Smallest number of new or changed packages for which a sync or a mirror run is reported; one that fails always is.'),
      webhook_format: choice(['generic', 'slack', 'teams'], 'generic', 'What is posted: our own JSON, a message for a Slack incoming webhook, or a card for a Teams workflow that posts webhook requests.'),
    }),
    email: section('Mail by SMTP.', {
      enabled: flag(false, 'Send mail.'),
      smtp_host: line('', 'Mail server.', { check: is.isHost }),
      smtp_port: integer(587, 1, 65535, 'Port of the mail server: 465 uses implicit TLS, 587 and 25 use STARTTLS.'),
      smtp_user: line('', 'User name on the mail server; empty sends without authentication.'),
      smtp_password: secret('Password on the mail server.'),
      use_tls: flag(true, 'Refuse to send without TLS and a valid certificate. When off, TLS is used where the server offers it.'),
      from_address: line('', 'Sender.', { check: is.isMailAddress }),
      to_addresses: line('', 'Addresses that alerts are sent to, separated by commas or semicolons.', { check: is.isMailAddressList, maxLength: 4096 }),
    }),
    ldap: section('Login against a directory, after local accounts.', {
      enabled: flag(false, 'Allow it. Not part of the community edition.'),
      host: line('', 'Directory server.', { check: is.isHost }),
      port: integer(389, 1, 65535, 'Its port.'),
      use_ssl: flag(false, 'Use implicit TLS (ldaps).'),
      use_starttls: flag(false, 'Use StartTLS, unless `use_ssl` is on.'),
      bind_dn: line('', 'Account that searches for users; empty searches anonymously.'),
      bind_password: secret('Its password.'),
      base_dn: line('', 'Where users are searched.'),
      ca_bundle_path: line('', 'PEM file of the certificate authorities to trust in place of those of the system.', { check: is.isAbsolutePath }),
      user_filter: line('(sAMAccountName={username})', 'Filter that finds a user; `{username}` is replaced by the escaped name.', { needed: true, check: is.isUserFilter }),
      attr_username: attribute('sAMAccountName', 'user name', true),
      attr_email: attribute('mail', 'e-mail address'),
      attr_fullname: attribute('displayName', 'full name'),
      attr_groups: attribute('memberOf', 'groups'),
      group_admin: group('admin'),
      group_maintainer: group('maintainer'),
      group_uploader: group('uploader'),
      group_auditor: group('auditor'),
      group_reader: group('reader'),
      nested_groups: flag(false, 'Groups of groups count too: their `attr_groups` is followed, at most 500 groups of a person.'),
      check_minutes: integer(60, 5, 1440, 'How often the job `directory_check` compares accounts with the directory. An account that is missing or disabled there is suspended, with its sessions and API tokens.'),
      grace_hours: integer(72, 1, 8760, 'How long sessions and API tokens of these accounts stay valid while the directory does not answer, or is switched off here.'),
      default_role: choice(ROLES, 'reader', 'Role of users who are in none of the groups. While no group is named, a new account gets it and keeps what an admin sets.'),
      auto_provision: flag(true, 'Create an account at the first login.'),
      verify_cert: flag(true, 'Check the certificate of the server.'),
    }),
    oidc: section('Login by OpenID Connect, with authorization code and PKCE.', {
      enabled: flag(false, 'Allow it.'),
      provider_name: line('SSO', 'Label of the login button.', { needed: true, maxLength: 64 }),
      discovery_url: line('', 'Issuer, or its discovery document. https in production; a private address must be one of `OUTBOUND_ALLOWED_HOSTS`.', { check: is.isIssuer, maxLength: 2048 }),
      client_id: line('', 'Id of this service at the provider.'),
      client_secret: secret('Secret of this service at the provider; empty for a public client.'),
      scopes: line('openid email profile', 'Scopes asked for, separated by spaces.', { needed: true, check: is.hasOpenidScope }),
      redirect_uri: line('', 'Where the provider sends the browser back; empty is `app_url` + `/oidc-callback`.', { check: is.isHttpUrl, maxLength: 2048 }),
      session_hours: integer(4, 1, 12, 'How long a session can be refreshed after the login; then the person logs in at the provider again, which refuses people who left.'),
      login_days: integer(90, 0, 3650, 'API tokens of a person who has not logged in at the provider for so many days are refused until the next login; 0 never refuses them.'),
      logout_at_provider: flag(false, 'A logout in the console ends the session at the provider as well, if it has an `end_session_endpoint`. Register `app_url` + `/login` there as the address after a logout.'),
      auto_provision: flag(false, 'Create an account at the first login.'),
      default_role: choice(ROLES, 'reader', 'Role of users without a match in `role_map`.'),
      claim_username: line('preferred_username', 'Claim that holds the user name of a new account. Accounts are found by issuer and subject.', { needed: true }),
      claim_email: line('email', 'Claim that holds the e-mail address.'),
      claim_fullname: line('name', 'Claim that holds the full name.'),
      claim_role: line('', 'Claim whose values `role_map` translates; dots lead into objects: `realm_access.roles`.'),
      role_map: entries('^[^\\u0000-\\u001f\\u007f]{1,256}$', Type.Enum([...ROLES]), 'Role by value of `claim_role`. A person gets the first of their roles, from admin down, at each login. While it or `claim_role` is empty, a new account gets `default_role` and keeps what an admin sets.'),
    }),
    trusted_publishing: section('CI jobs exchange the ID token of their provider for a short-lived API token (`POST /auth/oidc/exchange`), so that no secret is stored there. See [ci.md](ci.md).', {
      publishers: list(PublisherSchema, 100, publishersFault, 'Which jobs, and what they may do. The first whose conditions all match decides.'),
    }),
    retention: section('How long records are kept. The job `retention_cleanup` removes what is older, every night at 03:30 in `sync.timezone`.', {
      audit_days: integer(90, 1, 36_500, 'Days the audit log is kept. A signed statement about the removed part stays, so the rest can be verified.'),
      import_cleanup_days: integer(30, 1, 3650, 'Days that ended tasks of imports, syncs and mirrors are kept with their lines and results, and that a file may stay in staging.'),
      history_days: integer(30, 0, 3650, 'Days that past publications are kept, with the bytes of every package they named.'),
      evidence_days: integer(400, 1, 3650, 'Days that the results, coverage and findings of earlier checks of a package are kept. Those of the last check of each kind are kept with the package.'),
      quarantine_days: integer(0, 0, 3650, 'Days after which quarantined and rejected packages are deleted, bytes and records; 0 keeps them. Without its record a rejection is forgotten: the same bytes can be uploaded again.'),
      access_log_days: integer(90, 1, 3650, 'Days that access logs of the repository listeners are kept, and what was read from access logs: who downloaded which package. The logs are rotated every night.'),
      keep_versions: entries(CODENAME_OR_ALL, Type.Integer({ minimum: 0, maximum: 10_000 }), 'How many versions of each package (name and architecture) stay published, by codename, or `*` for all other distributions; 0 keeps all. Versions that another published package needs stay too.'),
      keep_versions_days: integer(7, 0, 3650, 'Days for which a version is kept although newer ones are published.'),
    }),
    downloads: section('Where downloads are counted.', {
      nginx_logs: line('', 'Access logs of nginx in front of the repository listeners: absolute paths below `ACCESS_LOG_DIRECTORIES`, separated by commas. Their rotations (`.1`, `-20261123`, `.gz`) are read too. Empty: the logs of the listeners count.', { check: is.isPathList, maxLength: 4096 }),
      count: choice(['both', 'nginx', 'listeners'], 'both', 'Which logs count, from the change on, while `nginx_logs` names some. `both`: the logs of nginx have only the requests that it answers itself, as in deploy/nginx. `nginx`: they have every request, so the logs of the listeners do not count.'),
    }),
    backup: section('The daily backup.', {
      enabled: flag(false, 'Run it.'),
      ...at(4, 30),
      retention_count: integer(7, 1, 1000, 'Number of archives to keep; older ones are deleted.'),
    }),
    validation: section('What the gate checks.', {
      sha256_check: flag(true, 'Check the SHA-256 that an uploader declares.'),
      clamav_scan: flag(true, 'Scan for malware.'),
      grype_scan: flag(true, 'Scan for known vulnerabilities.'),
      grype_fail_on: inactive('`cve_policy` decides', choice(['negligible', 'low', 'medium', 'high', 'critical'], 'critical', 'Accepted for older clients; `cve_policy` decides instead.')),
      max_upload_size_mb: integer(500, 1, 102_400, 'Largest upload in MB.'),
      on_unscanned: choice(['hold', 'refuse', 'allow'], 'hold', 'What happens to a package that an enabled scan could not judge.'),
      on_uninstallable: choice(['warn', 'hold'], 'warn', 'What happens to a package whose newer version leaves other published packages without something they need.'),
      gpg_required: flag(false, 'Quarantine rpms without a signature of a known key. A deb or apk counts as signed: the signed index lists its digest.'),
      sign_packages: flag(true, 'Sign an rpm that carries no signature of a known key.'),
      keep_vendor_signatures: flag(false, 'Leave the signature of an import source on its rpm packages and give clients that key beside ours. dnf and zypper then accept an index signed with it, too, because they have one list of keys for both. Otherwise the repository key replaces a verified signature.'),
    }),
    cve_policy: section('What findings do, by severity.', {
      critical: action('block', 'critical'),
      high: action('review', 'high'),
      medium: action('warn', 'medium'),
      low: action('allow', 'low'),
      negligible: action('allow', 'negligible'),
      unknown: optionalChoice(ACTIONS, 'What a finding of unknown severity does; null means `allow`.'),
      sla_critical_days: days(0, 'critical'),
      sla_high_days: days(30, 'high'),
      sla_medium_days: days(90, 'medium'),
      auto_enrich: flag(true, 'Add exploit-prediction scores and known-exploited flags.'),
    }),
    security: section('Rules of review and of signing in.', {
      forbid_self_approval: flag(false, 'Forbid people to approve packages that they brought in.'),
      approval_days: integer(0, 0, 3650, 'Days after which an approval ends, as the console suggests it; people can choose another end. 0 suggests none. For packages with a finding that is known to be exploited it suggests 90 days at most.'),
      require_mfa: choice(MFA_RULES, 'nobody', 'Whose sessions can do nothing but set up a second factor until they have one: `admins`, `maintainers` (and admins) or `everybody`. Accounts of OIDC are left to their provider, API tokens are not asked.'),
    }),
  },
  { additionalProperties: false },
)

type DeepReadonly<T> = T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T

/** The settings in force, secrets in the clear. */
export type Settings = DeepReadonly<Static<typeof SettingsSchema>>

/** Defaults that differ in development, by path: a missing scanner must not hold every package there (docs/api-decisions.md, section 6). */
export const DEVELOPMENT_DEFAULTS: Readonly<Record<string, unknown>> = { 'validation.on_unscanned': 'allow' }
