// Roles and what each may do: the only table of rights. Roles are sets of rights, not ranks.
// docs/api-decisions.md, section 2

export const ROLES = ['admin', 'maintainer', 'uploader', 'auditor', 'reader'] as const
export type Role = (typeof ROLES)[number]

/** Roles that may call a route declared with `X+`. */
export const ACCESS = {
  'reader+': ['admin', 'maintainer', 'uploader', 'auditor', 'reader'],
  'uploader+': ['admin', 'maintainer', 'uploader'],
  'auditor+': ['admin', 'maintainer', 'auditor'],
  'maintainer+': ['admin', 'maintainer'],
  admin: ['admin'],
} as const satisfies Record<string, readonly Role[]>

export type Access = keyof typeof ACCESS

/** Whether a caller of this role passes the gate named by `access`. */
export function mayAccess(role: Role, access: Access): boolean {
  return (ACCESS[access] as readonly Role[]).includes(role)
}

/**
 * The role that may do what both may: the lesser of the two. If neither contains the other (uploader, auditor), the largest
 * role within both, which is reader.
 */
export function lesserRole(a: Role, b: Role): Role {
  const rights = (role: Role) => (Object.keys(ACCESS) as Access[]).filter((access) => mayAccess(role, access))
  const shared = rights(a).filter((access) => mayAccess(b, access))
  const within = ROLES.filter((role) => rights(role).every((access) => shared.includes(access)))
  return within.reduce((best, role) => (rights(role).length > rights(best).length ? role : best), 'reader')
}

export function isRole(value: unknown): value is Role {
  return ROLES.includes(value as Role)
}

/** Requests per minute and principal, reads and writes (docs/api-decisions.md, section 1). */
export const ROLE_LIMITS: Record<Role, { reads: number; writes: number }> = {
  admin: { reads: 2000, writes: 500 },
  maintainer: { reads: 1000, writes: 200 },
  uploader: { reads: 300, writes: 30 },
  auditor: { reads: 500, writes: 30 },
  reader: { reads: 200, writes: 30 },
}

/** What `GET /auth/roles` shows of a role. */
export const ROLE_DESCRIPTIONS: Record<
  Role,
  { label: string; description: string; color: string; permissions: string[] }
> = {
  admin: {
    label: 'Administrator',
    description: 'Everything, including users, tokens, settings and backups.',
    color: 'red',
    permissions: [
      'packages:read',
      'packages:upload',
      'packages:import',
      'packages:delete',
      'packages:promote',
      'security:decide',
      'audit:read',
      'sbom:read',
      'users:manage',
      'settings:manage',
      'backup:manage',
    ],
  },
  maintainer: {
    label: 'Maintainer',
    description: 'The package life cycle: upload, import, promotion, deletion, sync, CVE decisions.',
    color: 'orange',
    permissions: [
      'packages:read',
      'packages:upload',
      'packages:import',
      'packages:delete',
      'packages:promote',
      'security:decide',
      'audit:read',
      'sbom:read',
    ],
  },
  uploader: {
    label: 'Uploader',
    description: 'Uploads and imports packages.',
    color: 'blue',
    permissions: ['packages:read', 'packages:upload', 'packages:import'],
  },
  auditor: {
    label: 'Auditor',
    description: 'Reads packages, the audit log, SBOMs and decisions.',
    color: 'violet',
    permissions: ['packages:read', 'audit:read', 'sbom:read', 'security:read'],
  },
  reader: { label: 'Reader', description: 'Reads packages.', color: 'gray', permissions: ['packages:read'] },
}
