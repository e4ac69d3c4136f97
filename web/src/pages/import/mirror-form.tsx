// What to mirror of a source, with a dry run of the typed values before they are stored.
import { Button, Group, Modal, Select, Stack, Switch } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call, change, type Answered } from '../../api/api.ts'
import { Failure } from '../../parts/answer.tsx'
import { useDistributions } from '../../parts/distributions.ts'
import { Form } from '../../parts/form.tsx'
import { Moved } from '../../parts/moved.tsx'
import { Plan } from './mirror-plan.tsx'
import { SelectionFields, selectionOf, typedOf, type TypedSelection } from './selection-fields.tsx'

export type ListedMirror = Answered<'GET /import/mirror/sources'>['sources'][number]
type Mirror = Answered<'GET /import/mirror/sources/{id}'>

interface MirrorFormProps {
  /** the mirror to change; without it, the person chooses one of `sources` */
  mirror?: Mirror
  sources?: readonly ListedMirror[]
  /** of the mirror; without one, nobody may have set it meanwhile */
  state?: string
  close: () => void
  /** shows the mirror as it is now */
  load?: () => void
}

export function MirrorForm({ mirror, sources = [], state = 'none', close, load = close }: MirrorFormProps) {
  const queries = useQueryClient()
  const [chosen, setChosen] = useState<string | null>(mirror ? String(mirror.id) : null)
  const format = mirror?.format ?? sources.find(({ id }) => String(id) === chosen)?.format
  const targets = useDistributions().data?.distributions.filter((one) => one.active && one.format === format) ?? []
  const given = mirror?.selection
  const [distribution, setDistribution] = useState<string | null>(mirror?.distribution ?? null)
  const [typed, setTyped] = useState(() => typedOf(given))
  const put = (more: Partial<TypedSelection>) => setTyped((now) => ({ ...now, ...more }))
  const [enabled, setEnabled] = useState(mirror?.enabled ?? true)
  const request = {
    params: { id: chosen ?? '' },
    body: {
      ...(distribution !== null && { distribution }),
      enabled,
      ...selectionOf(typed),
      ...(given && { remove_at_most_percent: given.remove_at_most_percent }),
    },
  }
  const plan = useMutation({ mutationFn: () => call('POST /import/mirror/sources/{id}/plan', request) })
  const save = useMutation({
    mutationFn: () => change('PUT /import/mirror/sources/{id}', state, request),
    onSuccess: async () => {
      await queries.invalidateQueries()
      close()
    },
  })
  return (
    <Modal opened onClose={close} title={mirror ? mirror.label : 'Mirror a source'} size="xl">
      <Form send={() => save.mutate()}>
        <Stack>
          {save.isError && <Moved error={save.error} opened={mirror ?? {}} load={load} />}
          {!mirror && (
            <Select
              label="Source"
              required
              searchable
              data={sources.map(({ id, label }) => ({ value: String(id), label }))}
              value={chosen}
              onChange={(value) => {
                setChosen(value)
                setDistribution(null)
              }}
              data-autofocus
            />
          )}
          <Select
            label="Into"
            description="Empty: the distribution that the source belongs to."
            searchable
            clearable
            disabled={chosen === null}
            data={targets.map(({ codename }) => codename)}
            value={distribution}
            onChange={setDistribution}
          />
          <SelectionFields typed={typed} put={put} />
          <Switch
            label="Include it in the daily run"
            checked={enabled}
            onChange={(event) => setEnabled(event.currentTarget.checked)}
          />
          {plan.isError && <Failure error={plan.error} />}
          {plan.data && <Plan plan={plan.data} />}
          <Group>
            <Button type="submit" loading={save.isPending} disabled={chosen === null}>
              Save
            </Button>
            <Button variant="default" loading={plan.isPending} disabled={chosen === null} onClick={() => plan.mutate()}>
              Dry run
            </Button>
            <Button variant="default" onClick={close}>
              Close
            </Button>
          </Group>
        </Stack>
      </Form>
    </Modal>
  )
}
