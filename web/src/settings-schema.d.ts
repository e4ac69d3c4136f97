// Made by vite.config.ts from src/domain/settings.ts.
declare module 'virtual:settings-schema' {
  export interface FieldSchema {
    type?: string
    enum?: string[]
    anyOf?: FieldSchema[]
    default?: unknown
    minimum?: number
    maximum?: number
    maxLength?: number
    format?: string
    description?: string
    properties?: Record<string, FieldSchema>
    patternProperties?: Record<string, FieldSchema>
    items?: FieldSchema
    'x-inactive'?: string
  }
  const schema: FieldSchema & { properties: Record<string, FieldSchema> }
  export default schema
}
