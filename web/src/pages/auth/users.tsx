// People: their role, whether they may sign in, and a new password or second factor for those who lost it.
import { Button, Group, Menu, Modal, PasswordInput, Select, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ROLE_DESCRIPTIONS, ROLES } from '../../../../src/domain/roles.ts'
import { call, change, read, readEdited, type Answered } from '../../api/api.ts'
import { Answer, Failure } from '../../parts/answer.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { Edited } from '../../parts/edited.tsx'
import { Foreign } from '../../parts/foreign.tsx'
import { Form } from '../../parts/form.tsx'
import { Toned } from '../../parts/marks.tsx'
import { Moved } from '../../parts/moved.tsx'
import { Page } from '../../parts/page.tsx'
import { Rows } from '../../parts/rows.tsx'
import { When } from '../../parts/when.tsx'
import { useSession } from '../../session/session.ts'

type User = Answered<'GET /auth/users'>['users'][number]
type Ask = { what: 'edit' | 'password' | 'mfa' | 'delete'; user: User }

export default function Users() {
  const list = useQuery(read('GET /auth/users'))
  const [creating, setCreating] = useState(false)
  const [ask, setAsk] = useState<Ask | null>(null)
  const close = () => setAsk(null)
  return (
    <Page title="Users" actions={<Button onClick={() => setCreating(true)}>New user</Button>}>
      <Answer of={list}>
        {({ users }) => (
          <Rows
            of={users}
            label="Users"
            id={({ username }) => username}
            columns={[
              {
                head: 'Name',
                cell: ({ username, full_name: full }) => (
                  <>
                    {username}
                    {full && (
                      <Text size="xs" c="dimmed">
                        <Foreign>{full}</Foreign>
                      </Text>
                    )}
                  </>
                ),
              },
              { head: 'Role', cell: ({ role }) => ROLE_DESCRIPTIONS[role].label },
              {
                head: 'Signs in by',
                cell: ({ auth_source: source, mfa_enabled: mfa }) =>
                  `${source === 'local' ? 'password' : source.toUpperCase()}${mfa ? ' and code' : ''}`,
              },
              {
                head: 'State',
                cell: ({ active }) => (
                  <Toned tone={active ? 'good' : 'unknown'}>{active ? 'active' : 'disabled'}</Toned>
                ),
              },
              { head: 'Last sign-in', cell: ({ last_login: at }) => <When at={at} /> },
              {
                head: '',
                cell: (user) => (
                  <Menu position="bottom-end">
                    <Menu.Target>
                      <Button size="compact-xs" variant="default" aria-label={`Change ${user.username}`}>
                        Change
                      </Button>
                    </Menu.Target>
                    <Menu.Dropdown>
                      <Menu.Item onClick={() => setAsk({ what: 'edit', user })}>Role, name, state</Menu.Item>
                      {user.auth_source === 'local' && (
                        <Menu.Item onClick={() => setAsk({ what: 'password', user })}>New password</Menu.Item>
                      )}
                      {user.mfa_enabled && (
                        <Menu.Item onClick={() => setAsk({ what: 'mfa', user })}>Remove second factor</Menu.Item>
                      )}
                      <Menu.Item color="red" onClick={() => setAsk({ what: 'delete', user })}>
                        Delete
                      </Menu.Item>
                    </Menu.Dropdown>
                  </Menu>
                ),
              },
            ]}
          />
        )}
      </Answer>
      {creating && <Create close={() => setCreating(false)} />}
      {ask?.what === 'edit' && <Edit user={ask.user} close={close} />}
      {ask?.what === 'password' && <NewPassword user={ask.user} close={close} />}
      {ask?.what === 'mfa' && (
        <Confirm
          title={`Remove the second factor of ${ask.user.username}`}
          action="Remove"
          close={close}
          run={() => call('DELETE /auth/users/{username}/mfa', { params: { username: ask.user.username } })}
        >
          They sign in with the password alone until they set up a new one.
        </Confirm>
      )}
      {ask?.what === 'delete' && (
        <Confirm
          title={`Delete ${ask.user.username}`}
          action="Delete"
          typed={ask.user.username}
          close={close}
          run={() => call('DELETE /auth/users/{username}', { params: { username: ask.user.username } })}
        >
          The API tokens they created end too. What they did stays in the audit log.
        </Confirm>
      )}
    </Page>
  )
}

const roleChoices = ROLES.map((role) => ({ value: role, label: ROLE_DESCRIPTIONS[role].label }))

function Create({ close }: { close: () => void }) {
  const queries = useQueryClient()
  const [form, setForm] = useState({ username: '', password: '', full_name: '', email: '', role: 'reader' })
  const field = (name: keyof typeof form) => ({
    value: form[name],
    onChange: (event: { currentTarget: { value: string } }) => setForm({ ...form, [name]: event.currentTarget.value }),
  })
  const create = useMutation({
    mutationFn: () =>
      call('POST /auth/users', {
        body: { ...form, full_name: form.full_name || undefined, email: form.email || undefined },
      }),
    onSuccess: async () => {
      await queries.invalidateQueries()
      close()
    },
  })
  return (
    <Modal opened onClose={close} title="New user">
      <Form send={() => create.mutate()}>
        <Stack>
          {create.isError && <Failure error={create.error} />}
          <TextInput label="User name" required data-autofocus autoComplete="off" {...field('username')} />
          <TextInput label="Full name" {...field('full_name')} />
          <TextInput label="Mail address" type="email" {...field('email')} />
          <Select
            label="Role"
            data={roleChoices}
            value={form.role}
            onChange={(role) => role && setForm({ ...form, role })}
            description={ROLE_DESCRIPTIONS[form.role as User['role']].description}
          />
          <PasswordInput
            label="Password"
            description="8 to 128 characters, an uppercase letter, a digit or special character."
            required
            autoComplete="new-password"
            {...field('password')}
          />
          <Button type="submit" loading={create.isPending}>
            Create
          </Button>
        </Stack>
      </Form>
    </Modal>
  )
}

function Edit({ user: { username }, close }: { user: User; close: () => void }) {
  const user = useQuery(readEdited('GET /auth/users/{username}', { params: { username } }))
  return (
    <Modal opened onClose={close} title={username}>
      <Edited of={user} rows={4}>
        {({ document, state }, load) => <EditForm user={document} state={state} close={close} load={load} />}
      </Edited>
    </Modal>
  )
}

interface EditFormProps {
  user: User
  state: string
  close: () => void
  /** shows the user as it is now */
  load: () => void
}

function EditForm({ user, state, close, load }: EditFormProps) {
  const queries = useQueryClient()
  const own = useSession()?.user?.username === user.username
  const [role, setRole] = useState<string>(user.role)
  const [fullName, setFullName] = useState(user.full_name)
  const [email, setEmail] = useState(user.email)
  const [active, setActive] = useState(user.active)
  const save = useMutation({
    mutationFn: () =>
      change('PATCH /auth/users/{username}', state, {
        params: { username: user.username },
        body: { role, full_name: fullName, email, active },
      }),
    onSuccess: async () => {
      await queries.invalidateQueries()
      close()
    },
  })
  return (
    <Stack>
      {save.isError && <Moved error={save.error} opened={user} load={load} />}
      <Select
        label="Role"
        data={roleChoices}
        value={role}
        onChange={(value) => value && setRole(value)}
        disabled={own}
        description={own ? 'Nobody changes their own role.' : ROLE_DESCRIPTIONS[role as User['role']].description}
      />
      <TextInput label="Full name" value={fullName} onChange={(event) => setFullName(event.currentTarget.value)} />
      <TextInput label="Mail address" value={email} onChange={(event) => setEmail(event.currentTarget.value)} />
      <Select
        label="State"
        disabled={own}
        data={[
          { value: 'yes', label: 'active' },
          { value: 'no', label: 'disabled: no sign-in, no tokens' },
        ]}
        value={active ? 'yes' : 'no'}
        onChange={(value) => setActive(value === 'yes')}
      />
      <Group>
        <Button onClick={() => save.mutate()} loading={save.isPending}>
          Save
        </Button>
        <Button variant="default" onClick={close}>
          Cancel
        </Button>
      </Group>
    </Stack>
  )
}

function NewPassword({ user, close }: { user: User; close: () => void }) {
  const [password, setPassword] = useState('')
  const set = useMutation({
    mutationFn: () =>
      call('POST /auth/users/{username}/reset-password', {
        params: { username: user.username },
        body: { new_password: password },
      }),
    onSuccess: close,
  })
  return (
    <Modal opened onClose={close} title={`New password for ${user.username}`}>
      <Stack>
        {set.isError && <Failure error={set.error} />}
        <PasswordInput
          label="Password"
          description="Their sessions end."
          data-autofocus
          autoComplete="new-password"
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
        />
        <Button onClick={() => set.mutate()} loading={set.isPending} disabled={password === ''}>
          Set it
        </Button>
      </Stack>
    </Modal>
  )
}
