// Adds a source, or changes one.
import { Button, Modal, Select, Stack, Switch, TagsInput, Textarea, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call, type Answered } from '../../api/api.ts'
import { Failure } from '../../parts/answer.tsx'
import { useCodenames } from '../../parts/distributions.ts'
import { Form } from '../../parts/form.tsx'

type Source = Answered<'GET /import/sources'>['sources'][number]

export function SourceForm({ source, close }: { source: Source | null; close: () => void }) {
  const queries = useQueryClient()
  const codenames = useCodenames()
  const [type, setType] = useState<string>(source?.type ?? 'apt')
  const [name, setName] = useState(source?.name ?? '')
  const [url, setUrl] = useState(source?.url ?? '')
  const [distribution, setDistribution] = useState(source?.distribution ?? '')
  const [components, setComponents] = useState<string[]>(source?.components ?? ['main'])
  const [arch, setArch] = useState(source?.arch ?? '')
  const [target, setTarget] = useState<string | null>(source?.target ?? null)
  const [key, setKey] = useState('')
  const [unsigned, setUnsigned] = useState(false)
  const [enabled, setEnabled] = useState(source?.enabled ?? true)
  const [security, setSecurity] = useState(source?.security ?? false)
  const builtIn = source !== null && source.key !== null
  const save = useMutation({
    mutationFn: async () => {
      const common = { enabled, target }
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
        await call('PATCH /import/sources/{id}', { params: { id: source.id } as never, body: builtIn ? common : all })
      else await call('POST /import/sources', { body: { ...all, type: type as 'apt' } })
    },
    onSuccess: async () => {
      await queries.invalidateQueries()
      close()
    },
  })
  return (
    <Modal opened onClose={close} title={source ? source.name : 'New source'} size="lg">
      <Form send={() => save.mutate()}>
        <Stack>
          {save.isError && <Failure error={save.error} />}
          {!builtIn && (
            <>
              {!source && (
                <Select
                  label="Kind"
                  data={[
                    { value: 'apt', label: 'apt (deb)' },
                    { value: 'rpm', label: 'dnf, zypper (rpm)' },
                    { value: 'apk', label: 'apk' },
                  ]}
                  value={type}
                  onChange={(value) => value && setType(value)}
                  allowDeselect={false}
                />
              )}
              <TextInput
                label="Name"
                required
                data-autofocus
                value={name}
                onChange={(event) => setName(event.currentTarget.value)}
              />
              <TextInput
                label="Address"
                description="http, https, or a directory below IMPORT_DIRECTORIES."
                required
                value={url}
                onChange={(event) => setUrl(event.currentTarget.value)}
              />
              {type === 'apt' && (
                <TextInput
                  label="Suite"
                  description="As below dists/, such as bookworm."
                  value={distribution}
                  onChange={(event) => setDistribution(event.currentTarget.value)}
                />
              )}
              {type === 'apt' && <TagsInput label="Components" value={components} onChange={setComponents} />}
              <TextInput label="Architecture" value={arch} onChange={(event) => setArch(event.currentTarget.value)} />
              <Textarea
                label="Public key"
                description={
                  source
                    ? 'Empty keeps the present one.'
                    : 'Armored. Nothing in the index is believed without a signature of it.'
                }
                autosize
                minRows={2}
                maxRows={8}
                value={key}
                onChange={(event) => setKey(event.currentTarget.value)}
              />
              <Switch
                label="Believe an index without a signature"
                description="Whoever can change the transfer can then change the packages."
                checked={unsigned}
                onChange={(event) => setUnsigned(event.currentTarget.checked)}
              />
              <Switch
                label="Has security updates"
                description="Is read daily, and names newer fixes of packages here."
                checked={security}
                onChange={(event) => setSecurity(event.currentTarget.checked)}
              />
            </>
          )}
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
    </Modal>
  )
}
