// Adds a source, or changes one.
import { Button, Modal, Select, Stack, Switch, TagsInput, Textarea, TextInput } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call, change, readEdited, type Answered } from '../../api/api.ts'
import { useCodenames } from '../../parts/distributions.ts'
import { Edited } from '../../parts/edited.tsx'
import { Form } from '../../parts/form.tsx'
import { Moved } from '../../parts/moved.tsx'

type Source = Answered<'GET /import/sources'>['sources'][number]

interface Typed {
  type: string
  name: string
  url: string
  distribution: string
  components: string[]
  arch: string
  key: string
  unsigned: boolean
  security: boolean
}

export function SourceForm({ source, close }: { source: Source | null; close: () => void }) {
  return (
    <Modal opened onClose={close} title={source ? source.name : 'New source'} size="lg">
      {source ? (
        <Existing id={String(source.id)} close={close} />
      ) : (
        <Fields source={null} state="" close={close} load={() => {}} />
      )}
    </Modal>
  )
}

function Existing({ id, close }: { id: string; close: () => void }) {
  const source = useQuery(readEdited('GET /import/sources/{id}', { params: { id } }))
  return (
    <Edited of={source}>
      {({ document, state }, load) => <Fields source={document} state={state} close={close} load={load} />}
    </Edited>
  )
}

interface FieldsProps {
  source: Source | null
  state: string
  close: () => void
  /** shows the source as it is now */
  load: () => void
}

function Fields({ source, state, close, load }: FieldsProps) {
  const queries = useQueryClient()
  const codenames = useCodenames()
  const [typed, setTyped] = useState<Typed>(() => ({
    type: source?.type ?? 'apt',
    name: source?.name ?? '',
    url: source?.url ?? '',
    distribution: source?.distribution ?? '',
    components: source?.components ?? ['main'],
    arch: source?.arch ?? '',
    key: '',
    unsigned: false,
    security: source?.security ?? false,
  }))
  const put = (more: Partial<Typed>) => setTyped((now) => ({ ...now, ...more }))
  const [target, setTarget] = useState<string | null>(source?.target ?? null)
  const [enabled, setEnabled] = useState(source?.enabled ?? true)
  const builtIn = source !== null && source.key !== null
  const save = useMutation({
    mutationFn: async () => {
      const common = { enabled, target }
      const { type, name, url, distribution, components, arch, key, unsigned, security } = typed
      const all = {
        name,
        url,
        ...common,
        security,
        components: type === 'apt' ? components : [],
        distribution: distribution || null,
        ...(arch && { arch }),
        ...(key && { gpg_key: key }),
        ...(unsigned && { allow_unsigned: true }),
      }
      if (source)
        await change('PATCH /import/sources/{id}', state, {
          params: { id: String(source.id) },
          body: builtIn ? common : all,
        })
      else await call('POST /import/sources', { body: { ...all, type: type as 'apt' } })
    },
    onSuccess: async () => {
      await queries.invalidateQueries()
      close()
    },
  })
  return (
    <Form send={() => save.mutate()}>
      <Stack>
        {save.isError && <Moved error={save.error} opened={source ?? {}} load={load} />}
        {!builtIn && <OwnFields isNew={source === null} typed={typed} put={put} />}
        <Select
          label="Packages usually go into"
          data={codenames}
          value={target}
          onChange={setTarget}
          clearable
          searchable
        />
        <Switch label="Switched on" checked={enabled} onChange={(event) => setEnabled(event.currentTarget.checked)} />
        <Button type="submit" loading={save.isPending} w="fit-content">
          Save
        </Button>
      </Stack>
    </Form>
  )
}

/** What the source itself is; the built-in ones cannot be changed. */
function OwnFields({ isNew, typed, put }: { isNew: boolean; typed: Typed; put: (more: Partial<Typed>) => void }) {
  return (
    <>
      {isNew && (
        <Select
          label="Kind"
          data={[
            { value: 'apt', label: 'apt (deb)' },
            { value: 'rpm', label: 'dnf, zypper (rpm)' },
            { value: 'apk', label: 'apk' },
          ]}
          value={typed.type}
          onChange={(value) => value && put({ type: value })}
          allowDeselect={false}
        />
      )}
      <TextInput
        label="Name"
        required
        data-autofocus
        value={typed.name}
        onChange={(event) => put({ name: event.currentTarget.value })}
      />
      <TextInput
        label="Address"
        description="http, https, or a directory below IMPORT_DIRECTORIES."
        required
        value={typed.url}
        onChange={(event) => put({ url: event.currentTarget.value })}
      />
      {typed.type === 'apt' && (
        <TextInput
          label="Suite"
          description="As below dists/, such as bookworm."
          value={typed.distribution}
          onChange={(event) => put({ distribution: event.currentTarget.value })}
        />
      )}
      {typed.type === 'apt' && (
        <TagsInput label="Components" value={typed.components} onChange={(components) => put({ components })} />
      )}
      <TextInput
        label="Architecture"
        value={typed.arch}
        onChange={(event) => put({ arch: event.currentTarget.value })}
      />
      <Textarea
        label="Public key"
        description={
          isNew
            ? 'Armored. Nothing in the index is believed without a signature of it.'
            : 'Empty keeps the present one.'
        }
        autosize
        minRows={2}
        maxRows={8}
        value={typed.key}
        onChange={(event) => put({ key: event.currentTarget.value })}
      />
      <Switch
        label="Believe an index without a signature"
        description="Whoever can change the transfer can then change the packages."
        checked={typed.unsigned}
        onChange={(event) => put({ unsigned: event.currentTarget.checked })}
      />
      <Switch
        label="Has security updates"
        description="Is read daily, and names newer fixes of packages here."
        checked={typed.security}
        onChange={(event) => put({ security: event.currentTarget.checked })}
      />
    </>
  )
}
