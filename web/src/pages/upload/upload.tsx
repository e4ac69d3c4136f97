// Uploads packages: drop files, choose the distribution, send. Uploads continue while other pages are open.
import { Button, FileButton, Group, Paper, Select, Text } from '@mantine/core'
import { getRouteApi } from '@tanstack/react-router'
import { useState, type DragEvent } from 'react'
import { useDistributions } from '../../parts/distributions.ts'
import { useFilter } from '../../parts/filters.tsx'
import { Page } from '../../parts/page.tsx'
import { bytes, count } from '../../parts/words.ts'
import { UploadCard } from './card.tsx'
import { clearEnded, enqueue, useUploads } from './queue.ts'

const route = getRouteApi('/upload')
const REMEMBERED = 'gatehouse-upload-distribution'

export default function Upload() {
  const { distribution: given } = route.useSearch()
  const filter = useFilter()
  const all = useDistributions().data?.distributions.filter(({ active }) => active) ?? []
  const remembered = localStorage.getItem(REMEMBERED)
  const distribution = given ?? (all.some(({ codename }) => codename === remembered) ? remembered : null)
  const [files, setFiles] = useState<File[]>([])
  const [over, setOver] = useState(false)
  /** the person tried to send without a distribution */
  const [asked, setAsked] = useState(false)
  const uploads = useUploads()

  const add = (some: readonly File[]) => setFiles((now) => [...now, ...some])
  const drop = (event: DragEvent) => {
    event.preventDefault()
    setOver(false)
    add([...event.dataTransfer.files])
  }
  const send = () => {
    setAsked(true)
    if (!distribution) return
    localStorage.setItem(REMEMBERED, distribution)
    enqueue(files, distribution)
    setFiles([])
  }
  return (
    <Page
      title="Upload"
      about="Each file goes through the gate before any client sees it. Its card then says what was scanned, and what was not."
    >
      <Paper
        withBorder
        p="xl"
        mb="md"
        onDragOver={(event) => {
          event.preventDefault()
          setOver(true)
        }}
        onDragLeave={() => setOver(false)}
        onDrop={drop}
        style={{ borderStyle: 'dashed', borderWidth: 2, ...(over && { borderColor: 'var(--mantine-color-anchor)' }) }}
      >
        <Group justify="space-between" align="flex-start">
          <div>
            <Text fw={600}>Drop packages here</Text>
            <Text size="sm" c="dimmed">
              .deb, .rpm or .apk; the format is read from the file.
            </Text>
            <FileButton onChange={add} multiple>
              {(props) => (
                <Button {...props} variant="default" mt="sm">
                  Choose files
                </Button>
              )}
            </FileButton>
          </div>
          <Select
            label="Distribution"
            data={all.map(({ codename, format }) => ({ value: codename, label: `${codename} (${format})` }))}
            value={distribution}
            onChange={(value) => filter({ distribution: value ?? undefined }, true)}
            placeholder="choose one"
            error={asked && !distribution ? 'For which distribution are they?' : undefined}
            searchable
            w={240}
          />
          <Button mt={25} onClick={send} disabled={files.length === 0}>
            {files.length === 0 ? 'Send' : `Send ${count(files.length, 'file')}`}
          </Button>
        </Group>
        {files.length > 0 && (
          <Chosen files={files} leaveOut={(i) => setFiles((now) => now.filter((_, j) => j !== i))} />
        )}
      </Paper>
      {uploads.length > 0 && (
        <Group justify="space-between" mb="xs">
          <Text size="sm" role="status">
            {summaryOf(uploads.map(({ state }) => state))}
          </Text>
          <Button size="compact-sm" variant="subtle" onClick={clearEnded}>
            Clear ended
          </Button>
        </Group>
      )}
      {uploads.map((upload) => (
        <UploadCard key={upload.id} upload={upload} />
      ))}
    </Page>
  )
}

function Chosen({ files, leaveOut }: { files: readonly File[]; leaveOut: (index: number) => void }) {
  return (
    <ul style={{ marginBottom: 0 }}>
      {files.map((file, i) => (
        <li key={`${file.name} ${i}`}>
          <span className="mono">{file.name}</span>, {bytes(file.size)}{' '}
          <Button size="compact-xs" variant="subtle" onClick={() => leaveOut(i)} aria-label={`Leave out ${file.name}`}>
            leave out
          </Button>
        </li>
      ))}
    </ul>
  )
}

function summaryOf(states: readonly string[]): string {
  const waiting = states.filter((state) => state === 'waiting').length
  const running = states.filter((state) => state === 'sending' || state === 'checking').length
  const ended = states.length - waiting - running
  return [running > 0 && `${running} under way`, waiting > 0 && `${waiting} waiting`, ended > 0 && `${ended} ended`]
    .filter(Boolean)
    .join(', ')
}
