// The control of one setting, with its description, its default, and the server's error about it.
import { ActionIcon, Button, Group, JsonInput, NumberInput, Select, Switch, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { FieldSchema } from 'virtual:settings-schema'
import { choicesOf, controlOf, type Common, type Values } from './fields.ts'
import { Secret } from './secret.tsx'

interface FieldProps {
  label: string
  schema: FieldSchema
  value: unknown
  /** the current value in the service */
  stored: unknown
  error: string | undefined
  inactive: boolean
  onChange: (value: unknown) => void
}

export function Field(props: FieldProps) {
  return <div style={{ marginBottom: '1rem' }}>{control(props)}</div>
}

function control({ label, schema, value, stored, error, inactive, onChange }: FieldProps) {
  const isDefault = JSON.stringify(value) === JSON.stringify(schema.default)
  const description = [
    schema.description,
    inactive && 'Has no effect yet.',
    !isDefault &&
      ['string', 'number', 'boolean'].includes(typeof schema.default) &&
      schema.default !== '' &&
      `Default: ${JSON.stringify(schema.default)}.`,
  ]
    .filter(Boolean)
    .join(' ')
  const common = { label, description, error, disabled: inactive }
  switch (controlOf(schema)) {
    case 'switch':
      return <Switch {...common} checked={value === true} onChange={(event) => onChange(event.currentTarget.checked)} />
    case 'number':
      return (
        <NumberInput
          {...common}
          min={schema.minimum}
          max={schema.maximum}
          allowDecimal={false}
          value={value as number}
          onChange={(next) => onChange(typeof next === 'number' ? next : value)}
        />
      )
    case 'choice':
      return (
        <Select
          {...common}
          data={(choicesOf(schema) ?? []).map((word) => ({ value: word, label: word || 'not set' }))}
          value={(value as string | null) ?? ''}
          allowDeselect={false}
          onChange={(next) => onChange(next === '' ? null : next)}
        />
      )
    case 'secret':
      return <Secret {...common} value={value} stored={stored} onChange={onChange} />
    case 'map':
      return (
        <Entries
          {...common}
          schema={Object.values(schema.patternProperties ?? {})[0] ?? {}}
          value={(value ?? {}) as Values}
          onChange={onChange}
        />
      )
    case 'list':
      return <List {...common} value={value} onChange={onChange} />
    case 'text':
      return (
        <TextInput
          {...common}
          maxLength={schema.maxLength}
          value={typeof value === 'string' ? value : ''}
          onChange={(event) => onChange(event.currentTarget.value)}
        />
      )
  }
}

/** Entries with a name that can be added and removed. */
function Entries({
  schema,
  value,
  onChange,
  ...common
}: Common & { schema: FieldSchema; value: Values; onChange: (value: Values) => void }) {
  const [name, setName] = useState('')
  const initial =
    schema.type === 'boolean' ? true : schema.type === 'integer' ? (schema.minimum ?? 0) : (schema.enum?.[0] ?? '')
  return (
    <fieldset style={{ border: 0, padding: 0, margin: 0 }}>
      <legend style={{ padding: 0 }}>
        <Text size="sm" fw={500}>
          {common.label}
        </Text>
      </legend>
      <Text size="xs" c="dimmed">
        {common.description}
      </Text>
      {common.error && (
        <Text size="xs" c="red" role="alert">
          {common.error}
        </Text>
      )}
      {Object.entries(value).map(([key, entry]) => (
        <Group key={key} gap="xs" mt={4} wrap="nowrap" align="center">
          <div style={{ flex: 1 }}>
            <Field
              label={key}
              schema={{ ...schema, description: undefined }}
              value={entry}
              stored={entry}
              error={undefined}
              inactive={common.disabled}
              onChange={(next) => onChange({ ...value, [key]: next })}
            />
          </div>
          <ActionIcon
            variant="default"
            aria-label={`Remove ${key}`}
            onClick={() => onChange(Object.fromEntries(Object.entries(value).filter(([one]) => one !== key)))}
          >
            ×
          </ActionIcon>
        </Group>
      ))}
      <Group gap="xs" mt="xs">
        <TextInput
          aria-label={`New name for ${common.label}`}
          placeholder="name"
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <Button
          variant="default"
          disabled={name === '' || name in value}
          onClick={() => {
            onChange({ ...value, [name]: initial })
            setName('')
          }}
        >
          Add
        </Button>
      </Group>
    </fieldset>
  )
}

/** Lists of objects are edited as JSON; the server names the wrong entry and key. */
function List({ value, onChange, ...common }: Common & { value: unknown; onChange: (value: unknown) => void }) {
  const [text, setText] = useState(JSON.stringify(value ?? [], null, 2))
  return (
    <JsonInput
      {...common}
      autosize
      minRows={3}
      value={text}
      validationError="This is not JSON yet."
      onChange={(next) => {
        setText(next)
        try {
          onChange(JSON.parse(next))
        } catch {
          // Not complete yet; the field says so.
        }
      }}
    />
  )
}
