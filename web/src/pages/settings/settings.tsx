// Settings, one section at a time. The form follows from the schema that the service validates with.
import { Alert, Button, Group, NavLink, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useBlocker, useParams } from '@tanstack/react-router'
import { useEffect, useEffectEvent, useState } from 'react'
import schema, { type FieldSchema } from 'virtual:settings-schema'
import { call, change, read, type Answered } from '../../api/api.ts'
import { ApiError, problemOf } from '../../api/problem.ts'
import { Answer, Failure } from '../../parts/answer.tsx'
import { Form } from '../../parts/form.tsx'
import { Page } from '../../parts/page.tsx'
import { When } from '../../parts/when.tsx'
import { sentence } from '../../parts/words.ts'
import { changesOf, controlOf, rebase, type Values } from './fields.ts'
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
  const document = useQuery({ ...read('GET /settings'), refetchOnWindowFocus: false })
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
      <div className="split">
        <nav aria-label="Sections of the settings">
          {sections.map((name) => (
            <NavLink
              key={name}
              component={Link}
              to={name === GENERAL ? '/settings' : `/settings/${name}`}
              label={sentence(name)}
              active={name === section}
              activeOptions={{ exact: true }}
            />
          ))}
        </nav>
        <Answer of={document} rows={8}>
          {(data) => <Section key={section} name={section} document={data} />}
        </Answer>
      </div>
    </Page>
  )
}

const valuesOf = (name: string, document: Document) =>
  (name === GENERAL
    ? Object.fromEntries(fieldsOf(name).map(([key]) => [key, document[key]]))
    : document[name]) as Values

/** One section: the stored values that this page knows, and the edits since. */
function Section({ name, document }: { name: string; document: Document }) {
  const [known, setKnown] = useState(document)
  const [values, setValues] = useState<Values>(() => valuesOf(name, document))
  const [conflicts, setConflicts] = useState<string[]>([])
  // Fields that keep their own text are created again when the form takes another value.
  const [round, setRound] = useState(0)
  const queries = useQueryClient()
  const { queryKey } = read('GET /settings')
  const before = valuesOf(name, known)
  const changes = changesOf(before, values)
  const isChanged = Object.keys(changes).length > 0
  useBlocker({
    shouldBlockFn: () => isChanged && !confirm('Leave without saving the changes?'),
    enableBeforeUnload: isChanged,
  })
  const fields = fieldsOf(name)
  const take = (next: Values) => {
    setValues(next)
    setRound((now) => now + 1)
  }

  /** Handles a change by somebody else: edits stay, and both values are shown for settings that both changed. */
  const meet = (theirs: Document) => {
    const isSecret = (key: string) => fields.some(([one, field]) => one === key && controlOf(field) === 'secret')
    const met = rebase({ before, mine: values, theirs: valuesOf(name, theirs) }, isSecret)
    setKnown(theirs)
    setConflicts(met.conflicts)
    take(met.values)
  }
  const save = useMutation({
    mutationFn: () =>
      change('PATCH /settings', String(known._meta.revision), {
        body: name === GENERAL ? changes : { [name]: changes },
      }),
    onSuccess: (saved) => {
      setKnown(saved)
      setConflicts([])
      take(valuesOf(name, saved))
      queries.setQueryData(queryKey, saved)
    },
    onError: async (error) => {
      if (!isMoved(error)) return
      const theirs: Document = await call('GET /settings')
      meet(theirs)
      queries.setQueryData(queryKey, theirs)
    },
  })
  // The document was read again for another reason, such as a save of another section.
  const meetNewer = useEffectEvent(() => {
    if (document._meta.revision > known._meta.revision && !save.isPending) meet(document)
  })
  useEffect(() => meetNewer(), [document])
  const problem = save.error instanceof ApiError ? problemOf(save.error) : null
  const errorOf = (key: string) =>
    problem?.errors.find(
      ({ field }) => field === key || field === `${name}.${key}` || field.startsWith(`${name}.${key}.`),
    )?.message

  return (
    <Form send={() => isChanged && !save.isPending && save.mutate()} style={{ maxWidth: 640 }}>
      <Text mb="md">{schema.properties[name]?.description}</Text>
      {fields.map(([key, field]) => (
        <div key={key}>
          <Field
            key={round}
            label={sentence(key)}
            schema={field}
            value={values[key]}
            stored={before[key]}
            error={errorOf(key)}
            inactive={known._meta.inactive.includes(`${name}.${key}`)}
            onChange={(value) => setValues((now) => ({ ...now, [key]: value }))}
          />
          {conflicts.includes(key) && (
            <Theirs
              label={sentence(key)}
              value={controlOf(field) === 'secret' ? null : before[key]}
              take={() => {
                setConflicts((now) => now.filter((one) => one !== key))
                take({ ...values, [key]: before[key] })
              }}
            />
          )}
        </div>
      ))}
      {save.isError && !isMoved(save.error) && <Failure error={save.error} />}
      {isMoved(save.error) && isChanged && (
        <Alert color="yellow" variant="outline" role="alert" mb="md">
          {known._meta.updated_by} changed the settings meanwhile (<When at={known._meta.updated_at} />
          ). Nothing was saved.{' '}
          {conflicts.length > 0
            ? 'Your edits are still here; above, both values are shown. Save replaces theirs.'
            : 'Your edits are still here, and concern other settings: save again.'}
        </Alert>
      )}
      <Group mb="xl">
        <Button type="submit" disabled={!isChanged} loading={save.isPending}>
          Save
        </Button>
        <Button
          variant="default"
          disabled={!isChanged}
          onClick={() => {
            setConflicts([])
            take(before)
          }}
        >
          Discard
        </Button>
        {save.isSuccess && !isChanged && <Text role="status">Saved. It is in force.</Text>}
      </Group>
      <Tests section={name} saved={!isChanged} />
    </Form>
  )
}

/** The other value of a setting that two people changed. */
function Theirs({ label, value, take }: { label: string; value: unknown; take: () => void }) {
  return (
    <Group gap="sm" mb="md" mt="-0.5rem">
      <Text size="sm">{value === null ? 'Theirs is a secret, which is not shown.' : `Theirs: ${shown(value)}`}</Text>
      <Button size="compact-xs" variant="default" onClick={take} aria-label={`Take theirs: ${label}`}>
        Take theirs
      </Button>
    </Group>
  )
}

const shown = (value: unknown) => (typeof value === 'string' ? value || 'empty' : JSON.stringify(value))

const isMoved = (error: unknown) => error instanceof ApiError && error.problem.code === 'changed_meanwhile'
