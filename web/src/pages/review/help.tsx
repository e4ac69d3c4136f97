// The keys of the review.
import { Kbd, Modal, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'

const KEYS: readonly [string, string][] = [
  ['j k', 'next, previous'],
  ['a', 'approve'],
  ['r', 'reject'],
  ['u', 'upgrade required'],
  ['s', 'scan again'],
  ['x', 'select, for one decision about several'],
  ['Shift j, Shift k', 'select the next, the previous too'],
  ['z', 'undo the last decision, for a minute'],
  ['o', 'open the package'],
  ['.', 'read the queue again'],
  ['Ctrl Enter', 'send the decision'],
  ['g and a letter', 'open a page: r review, p packages, u upload …'],
  ['/', 'search'],
]

export function Help({ opened, close }: { opened: boolean; close: () => void }) {
  return (
    <Modal opened={opened} onClose={close} title="Keys">
      <table className="rows">
        <tbody>
          {KEYS.map(([keys, what]) => (
            <tr key={keys}>
              <th scope="row">
                <Kbd>{keys}</Kbd>
              </th>
              <td>{what}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <Text size="sm" mt="sm">
        They sleep in fields, and can be switched off under <Link to="/account">Your account</Link>.
      </Text>
    </Modal>
  )
}
