// Tells observers on the bus that a record's status changed.
import type { PackageStatus } from '../../domain/status.ts'
import type { Bus, BusEvents } from '../../kernel/bus.ts'
import type { PackageRow } from '../../store/tables.ts'

const ACTIONS: Record<PackageStatus, BusEvents['package']['action']> = {
  published: 'published',
  pending_review: 'held',
  quarantined: 'quarantined',
  rejected: 'rejected',
}

export function announceRecord(bus: Bus, row: Pick<PackageRow, 'name' | 'version' | 'distribution' | 'status'>): void {
  bus.emit('package', {
    action: ACTIONS[row.status],
    package: row.name,
    version: row.version,
    distribution: row.distribution,
    status: row.status,
  })
}
