// Settings, one section at a time. The form follows from the schema that the service checks with.
import { Alert, Button, Group, NavLink, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useBlocker, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import schema, { type FieldSchema } from 'virtual:settings-schema'
import { call, read, type Answered } from '../../api/api.ts'
import { ApiError, problemOf } from '../../api/problem.ts'
import { Answer, Failure } from '../../parts/answer.tsx'
import { Form } from '../../parts/form.tsx'
import { Page } from '../../parts/page.tsx'
import { When } from '../../parts/when.tsx'
import { changesOf, type Values } from './fields.ts'
import { Field } from './field.tsx'
import { Tests } from './tests.tsx'

type Document = Answered<'GET /settings'> & Record<string, unknown>

/** Settings that are not in a section. */
const GENERAL = 'general'
const properties = Object.entries(schema.properties)
const sections = [GENERAL, ...properties.filter(([, { properties: keys }]) => keys).map(([name]) => name)]

function fieldsOf(section: string): [string, FieldSchema][] {
  if (section === GENERAL) return properties.filter(([, { properties: keys }]) => !keys)
  return Object.entries(schema.properties[section]?.properties ?? {})
}

export default function Settings() {
  const { section = GENERAL } = useParams({ strict: false })
  const document = useQuery({ ...read('GET /settings'), placeholderData: undefined, refetchOnWindowFocus: false })
  return (
    <Page
      title="Settings"
      about={
        document.data?._meta.updated_at && (
          <>
            Changed <When at={document.data._meta.updated_at} /> by {document.data._meta.updated_by}
          </>
        )
      }
    >
      <div className="split narrow">
        <nav aria-label="Sections of the settings">
          {sections.map((name) => (
            <NavLink
              key={name}
              component={Link}
              to={name === GENERAL ? '/settings' : `/settings/${name}`}
              label={titleOf(name)}
              active={name === section}
              activeOptions={{ exact: true }}
            />
          ))}
        </nav>
        <Answer of={document} rows={8}>
          {(data) => <Section key={`${section} ${data._meta.revision}`} name={section} document={data} />}
        </Answer>
      </div>
    </Page>
  )
}

const titleOf = (name: string) => (name.charAt(0).toUpperCase() + name.slice(1)).replaceAll('_', ' ')

function Section({ name, document }: { name: string; document: Document }) {
  const before = (
    name === GENERAL ? Object.fromEntries(fieldsOf(name).map(([key]) => [key, document[key]])) : document[name]
  ) as Values
  const [values, setValues] = useState<Values>(before)
  const queries = useQueryClient()
  const changes = changesOf(before, values)
  const isChanged = Object.keys(changes).length > 0
  useBlocker({
    shouldBlockFn: () => isChanged && !confirm('Leave without saving the changes?'),
    enableBeforeUnload: isChanged,
  })

  const save = useMutation({
    mutationFn: async () => {
      // Two people at once: what was not shown must not be overwritten.
      const now = await queries.query({ ...read('GET /settings'), staleTime: 0 })
      if (now._meta.revision !== document._meta.revision) throw new MovedError()
      return call('PATCH /settings', { body: name === GENERAL ? changes : { [name]: changes } })
    },
    onSuccess: (saved) => queries.setQueryData(read('GET /settings').queryKey, saved),
  })
  const problem = save.error instanceof ApiError ? problemOf(save.error) : null
  const errorOf = (key: string) =>
    problem?.errors.find(
      ({ field }) => field === key || field === `${name}.${key}` || field.startsWith(`${name}.${key}.`),
    )?.message

  return (
    <Form send={() => save.mutate()} style={{ maxWidth: 640 }}>
      <Text mb="md">{schema.properties[name]?.description}</Text>
      {fieldsOf(name).map(([key, field]) => (
        <Field
          key={key}
          name={key}
          schema={field}
          value={values[key]}
          stored={before[key]}
          error={errorOf(key)}
          inactive={document._meta.inactive.includes(`${name}.${key}`)}
          onChange={(value) => setValues((now) => ({ ...now, [key]: value }))}
        />
      ))}
      {save.error instanceof MovedError ? (
        <Alert color="red" variant="outline" role="alert" mb="md">
          Somebody changed the settings meanwhile. The page shows theirs now; make your change again.
        </Alert>
      ) : (
        save.isError && <Failure error={save.error} />
      )}
      <Group mb="xl">
        <Button type="submit" disabled={!isChanged} loading={save.isPending}>
          Save
        </Button>
        <Button variant="default" disabled={!isChanged} onClick={() => setValues(before)}>
          Discard
        </Button>
        {save.isSuccess && !isChanged && <Text role="status">Saved. It is in force.</Text>}
      </Group>
      <Tests section={name} saved={!isChanged} />
    </Form>
  )
}

class MovedError extends Error {}
