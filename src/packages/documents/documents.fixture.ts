// Creates documents from a test database and validates each against its standard. For tests only.
import { sql } from 'kysely'
import { expect } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { createStandards, danglingIn, type Standard } from '../../../test/schemas/schemas.ts'
import { findDistribution } from '../../formats/index.ts'
import type { Db } from '../../store/db.ts'
import type { EmbeddedComponent } from './purl.ts'
import { createSbom, type Document, type Sbom, type SbomFormat } from './sbom.ts'

export interface Documents {
  db: Db
  /** components of packages, by package name */
  embedded: Map<string, EmbeddedComponent[]>
  make(version?: string): Sbom
  problemsOf(standard: Standard, document: unknown): string[]
  /** Parses and validates a document. */
  valid(standard: Standard, document: Document): Promise<any>
  ofRepository(format: SbomFormat, codename?: string): Promise<any>
  ofPackage(format: SbomFormat, name: string, version?: string, more?: object): Promise<any>
  clear(): Promise<void>
  close(): Promise<void>
}

export async function openDocuments(): Promise<Documents> {
  const database = await createTestDatabase()
  const { db } = database
  const problemsOf = createStandards()
  const documents: Documents = {
    db,
    embedded: new Map(),
    make: (version = '1.2.3') =>
      createSbom({
        db,
        find: findDistribution,
        distributions: [],
        version,
        embedded: async (rows) => new Map(rows.map((row) => [row.id, documents.embedded.get(row.name) ?? []])),
      }),
    problemsOf,
    async valid(standard, document) {
      const parsed: unknown = JSON.parse(await textOf(document))
      expect(problemsOf(standard, parsed)).toEqual([])
      if (standard !== 'openvex') expect(danglingIn(standard, parsed)).toEqual([])
      return parsed
    },
    ofRepository: async (format, codename) =>
      documents.valid(format, await documents.make().ofRepository(codename, format)),
    ofPackage: async (format, name, version = '1.0-1', more = {}) =>
      documents.valid(format, await documents.make().ofPackage({ name, version, ...more }, format)),
    async clear() {
      documents.embedded.clear()
      await sql`truncate packages, blobs, decisions, findings, capabilities cascade`.execute(db)
    },
    close: database.close,
  }
  return documents
}

export async function textOf(document: Document): Promise<string> {
  let text = ''
  for await (const piece of document.content) text += piece
  return text
}

export const namesIn = (bom: any): string[] => bom.components.map((component: any) => component.name)
export const componentOf = (bom: any, name: string) => bom.components.find((component: any) => component.name === name)
export const dependsOn = (bom: any, name: string) =>
  bom.dependencies.find((each: any) => each.ref === componentOf(bom, name)['bom-ref']).dependsOn
