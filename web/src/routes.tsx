// Every page: its path, its access, the keys of its URL, and its file. Navigation and palette follow from this.
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  type SearchSchemaInput,
} from '@tanstack/react-router'
import {
  Boxes,
  Bug,
  ClipboardCheck,
  DatabaseBackup,
  Download,
  FileDiff,
  HeartPulse,
  KeyRound,
  Layers,
  LayoutDashboard,
  ListTodo,
  Package,
  PackageCheck,
  Scale,
  ScrollText,
  Server,
  Settings,
  Terminal,
  Upload,
  Users,
} from 'lucide-react'
import type { ComponentType } from 'react'
import { DRIFT_AREAS } from '../../src/domain/drift.ts'
import { Broken } from './app/broken.tsx'
import type { PageFacts } from './app/navigation.ts'
import { NotFound } from './app/not-found.tsx'
import { Root } from './app/root.tsx'
import { flag, number, oneOf, pageSize, search, text } from './search.ts'

const root = createRootRoute({ component: Root, notFoundComponent: NotFound })

type Load = () => Promise<{ default: ComponentType }>
const none = search({})

function route<const P extends string, S extends object>(
  path: P,
  facts: PageFacts,
  validate: (raw: Record<string, unknown>) => S,
  load: Load,
) {
  return createRoute({
    getParentRoute: () => root,
    path,
    validateSearch: validate as (raw: S & SearchSchemaInput) => S,
    staticData: { page: facts },
    component: lazyRouteComponent(load),
  })
}

const STATUS = oneOf('published', 'pending_review', 'quarantined', 'rejected')
const SEVERITY = oneOf('critical', 'high', 'medium', 'low', 'negligible', 'unknown')
const FORMAT = oneOf('deb', 'rpm', 'apk', 'npm', 'pypi')
const LISTED = { page: number(1), size: pageSize }

// prettier-ignore
const routes = [
  route('/', { title: 'Overview', access: 'reader+', keys: 'h', group: 'start', icon: LayoutDashboard }, none, () => import('./pages/dashboard/overview.tsx')),
  route('/packages', { title: 'Packages', access: 'reader+', keys: 'p', group: 'packages', icon: Package }, search({ q: text, format: FORMAT, distribution: text, status: STATUS, arch: text, sort: oneOf('name', '-name', 'imported_at', '-imported_at'), ...LISTED }), () => import('./pages/artifacts/packages.tsx')),
  route('/packages/$name', { title: 'Package', access: 'reader+' }, search({ version: text, distribution: text, arch: text, tab: oneOf('findings', 'decisions', 'dependencies', 'dependants', 'files', 'downloads', 'history'), q: text, page: number(1) }), () => import('./pages/artifacts/package.tsx')),
  route('/upload', { title: 'Upload', access: 'uploader+', keys: 'u', group: 'packages', icon: Upload }, search({ distribution: text }), () => import('./pages/upload/upload.tsx')),
  route('/uploads', { title: 'My uploads', access: 'uploader+', keys: 'm', group: 'packages', icon: PackageCheck }, search({ status: STATUS, distribution: text, ...LISTED }), () => import('./pages/upload/mine.tsx')),
  route('/import', { title: 'Import', access: 'uploader+', keys: 'i', group: 'packages', icon: Download }, search({ q: text, source: number(0), tab: oneOf('search', 'jobs', 'updates', 'mirrors', 'reserved') }), () => import('./pages/import/import.tsx')),
  route('/distributions', { title: 'Distributions', access: 'reader+', keys: 'd', group: 'packages', icon: Layers }, none, () => import('./pages/distributions/distributions.tsx')),
  route('/distributions/$codename', { title: 'Distribution', access: 'reader+' }, none, () => import('./pages/distributions/distribution.tsx')),
  route('/repositories', { title: 'Repositories', access: 'reader+', keys: 'o', group: 'packages', icon: Boxes }, none, () => import('./pages/repositories/repositories.tsx')),
  route('/repositories/$format/$name', { title: 'Repository', access: 'reader+' }, search(LISTED), () => import('./pages/repositories/repository.tsx')),
  route('/review', { title: 'Review', access: 'auditor+', keys: 'r', group: 'security', icon: ClipboardCheck }, search({ q: text, severity: SEVERITY, distribution: text, reason: text, kev: flag, fix: flag, item: text, sort: oneOf('due', 'since', 'name'), group: oneOf('source', 'findings', 'fix'), ...LISTED }), () => import('./pages/review/queue.tsx')),
  route('/vulnerabilities', { title: 'Vulnerabilities', access: 'reader+', keys: 'v', group: 'security', icon: Bug }, search({ q: text, severity: SEVERITY, fix: oneOf('fixed', 'not-fixed', 'wont-fix', 'unknown'), kev: flag, distribution: text, ...LISTED }), () => import('./pages/security/vulnerabilities.tsx')),
  route('/advisories/$id', { title: 'Advisory', access: 'reader+' }, search(LISTED), () => import('./pages/security/advisory.tsx')),
  route('/decisions', { title: 'Decisions', access: 'auditor+', keys: 'c', group: 'security', icon: Scale }, search({ show: oneOf('mine', 'all'), ...LISTED }), () => import('./pages/security/decisions.tsx')),
  route('/audit', { title: 'Audit', access: 'auditor+', keys: 'a', group: 'security', icon: ScrollText }, search({ q: text, action: text, result: oneOf('SUCCESS', 'WARNING', 'FAILURE'), user: text, package: text, from: text, to: text, ...LISTED }), () => import('./pages/audit/audit.tsx')),
  route('/tasks', { title: 'Tasks', access: 'auditor+', keys: 'k', group: 'administration', icon: ListTodo }, search({ state: oneOf('queued', 'running', 'cancelling', 'done', 'failed', 'cancelled'), ...LISTED }), () => import('./pages/tasks/tasks.tsx')),
  route('/drift', { title: 'Drift', access: 'auditor+', keys: 'f', group: 'administration', icon: FileDiff }, search({ state: oneOf('open', 'resolved'), area: oneOf(...DRIFT_AREAS), distribution: text, ...LISTED }), () => import('./pages/health/drift.tsx')),
  route('/users', { title: 'Users', access: 'admin', group: 'administration', icon: Users }, none, () => import('./pages/auth/users.tsx')),
  route('/tokens', { title: 'API tokens', access: 'admin', keys: 't', group: 'administration', icon: KeyRound }, none, () => import('./pages/auth/tokens.tsx')),
  route('/machines', { title: 'Machines', access: 'auditor+', keys: 'n', group: 'administration', icon: Server }, search({ q: text, tag: text, state: oneOf('revoked'), ...LISTED }), () => import('./pages/machines/machines.tsx')),
  route('/settings', { title: 'Settings', access: 'admin', keys: 's', group: 'administration', icon: Settings }, none, () => import('./pages/settings/settings.tsx')),
  route('/settings/$section', { title: 'Settings', access: 'admin' }, none, () => import('./pages/settings/settings.tsx')),
  route('/backup', { title: 'Backup', access: 'admin', keys: 'b', group: 'administration', icon: DatabaseBackup }, none, () => import('./pages/backup/backup.tsx')),
  route('/health', { title: 'Health', access: 'reader+', group: 'administration', icon: HeartPulse }, none, () => import('./pages/health/health.tsx')),
  route('/logs', { title: 'Logs', access: 'auditor+', keys: 'l', group: 'administration', icon: Terminal }, search({ q: text, level: oneOf('debug', 'info', 'warn', 'error') }), () => import('./pages/health/logs.tsx')),
  route('/account', { title: 'Your account', access: 'reader+' }, none, () => import('./pages/auth/account.tsx')),
  route('/account/tokens', { title: 'Your API tokens', access: 'reader+' }, none, () => import('./pages/auth/tokens.tsx').then(({ OwnTokens }) => ({ default: OwnTokens }))),
  route('/device', { title: 'Sign in a program', access: 'reader+' }, search({ code: text }), () => import('./pages/auth/device.tsx')),
  route('/login', { title: 'Sign in', access: null }, search({ next: text }), () => import('./pages/auth/login.tsx')),
  route('/forgot-password', { title: 'Forgotten password', access: null }, none, () => import('./pages/auth/forgot-password.tsx')),
  route('/reset-password', { title: 'New password', access: null }, search({ token: text }), () => import('./pages/auth/reset-password.tsx')),
  route('/oidc-callback', { title: 'Signing in', access: null }, search({ code: text, state: text, error: text }), () => import('./pages/auth/oidc-callback.tsx')),
  route('/setup', { title: 'Set up', access: null }, none, () => import('./pages/setup/setup.tsx')),
] as const

export const router = createRouter({
  routeTree: root.addChildren(routes),
  basepath: new URL(document.baseURI).pathname,
  scrollRestoration: true,
  defaultPreload: 'intent',
  defaultErrorComponent: Broken,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
