// Filters of a list. Their state is the URL, so Back restores it and a link shares it. Each filter is rendered again only when
// its own value changes: a choice costs 3 ms, and lists change for other reasons.
import { Group, Select, Switch, TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { useNavigate } from '@tanstack/react-router'
import { memo, useEffect, useRef, useState, type ReactNode } from 'react'

/** Changes keys of the search and goes to the first page. */
export function useFilter(): (change: Record<string, unknown>, replace?: boolean) => void {
  const navigate = useNavigate()
  return (change, replace = false) =>
    void navigate({
      to: '.',
      search: ((now: Record<string, unknown>) => ({ ...now, page: undefined, ...change })) as never,
      replace,
    })
}

/** Longer than the time between two key presses of a typing person. */
const PAUSE_MS = 200

export function Filters({ children }: { children: ReactNode }) {
  return (
    <Group gap="sm" mb="md" align="flex-end" role="search">
      {children}
    </Group>
  )
}

/** Text that filters while it is typed, after `PAUSE_MS` without a key press. */
export const TextFilter = memo(function TextFilter({
  name,
  label,
  value,
}: {
  name: string
  label: string
  value: string | undefined
}) {
  const filter = useFilter()
  const [shown, setShown] = useState(value ?? '')
  const typed = useRef(false)
  const apply = useDebouncedCallback((text: string) => {
    typed.current = false
    filter({ [name]: text.trim() || undefined }, true)
  }, PAUSE_MS)
  // Back and Forward change the URL; text that is being typed stays.
  useEffect(() => {
    if (!typed.current) setShown(value ?? '')
  }, [value])
  return (
    <TextInput
      label={label}
      size="sm"
      type="search"
      value={shown}
      onChange={(event) => {
        typed.current = true
        setShown(event.currentTarget.value)
        apply(event.currentTarget.value)
      }}
    />
  )
})

export const ChoiceFilter = memo(function ChoiceFilter({
  name,
  label,
  value,
  choices,
}: {
  name: string
  label: string
  value: string | undefined
  /** must be declared outside of the page, or kept by it */
  choices: readonly (string | { value: string; label: string })[]
}) {
  const filter = useFilter()
  return (
    <Select
      label={label}
      size="sm"
      w={170}
      clearable
      placeholder="any"
      data={[...choices]}
      value={value ?? null}
      onChange={(chosen) => filter({ [name]: chosen ?? undefined })}
    />
  )
})

export const FlagFilter = memo(function FlagFilter({
  name,
  label,
  value,
}: {
  name: string
  label: string
  value: true | undefined
}) {
  const filter = useFilter()
  return (
    <Switch
      label={label}
      size="sm"
      mb={6}
      checked={value === true}
      onChange={(event) => filter({ [name]: event.currentTarget.checked || undefined })}
    />
  )
})
